"""Where the samples are, and text of records as Slurm prints them."""

from __future__ import annotations

import os
from pathlib import Path

from crop_cli.sources.draft import Draft
from crop_cli.sources.slurm.draft import Options, read
from crop_cli.sources.slurm.records import Input

DATA = Path(__file__).parents[1] / "data" / "slurm"

SHARED = Path(os.environ.get("CROP_SHARED") or Path(__file__).parents[4] / "shared")
"""Samples that are not part of the project; tests that need them are skipped where they are absent."""

TREE = "SwitchName=l0 Nodes=n[1-2]\nSwitchName=l1 Nodes=n[3-4]\nSwitchName=top Switches=l[0-1]\n"


def given(path: Path) -> Input:
    """A file as the command line hands it over."""
    return Input(str(path), path.read_bytes())


def text(content: str) -> Input:
    """A file of this content."""
    return Input("file", content.encode())


def node(name: str, state: str = "IDLE", gres: str = "gpu:a100:4", used: str | None = "", **more: str) -> str:
    """A record of `scontrol -d show node`; `used` None leaves GresUsed out."""
    lines = [f"NodeName={name} Arch=x86_64 CoresPerSocket=16", f"   Gres={gres or '(null)'}"]
    if used is not None:
        lines.append(f"   GresUsed={used}")
    pairs = {"CPUAlloc": "0", "CPUTot": "32", "RealMemory": "102400", "AllocMem": "0", "Partitions": "main"} | more
    lines += [f"   {key}={value}" for key, value in pairs.items()]
    return "\n".join([*lines, f"   State={state} ThreadsPerCore=1"]) + "\n\n"


def nodes(count: int = 4, **more: str) -> str:
    """Nodes n1, n2, ... that are alike."""
    return "".join(node(f"n{i}", **more) for i in range(1, count + 1))


def waiting(job_id: int, **pairs: str) -> str:
    """A record of a job that waits: 4 GPUs on one node unless it says otherwise."""
    first = {"JobName": "train", "JobState": "PENDING", "Reason": "Priority", "Partition": "main", "NodeList": ""}
    rest = {"NumNodes": "1-1", "NumCPUs": "4", "NumTasks": "1", "TresPerNode": "gres/gpu:4"}
    return record(job_id, first | rest | pairs)


def running(job_id: int, hosts: str, gres: str = "gpu:a100:4", **pairs: str) -> str:
    """A record of `scontrol -d show job` of a job that runs, with the same GRES on each host; "" leaves them out."""
    first = {"JobName": "train", "JobState": "RUNNING", "Reason": "None", "Partition": "main", "NodeList": hosts}
    rest = {"NumNodes": "1", "NumCPUs": "4", "NumTasks": "1"}
    detail = f"     Nodes={hosts} CPU_IDs=0-3 Mem=0 GRES={gres}\n" if gres else ""
    return record(job_id, first | rest | pairs, detail)


def record(job_id: int, pairs: dict[str, str], detail: str = "") -> str:
    """A record of a job, a pair per line; a pair of "" is left out unless it is the list of nodes."""
    lines = [f"   {key}={value}" for key, value in pairs.items() if value or key == "NodeList"]
    name = lines.pop(0).strip()
    return "\n".join([f"JobId={job_id} {name}", *lines]) + "\n" + detail + "\n"


def draft_of(node_text: str, jobs: str = "", topology: str = TREE, **options: object) -> Draft:
    """The draft of these texts."""
    switches = text(topology) if topology else None
    queue = text(jobs) if jobs else None
    return read(text(node_text), switches, queue, None, Options(**options))  # type: ignore[arg-type]


def reasons(draft: Draft) -> dict[str, str]:
    """Why things are left out, by name."""
    return {skip.name: skip.reason for skip in draft.skipped}


def jobs_of(draft: Draft) -> dict[str, object]:
    """Jobs by name."""
    return {made.job.name: made.job for made in draft.jobs}
