"""Jobs that wait: what they ask for, where they may run, and which are left out."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Job, Segment
from crop_cli.sources.draft import Draft, DraftJob
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.profiles import load_profiles
from tests.sources.slurm.files import draft_of, node, nodes, reasons, running, waiting

TWO_TYPES = (
    node("a1", gres="gpu:a100:4", Partitions="main,old", ActiveFeatures="a100,ib")
    + node("a2", gres="gpu:a100:4", Partitions="main,old", ActiveFeatures="a100")
    + node("h1", gres="gpu:h100:8", Partitions="main,new", ActiveFeatures="h100,ib")
)


def only(draft: Draft) -> DraftJob:
    """The one job of a draft, which becomes a valid instance."""
    dress(draft, load_profiles(), load_fabric("a100-ib"))
    (made,) = draft.jobs
    return made


def job(**pairs: str) -> Job:
    """The job that a record becomes on four nodes of 4 GPUs."""
    return only(draft_of(nodes(), waiting(1, **pairs))).job


@pytest.mark.parametrize(
    ("pairs", "gpus", "per_node"),
    [
        ({"TresPerNode": "gres/gpu:4", "NumNodes": "2-2"}, 8, 4),
        ({"TresPerNode": "gres:gpu:2", "NumNodes": "3-8"}, 6, 2),
        ({"TresPerNode": "gres/gpu:2", "NumNodes": "3-4", "ReqTRES": "cpu=1,mem=4M,node=2,billing=1"}, 4, 2),
        ({"TresPerNode": "gres/gpu:a100:4"}, 4, 4),
        ({"TresPerNode": "", "TresPerJob": "gres/gpu:6", "NumNodes": "2"}, 6, None),
        ({"TresPerNode": "gres/gpu:4", "TresPerJob": "gres/gpu:8", "NumNodes": "1"}, 8, 4),
        ({"TresPerNode": "", "TresPerTask": "gres/gpu=1", "NumTasks": "6"}, 6, None),
        ({"TresPerNode": "", "TresPerTask": "gres:gpu:1", "NumTasks": "8", "NtasksPerN:B:S:C": "4:0:*:*"}, 8, 4),
        ({"TresPerNode": "", "TresPerSocket": "gres:gpu:1", "Socks/Node": "2", "NumNodes": "2-2"}, 4, 2),
        ({"TresPerNode": "", "ReqTRES": "cpu=4,node=1,gres/gpu=3"}, 3, None),
    ],
    ids=[
        "per-node",
        "range",
        "guess",
        "typed",
        "per-job",
        "both",
        "per-task",
        "tasks-per-node",
        "per-socket",
        "in-all",
    ],
)
def test_gpus(pairs: dict[str, str], gpus: int, per_node: int | None) -> None:
    """GPUs in all and per node follow from whichever way they are asked for."""
    made = job(**pairs)
    assert (made.gpus, made.gpus_per_node) == (gpus, per_node)


@pytest.mark.parametrize(
    ("pairs", "cpu", "memory"),
    [
        ({"NumCPUs": "16"}, 4, 0),
        ({"NumCPUs": "1", "CpusPerTres": "gres:gpu:6"}, 6, 0),
        ({"NumCPUs": "4", "MinMemoryNode": "64G"}, 1, 16),
        ({"NumCPUs": "8", "MinMemoryCPU": "4G"}, 2, 8),
        ({"NumCPUs": "4", "MemPerTres": "gres/gpu:8192"}, 1, 8),
        ({"NumCPUs": "4", "ReqTRES": "cpu=4,mem=102400M", "MinMemoryNode": "0"}, 1, 0),
    ],
    ids=["cpus", "cpus-per-gpu", "per-node", "per-cpu", "per-gpu", "none"],
)
def test_cpus_and_memory(pairs: dict[str, str], cpu: float, memory: float) -> None:
    """CPUs and memory per GPU; memory only if it was asked for."""
    asked = job(**pairs).resources_per_gpu
    assert (asked.get("cpu", 0), asked.get("memory_gib", 0)) == (cpu, memory)


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ({"TresPerNode": ""}, "asks for no GPU"),
        ({"TresPerNode": "gres/shard:2"}, "shares of GPUs"),
        ({"TresPerNode": "gres/gpu:a100:1,gres/gpu:h100:1"}, "several types at once"),
        ({"TresPerNode": "", "TresPerSocket": "gres:gpu:1"}, "per socket"),
        ({"TresPerNode": "gres/gpu:v100:4"}, "no node with GPUs satisfies"),
        ({"Features": "ib"}, "no node with GPUs satisfies"),
        ({"Features": "ib*2"}, "constraint with counts"),
        ({"Partition": "elsewhere"}, "no node with GPUs satisfies"),
        ({"ReqNodeList": "n1", "NumNodes": "2-2"}, "requires some nodes by name"),
        ({"Reservation": "night"}, "waits for its reservation"),
        ({"HetJobId": "1", "HetJobOffset": "0"}, "heterogeneous"),
        ({"Reason": "JobHeldUser"}, "waits for something other than room (JobHeldUser)"),
        ({"Reason": "Dependency"}, "waits for something other than room (Dependency)"),
        ({"Reason": "BeginTime"}, "waits for something other than room (BeginTime)"),
        ({"Reason": "AssocGrpGRES"}, "waits for something other than room (AssocGrpGRES)"),
        ({"Priority": "0", "Reason": "None"}, "waits for something other than room"),
        ({"JobState": "REQUEUE_HOLD"}, "is held (REQUEUE_HOLD)"),
    ],
)
def test_left_out(pairs: dict[str, str], reason: str) -> None:
    """What an instance cannot say, or what no room would start, is left out with its reason."""
    draft = draft_of(nodes(), waiting(1, **pairs))
    assert draft.jobs == []
    assert reason in next(iter(reasons(draft).values()))


@pytest.mark.parametrize("pairs", [{"Reason": "JobHeldUser", "Priority": "0"}, {"JobState": "REQUEUE_HOLD"}])
def test_include_held(pairs: dict[str, str]) -> None:
    """On request held jobs wait like others."""
    assert len(draft_of(nodes(), waiting(1, **pairs), include_held=True).jobs) == 1


@pytest.mark.parametrize(
    ("pairs", "memory"),
    [
        ({"NumNodes": "1"}, 25),
        ({"NumNodes": "2", "TresPerNode": "gres/gpu:2"}, 50),
        ({"NumNodes": "2", "TresPerNode": "", "TresPerJob": "gres/gpu:6"}, 33.333333),
        ({"NumNodes": "1", "OverSubscribe": "NO"}, 25),
        ({"MinMemoryNode": "8G"}, 2),
    ],
)
def test_no_request_for_memory_is_one_for_all_where_slurm_gives_it_out(pairs: dict[str, str], memory: float) -> None:
    """Memory that is in use on some node shows that Slurm counts it; else a job that asks for none needs none."""
    jobs = waiting(1, **pairs)
    draft = draft_of(nodes(3) + node("n4", AllocMem="4096"), jobs)
    assert only(draft).job.resources_per_gpu["memory_gib"] == memory
    assert any("gets all that its nodes have" in text for text in draft.assumptions) is ("MinMemoryNode" not in pairs)
    if "MinMemoryNode" not in pairs:
        assert "memory_gib" not in only(draft_of(nodes(), jobs)).job.resources_per_gpu


def test_one_switch() -> None:
    """--switches=1 is within the lowest switches; more of them, or no topology, cannot be kept, and that is said."""
    assert job(Switches="1@00:05:00").within == "rack"
    assert job(Switches="2").within is None
    assert any("2 leaf switches" in text for text in draft_of(nodes(), waiting(1, Switches="2")).assumptions)
    flat = draft_of(nodes(), waiting(1, Switches="1"), topology="")
    assert flat.jobs[0].job.within is None
    assert any("no topology" in text for text in flat.assumptions)


def test_segments() -> None:
    """Segments of nodes are multiples of GPUs inside one block."""
    blocks = "BlockName=b0 Nodes=n[1-2]\nBlockName=b1 Nodes=n[3-4]\nBlockSizes=2,4"
    draft = draft_of(nodes(), waiting(1, NumNodes="4-4", SegmentSize="2"), topology=blocks)
    assert only(draft).job.segment == Segment(gpus=8, level="block")
    loose = draft_of(nodes(), waiting(1, TresPerNode="", TresPerJob="gres/gpu:4", SegmentSize="2"), topology=blocks)
    assert any("segments" in text for text in loose.assumptions)


def test_whole_nodes() -> None:
    """An exclusive job takes all GPUs and CPUs of its nodes, unless nodes differ so that their number is unknown."""
    made = job(TresPerNode="", NumNodes="2-2", OverSubscribe="NO")
    assert (made.gpus, made.gpus_per_node, made.resources_per_gpu) == (8, 4, {"cpu": 8})
    draft = draft_of(TWO_TYPES, waiting(1, TresPerNode="", OverSubscribe="NO"), topology="")
    assert "differ in their GPUs" in reasons(draft)["1"]


@pytest.mark.parametrize(
    ("pairs", "types", "marked"),
    [
        ({}, None, None),
        ({"Partition": "old"}, ("a100",), None),
        ({"Partition": "new,old"}, None, None),
        ({"Features": "a100|h100"}, None, None),
        ({"Features": "h100"}, ("h100",), None),
        ({"TresPerNode": "gres/gpu:a100:4"}, ("a100",), None),
        ({"Features": "ib"}, None, {"a1", "h1"}),
        ({"Features": "ib", "Partition": "old"}, ("a100",), {"a1"}),
        ({"ExcNodeList": "a2"}, None, {"a1", "h1"}),
        ({"ExcNodeList": "h1"}, ("a100",), None),
        ({"ReqNodeList": "a2"}, ("a100",), {"a2"}),
    ],
    ids=[
        "any",
        "partition",
        "partitions",
        "either",
        "feature",
        "type",
        "shared",
        "both",
        "without",
        "no-h",
        "required",
    ],
)
def test_where_it_may_run(pairs: dict[str, str], types: tuple[str, ...] | None, marked: set[str] | None) -> None:
    """Partition, constraint, type and node lists are GPU types where that is the same, else a resource of the nodes."""
    draft = draft_of(TWO_TYPES, waiting(1, **pairs), topology="")
    made = only(draft)
    assert made.gpu_types == types
    marks = set(made.job.resources_per_gpu) - {"cpu", "memory_gib"}
    holders = {found.name for found in draft.nodes for mark in marks if mark in found.resources}
    assert holders == (marked or set())


def test_equal_sets_share_a_resource() -> None:
    """Jobs that may run on the same nodes share the resource that marks them."""
    jobs = waiting(1, Features="ib") + waiting(2, ExcNodeList="a2") + waiting(3, Features="ib&a100")
    made = draft_of(TWO_TYPES, jobs, topology="").jobs
    marks = [next(iter(set(found.job.resources_per_gpu) - {"cpu"})) for found in made]
    assert marks[0] == marks[1] != marks[2]


def test_matching_or() -> None:
    """A matching OR is taken as an ordinary one, and that is said."""
    draft = draft_of(TWO_TYPES, waiting(1, Features="[a100|h100]"), topology="")
    assert any("matching OR" in text for text in draft.assumptions)


def test_partition_asked_for() -> None:
    """With --partition only its nodes and jobs are in the instance."""
    jobs = waiting(1, Partition="old") + waiting(2, Partition="new") + running(3, "h1", gres="gpu:h100:1")
    draft = draft_of(TWO_TYPES, jobs, topology="", partitions=("old",))
    assert [found.name for found in draft.nodes] == ["a1", "a2"]
    assert [made.job.name for made in draft.jobs] == ["1-train"]
    assert reasons(draft)["2"] == reasons(draft)["h1"] == "in none of the partitions asked for"
    assert reasons(draft)["3"] == "runs on nodes that are not in the instance"
    assert draft.counts["nodes"] == 3


def test_array() -> None:
    """An array that waits is a job per task, up to its own limit less its tasks that run, and up to the user's."""
    array = waiting(9, ArrayJobId="9", ArrayTaskId="2-9:2,11", JobName="sweep")
    assert [made.job.name for made in draft_of(nodes(), array).jobs] == [
        "9_2-sweep", "9_4-sweep", "9_6-sweep", "9_8-sweep", "9_11-sweep"
    ]  # fmt: skip
    task = running(10, "n1", ArrayJobId="9", ArrayTaskId="1")
    limited = waiting(9, ArrayJobId="9", ArrayTaskId="2-5%3", ArrayTaskThrottle="3")
    draft = draft_of(nodes(), task + limited)
    assert [made.job.name for made in draft.jobs] == ["9_1-train", "9_2-train", "9_3-train"]
    assert reasons(draft)["9_5"] == "beyond the array's limit of tasks at a time"
    few = draft_of(nodes(), array, array_tasks=2)
    assert len(few.jobs) == 2
    assert reasons(few)["9_6"] == "beyond the first 2 tasks of an array (--array-tasks)"
    cut = draft_of(nodes(), waiting(9, ArrayJobId="9", ArrayTaskId="1,2,..."))
    assert reasons(cut)["9"] == "has more tasks than Slurm prints"


def test_names_of_all_kinds() -> None:
    """Names with blanks, equals signs, and none at all stay apart by the job's id."""
    jobs = waiting(1, JobName="my job State=x") + waiting(2, JobName="") + waiting(3, JobName="train")
    jobs = jobs.replace("JobId=2 JobState", "JobId=2 JobName=\n   JobState")
    assert [made.job.name for made in draft_of(nodes(), jobs).jobs] == ["1-my job State=x", "2", "3-train"]
