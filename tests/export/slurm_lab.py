"""A throw-away Slurm controller with emulated GPU nodes: the tool `slurm_lab`, where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAB = Path(os.environ.get("CROP_SHARED", ROOT.parent / "shared")) / "tools" / "slurm_lab"
SLURM = os.environ.get("CROP_SLURM_ROOT", "host")
"""Where Slurm is installed: on this machine, or in a Debian tree of its own, into which the pipeline does not reach."""

SIZE = ("--racks", "2", "--nodes-per-rack", "2", "--gpus-per-node", "8")

_JOB = re.compile(
    r"JobId=(?P<id>[0-9]+)(?: ArrayJobId=(?P<array>[0-9]+) ArrayTaskId=(?P<task>[0-9]+))?"
    r"(?: HetJobId=(?P<het>[0-9]+) HetJobOffset=[0-9]+)? JobName=(?P<name>.*?)(?: HetJobIdSet=\S+)? UserId="
)
_ALLOCATED = re.compile(r" Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=gpu:(?:[^:(]+:)?([0-9]+)")


def available() -> bool:
    """Whether a controller can be started here: the tool, Slurm, and the rights for name spaces."""
    return LAB.is_file() and shutil.which("slurmctld") is not None and os.geteuid() == 0


def run(script: str) -> str:
    """Bring up two racks of two nodes with eight GPUs, run a bash script there, and return what it printed."""
    command = [sys.executable, str(LAB), "exec", "--root", SLURM, *SIZE, script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def allocated(details: str, *, key: str = "name") -> dict[str, dict[str, int]]:
    """GPUs per node of every running job, from `scontrol --details --oneliner show job`.

    Parameters
    ----------
    details
        What it printed.
    key
        What the jobs are told apart by: "name" or "id". The components of a heterogeneous job are added up.
    """
    found: dict[str, dict[str, int]] = {}
    for line in details.splitlines():
        if "JobState=RUNNING" not in line:
            continue
        told = _JOB.search(line)
        assert told is not None, line
        number = f"{told['array']}_{told['task']}" if told["array"] else told["het"] or told["id"]
        nodes = found.setdefault(told["name"] if key == "name" else number, {})
        for names, count in _ALLOCATED.findall(line):
            for node in expand(names):
                nodes[node] = nodes.get(node, 0) + int(count)
    return found


def expand(names: str) -> list[str]:
    """ "r0n[0-1],r1n0": each name by itself."""
    out = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", names):
        stem, _, inside = part.partition("[")
        for piece in inside.rstrip("]").split(",") if inside else [""]:
            low, _, high = piece.partition("-")
            out += [f"{stem}{i:0{len(low)}d}" for i in range(int(low), int(high or low) + 1)] if piece else [stem]
    return out
