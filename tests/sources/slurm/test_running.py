"""Jobs that run: where they are, what is left out, what is in use."""

from __future__ import annotations

import json

import pytest

from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.profiles import load_profiles
from tests.sources.slurm.files import draft_of, node, nodes, reasons, running


def valid(draft: Draft) -> None:
    """Raise unless the draft becomes a valid instance."""
    dress(draft, load_profiles(), load_fabric("a100-ib"))


def used(draft: Draft, name: str) -> dict[str, float]:
    """What is in use on a node."""
    return next(found.used for found in draft.nodes if found.name == name)


def test_pinned_and_movable() -> None:
    """A running job is where it is; it may be moved only on request, and then keeps its own constraints."""
    jobs = running(7, "n[1-2]", TresPerNode="gres/gpu:4", NumNodes="2")
    (made,) = draft_of(nodes(), jobs).jobs
    assert (made.job.name, made.job.gpus, made.job.placement) == ("7-train", 8, {"n1": 4, "n2": 4})
    assert (made.job.movable, made.job.gpus_per_node) == (False, None)
    draft = draft_of(nodes(), jobs, movable=True)
    assert (draft.jobs[0].job.movable, draft.jobs[0].job.gpus_per_node) == (True, 4)
    valid(draft)


@pytest.mark.parametrize("pairs", [{"Requeue": "0", "BatchFlag": "1"}, {"Requeue": "1", "BatchFlag": "0"}])
def test_a_job_that_cannot_be_requeued_stays(pairs: dict[str, str]) -> None:
    """Jobs of salloc and those with --no-requeue are pinned even if others may move, and that is told."""
    jobs = running(1, "n1", Requeue="1", BatchFlag="1") + running(2, "n2", **pairs)
    draft = draft_of(nodes(), jobs, movable=True)
    assert [made.job.movable for made in draft.jobs] == [True, False]
    assert "1 job: cannot be requeued (salloc, srun, --no-requeue), and so not be moved." in draft.assumptions


def test_a_job_that_cannot_be_requeued_stays_in_json_too() -> None:
    """Both fields are read, whether or not the release has them."""
    jobs = [
        {"job_id": i, "name": "a", "job_state": "RUNNING", "nodes": f"n{i}", "gres_detail": ["gpu:a100:4"], **more}
        for i, more in enumerate(
            [{}, {"requeue": True, "batch_flag": True}, {"requeue": False}, {"batch_flag": False}], 1
        )
    ]
    draft = draft_of(nodes(), json.dumps({"jobs": jobs}), movable=True)
    assert [made.job.movable for made in draft.jobs] == [True, True, False, False]


def test_details_that_were_cut_short() -> None:
    """A job on nodes of which its details do not tell is left out, rather than taken to have no GPUs there."""
    jobs = running(1, "n[1-2]").replace("     Nodes=n[1-2]", "     Nodes=n1")
    draft = draft_of(nodes(used="gpu:a100:4(IDX:0-3)"), jobs)
    assert draft.jobs == []
    assert "cut short" in reasons(draft)["1"]
    assert used(draft, "n2")["gpus"] == 4


def test_movable_within_its_switch() -> None:
    """A movable job that wants one leaf switch keeps that, if it is below one."""
    jobs = running(1, "n[1-2]", TresPerNode="gres/gpu:4", Switches="1@00:05:00")
    jobs += running(2, "n[2-3]", gres="", TresPerNode="gres/gpu:0", Switches="1")
    draft = draft_of(nodes(), jobs, movable=True)
    assert draft.jobs[0].job.within == "rack"
    valid(draft)


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN*", "MIXED+MAINTENANCE+RESERVED"])
def test_on_a_node_that_is_not_up(state: str) -> None:
    """A job on a drained or down node is left out, and its GPUs on all of its nodes are in use."""
    draft = draft_of(node("n1", state) + node("n2"), running(1, "n[1-2]"), topology="")
    assert draft.jobs == []
    assert "takes nothing new" in reasons(draft)["1"]
    assert used(draft, "n1")["gpus"] == used(draft, "n2")["gpus"] == 4
    valid(draft)


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ({"JobState": "SUSPENDED"}, "suspended"),
        ({"JobState": "COMPLETING"}, "completing"),
        ({"JobState": "DREAMING"}, "unknown state"),
        ({"HetJobId": "1", "HetJobOffset": "0"}, "heterogeneous"),
    ],
    ids=["suspended", "completing", "unknown", "het"],
)
def test_holds_its_gpus(pairs: dict[str, str], reason: str) -> None:
    """What has GPUs and cannot be in the instance leaves them in use."""
    draft = draft_of(nodes(), running(1, "n1", gres="gpu:a100:3", **pairs))
    assert draft.jobs == []
    assert any(reason in text for text in reasons(draft).values())
    assert used(draft, "n1")["gpus"] == 3
    valid(draft)


