"""Real output of Slurm, every form of nodes with every form of jobs, against counts made on the raw text."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import Imported, dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.profiles import load_profiles
from crop_cli.sources.slurm.draft import Options, read
from tests.sources.slurm.files import DATA, SHARED, given

NODES = ("scontrol_show_node.txt", "scontrol_show_node_details.txt", "scontrol_show_node_oneliner.txt",
         "scontrol_show_nodes.json", "sinfo.json")  # fmt: skip
JOBS = ("scontrol_show_job_details.txt", "scontrol_show_job_oneliner.txt", "squeue.json", "scontrol_show_jobs.json")
FOLDERS = {
    "mixed-22.05": DATA / "mixed-22.05",
    "mixed-24.11": DATA / "mixed-24.11",
    "block-24.11": DATA / "block-24.11",
    "small-22.05": SHARED / "samples/slurm/22.05",
    "small-24.11": SHARED / "samples/slurm/24.11",
}
PAIRS = [
    pytest.param(folder / nodes, folder / jobs, id=f"{name}-{nodes}-{jobs}")
    for name, folder in FOLDERS.items()
    for nodes in NODES
    for jobs in JOBS
    if (folder / nodes).exists() and (folder / jobs).exists()
]

EXPLAINED = ("can never be placed", "does not say the state", "are told by groups")
"""Warnings that are right: a job of whole nodes with too few in service; a file that was cut before the states;
`sinfo --json`, which tells less than other commands."""


def drafted(nodes: Path, jobs: Path, **options: bool) -> Draft:
    """The draft of two files and the topology beside them."""
    topology, reserved = nodes.parent / "topology.conf", nodes.parent / "scontrol_show_reservation.txt"
    reservations = given(reserved) if reserved.exists() else None
    return read(given(nodes), given(topology), given(jobs), reservations, Options(**options))  # type: ignore[arg-type]


def dressed(draft: Draft) -> Imported:
    """The instance."""
    return dress(draft, load_profiles(), load_fabric("a100-ib"))


def states_in(jobs: Path) -> Counter[str]:
    """Jobs by state, counted on the raw text."""
    raw = jobs.read_text()
    if jobs.suffix == ".json":
        found = re.findall(r'"job_state":\s*\[?\s*"(\w+)"', raw)
    else:
        found = re.findall(r"\bJobState=(\w+)", raw)
    return Counter(state.lower() for state in found)


def gpus_in(nodes: Path) -> dict[str, int]:
    """GPUs by node, counted on the raw text."""
    raw = nodes.read_text()
    if nodes.suffix != ".json":
        return {name: int(n) for name, n in re.findall(r"NodeName=(\S+).*?\bGres=gpu:\w+:(\d+)", raw, re.DOTALL)}
    document = json.loads(raw)
    if "nodes" in document:
        return {row["name"]: int(row["gres"].split(":")[2].split("(")[0]) for row in document["nodes"]}
    return {
        name: int(row["gres"]["total"].split(":")[2].split("(")[0])
        for row in document["sinfo"]
        for name in row["nodes"]["nodes"]
    }


@pytest.mark.parametrize(("nodes", "jobs"), PAIRS)
def test_totals(nodes: Path, jobs: Path) -> None:
    """Nodes, GPUs and jobs by state are the source's own, and each job is in the instance or left out."""
    draft = drafted(nodes, jobs)
    gpus, states = gpus_in(nodes), states_in(jobs)
    assert draft.counts["nodes"] == len(gpus) == len(draft.nodes)
    assert draft.counts["GPUs"] == sum(gpus.values()) == sum(node.gpus for node in draft.nodes)
    assert {node.name: node.gpus for node in draft.nodes} == gpus
    assert {key.removeprefix("jobs "): n for key, n in draft.counts.items() if key.startswith("jobs ")} == states
    assert records_of(draft) == sum(states.values())


def records_of(draft: Draft) -> int:
    """Records that the jobs of a draft and those left out come from: a waiting array is one, whatever its tasks."""
    keys = [(made.job.name.split("-")[0], made.job.placement is None) for made in draft.jobs]
    arrays = {key.split("_")[0] for key, waits in keys if waits and "_" in key}
    arrays |= {skip.name.split("_")[0] for skip in draft.skipped if skip.kind in ("array", "array task")}
    single = [key for key, waits in keys if not (waits and "_" in key)]
    return len(arrays) + len(single) + sum(skip.kind == "job" for skip in draft.skipped)


@pytest.mark.parametrize(("nodes", "jobs"), PAIRS)
@pytest.mark.parametrize("movable", [False, True], ids=["pinned", "movable"])
def test_valid_without_unexplained_warnings(nodes: Path, jobs: Path, movable: bool) -> None:
    """Every sample becomes a valid instance, and says nothing that a user could not explain."""
    made = dressed(drafted(nodes, jobs, movable=movable))
    assert [text for text in made.warnings if not any(known in text for known in EXPLAINED)] == []
    assert all(job.movable is (movable and job.placement is not None) for job in made.instance.jobs)