def test_configuring_job() -> None:
    """A job that is being started runs."""
    assert len(draft_of(nodes(), running(1, "n1", JobState="CONFIGURING")).jobs) == 1


def test_unknown_state_is_told() -> None:
    """An unknown state is a warning, and counted under its own name."""
    draft = draft_of(nodes(), running(1, "n1", JobState="DREAMING"))
    assert any("DREAMING" in text for text in draft.warnings)
    assert draft.counts["jobs dreaming"] == 1


def test_unknown_node() -> None:
    """A job on a node that the nodes' file lacks is left out; what it has on known nodes is in use."""
    draft = draft_of(nodes(), running(1, "n1,x9"))
    assert reasons(draft)["1"] == "runs on nodes that are not in the instance"
    assert used(draft, "n1")["gpus"] == 4


def test_job_without_gpus() -> None:
    """The CPUs and memory of a job without GPUs are in use, by Slurm's own count of the node."""
    draft = draft_of(node("n1", CPUAlloc="8", AllocMem="51200"), running(1, "n1", gres=""), topology="")
    assert "no GPU" in reasons(draft)["1"]
    assert used(draft, "n1") == {"cpu": 8, "memory_gib": 50}
    valid(draft)


def test_cpus_of_nodes_that_do_not_count_them() -> None:
    """Without a node's own count the CPUs in use are those of the jobs that are left out."""
    text = node("n1").replace("   CPUAlloc=0\n", "").replace("   AllocMem=0\n", "")
    draft = draft_of(text, running(1, "n1", gres="") + running(2, "n1", gres="gpu:a100:2"), topology="")
    assert used(draft, "n1") == {"cpu": 4}
    assert draft.jobs[0].job.resources_per_gpu == {"cpu": 2}


def test_uneven_job() -> None:
    """A job with different CPUs per GPU on its nodes has the least of them; the rest is in use."""
    jobs = running(1, "n[1-2]").replace(
        "     Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES=gpu:a100:4\n",
        "     Nodes=n1 CPU_IDs=0-7 Mem=8192 GRES=gpu:a100:4\n     Nodes=n2 CPU_IDs=0-3 Mem=8192 GRES=gpu:a100:1\n",
    )
    text = node("n1", CPUAlloc="8", AllocMem="8192") + node("n2", CPUAlloc="4", AllocMem="8192")
    draft = draft_of(text, jobs, topology="")
    assert draft.jobs[0].job.placement == {"n1": 4, "n2": 1}
    assert draft.jobs[0].job.resources_per_gpu == {"cpu": 2, "memory_gib": 2}
    assert used(draft, "n1") == {}
    assert used(draft, "n2") == {"cpu": 2, "memory_gib": 6}
    valid(draft)


def test_oversubscribed_cpus() -> None:
    """Jobs that share CPUs beyond what a node has are cut down to it, with a warning."""
    job = "     Nodes=n1 CPU_IDs=0-31 Mem=0 GRES=gpu:a100:2\n"
    jobs = "".join(running(i, "n1").replace("     Nodes=n1 CPU_IDs=0-3 Mem=0 GRES=gpu:a100:4\n", job) for i in (1, 2))
    draft = draft_of(node("n1", CPUAlloc="32"), jobs, topology="")
    assert [made.job.resources_per_gpu["cpu"] for made in draft.jobs] == [8, 8]
    assert any("cut down" in text for text in draft.warnings)
    valid(draft)


def test_more_gpus_than_a_node_has() -> None:
    """Jobs that together have more GPUs than their node: the later one is left out."""
    draft = draft_of(nodes(), running(1, "n1") + running(2, "n1"))
    assert [made.job.name for made in draft.jobs] == ["1-train"]
    assert "fewer GPUs" in reasons(draft)["2"]
    valid(draft)