@pytest.mark.parametrize(("nodes", "jobs"), [pair for pair in PAIRS if "oneliner" not in str(pair.id)])
def test_gpus_in_use_add_up(nodes: Path, jobs: Path) -> None:
    """On every node the GPUs of running jobs and those otherwise in use are what Slurm counts as used."""
    draft = drafted(nodes, jobs)
    details = nodes.with_name("scontrol_show_node_details.txt").read_text()
    used = {name: int(n) for name, n in re.findall(r"NodeName=(\S+).*?GresUsed=gpu:\w+:(\d+)", details, re.DOTALL)}
    placed: Counter[str] = Counter()
    for made in draft.jobs:
        placed.update(made.job.placement or {})
    assert {node.name: placed[node.name] + node.used.get("gpus", 0) for node in draft.nodes} == used


@pytest.mark.parametrize("release", ["mixed-22.05", "mixed-24.11"])
def test_all_forms_agree(release: str) -> None:
    """Whichever commands printed a snapshot, the same jobs come out of it, on the same nodes."""
    folder = FOLDERS[release]
    made = []
    for nodes in NODES:
        for jobs in JOBS:
            if (folder / nodes).exists() and (folder / jobs).exists():
                draft = drafted(folder / nodes, folder / jobs)
                # What 22.05 leaves out of its JSON: leaf switches and exclusive CPUs.
                made.append(sorted((d.job.name, d.job.gpus, str(d.job.placement), d.gpu_types) for d in draft.jobs))
    assert len(made) > 1
    assert all(jobs == made[0] for jobs in made)


def test_what_a_snapshot_says() -> None:
    """Nodes, jobs and reasons of the mixed snapshot are those that it was made to have."""
    folder = FOLDERS["mixed-24.11"]
    draft = drafted(folder / "scontrol_show_node_details.txt", folder / "scontrol_show_job_details.txt")
    jobs = {made.job.name: made for made in draft.jobs}
    nodes = {node.name: node for node in draft.nodes}
    assert draft.levels == ["pod", "rack", "node"]
    assert nodes["old01"].state == "drained"
    assert nodes["gpu04"].state == "drained"
    assert jobs["1-llama"].job.placement == {"gpu01": 8, "gpu02": 8}
    assert jobs["1-llama"].job.resources_per_gpu["cpu"] == 4
    assert jobs["3-uneven"].job.placement == {"old02": 4, "old03": 1}
    assert jobs["10-rack1"].job.within == "rack"
    assert (jobs["10-rack1"].job.gpus, jobs["10-rack1"].job.gpus_per_node) == (16, 8)
    assert jobs["10-rack1"].gpu_types == ("h100",)
    assert jobs["15-either"].gpu_types is None
    assert jobs["16-onlya"].gpu_types == ("a100",)
    assert (jobs["18-flex"].job.gpus, jobs["18-flex"].job.gpus_per_node) == (12, None)
    assert (jobs["19-ptask"].job.gpus, jobs["19-ptask"].job.gpus_per_node) == (8, 4)
    assert jobs["19-ptask"].job.resources_per_gpu == {"cpu": 4, "memory_gib": 8}
    assert (jobs["26-socket"].job.gpus, jobs["26-socket"].job.gpus_per_node) == (8, 4)
    assert (jobs["27-excl"].job.gpus, jobs["27-excl"].job.gpus_per_node) == (24, 8)
    reasons = {skip.name: skip.reason for skip in draft.skipped}
    assert "drained" in reasons["2"]
    assert "no GPU" in reasons["5"]
    assert "suspended" in reasons["6"]
    assert "heterogeneous" in reasons["7+1"]
    assert [reasons[key].split("(")[1] for key in ("9", "12", "13", "14")] == [
        "JobArrayTaskLimit)", "JobHeldUser)", "Dependency)", "BeginTime)"
    ]  # fmt: skip


@pytest.mark.skipif(not SHARED.exists(), reason="the samples of other projects are not here")
def test_sinfo_of_21_08() -> None:
    """The oldest JSON: shares of GPUs in use, a node of two GPU types, nodes without GPUs."""
    draft = read(given(SHARED / "traces/fabric_samples/slurm_sinfo.json"))
    assert draft.counts == {"nodes": 4, "GPUs": 14}
    nodes = {node.name.split(".")[0]: node for node in draft.nodes}
    assert (nodes["cs2"].gpus, nodes["cs2"].used["gpus"]) == (8, 7)
    assert (nodes["cs3"].gpus, nodes["cs3"].used["gpus"]) == (4, 1)
    assert sorted(skip.kind for skip in draft.skipped) == ["group of GPUs", "node", "node"]