def test_gpus_in_use_by_something_else() -> None:
    """GPUs that Slurm counts as used and no job of the file has are in use."""
    draft = draft_of(node("n1", used="gpu:a100:3(IDX:0-2)"), running(1, "n1", gres="gpu:a100:1"), topology="")
    assert used(draft, "n1")["gpus"] == 2


def test_shares_of_gpus_in_use() -> None:
    """A GPU of which a share is in use is in use."""
    text = node("n1", gres="gpu:a100:4,shard:16", used="gpu:a100:1(IDX:0),shard:2(0/4,1/4,1/4,0/4)")
    draft = draft_of(text, running(1, "n1", gres="gpu:a100:1"), topology="")
    assert used(draft, "n1")["gpus"] == 2


def test_no_jobs_given() -> None:
    """Without jobs the GPUs that Slurm counts as used are in use; without such a count a warning says so."""
    assert used(draft_of(node("n1", used="gpu:a100:3"), topology=""), "n1")["gpus"] == 3
    assert any("all are taken as free" in text for text in draft_of(node("n1", used=None), topology="").warnings)


@pytest.mark.parametrize(
    ("pairs", "placement"),
    [
        ({"TresPerNode": "gres:gpu:2"}, {"n1": 2, "n2": 2}),
        ({"TresPerJob": "gres:gpu:2"}, {"n1": 1, "n2": 1}),
        ({"AllocTRES": "cpu=2,node=2,gres/gpu=2"}, {"n1": 1, "n2": 1}),
    ],
    ids=["per-node", "per-job", "allocated"],
)
def test_without_details(pairs: dict[str, str], placement: dict[str, int]) -> None:
    """Without -d the GPUs per node are worked out where what was asked for leaves no choice."""
    (made,) = draft_of(nodes(), running(1, "n[1-2]", gres="", **pairs)).jobs
    assert made.job.placement == placement


def test_without_details_and_unclear() -> None:
    """Where the GPUs per node are unclear the job is left out, and all GPUs that may be its own are in use."""
    job = running(1, "n[1-2]", gres="", TresPerJob="gres:gpu:5")
    draft = draft_of(nodes(used=None), job)
    assert "scontrol -d show job" in reasons(draft)["1"]
    assert [used(draft, name).get("gpus", 0) for name in ("n1", "n2", "n3")] == [4, 4, 0]


def test_gpus_of_another_type() -> None:
    """A job on the GPUs of a mixed node that the instance does not have is left out."""
    text = node("n1", gres="gpu:a100:4,gpu:h100:2")
    draft = draft_of(text, running(1, "n1", gres="gpu:h100:1"), topology="")
    assert "type" in reasons(draft)["1"]
    assert reasons(draft)["n1 h100:2"].startswith("a node has one GPU type")
    assert used(draft, "n1") == {}


def test_job_twice_and_without_nodes() -> None:
    """A job that comes twice, and one that runs nowhere, are left out."""
    draft = draft_of(nodes(), running(1, "n1") + running(1, "n1") + running(2, "", gres=""))
    assert len(draft.jobs) == 1
    assert reasons(draft) == {"1": "comes twice in the source", "2": "runs, and its nodes are not said"}


def test_ended_jobs() -> None:
    """Jobs that have ended are counted and left out."""
    draft = draft_of(nodes(), running(1, "n1", JobState="COMPLETED"))
    assert (draft.jobs, reasons(draft), draft.counts["jobs completed"]) == ([], {"1": "has ended"}, 1)


def test_types_of_a_running_job() -> None:
    """A job whose partition has one GPU type is as fast as it can be there, whatever faster types the cluster has."""
    text = node("a1", Partitions="old") + node("h1", gres="gpu:h100:4", Partitions="new,old")
    text += node("h2", gres="gpu:h100:4", Partitions="new")
    jobs = running(1, "h1", gres="gpu:h100:1", Partition="new") + running(2, "a1", Partition="new")
    jobs += running(3, "h1", gres="gpu:h100:1", Partition="old")
    found = draft_of(text, jobs, topology="")
    assert [made.gpu_types for made in found.jobs] == [("h100",), None, None]
    assert all(set(made.job.resources_per_gpu) == {"cpu"} for made in found.jobs)
    moving = draft_of(text, jobs, topology="", movable=True)
    assert [set(made.job.resources_per_gpu) - {"cpu"} for made in moving.jobs] == [set(), set(), {"partition old"}]
    valid(moving)
