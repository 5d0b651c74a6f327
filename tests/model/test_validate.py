"""Checks that combine several parts of an instance, and warnings."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from crop_cli.model.instance import Cluster, Instance, Job, Node, Segment, Spread, Switch
from crop_cli.model.validate import validate
from tests.bruteforce import World, compute_s, demand, enumerate_job, rates, shape_allowed
from tests.model.samples import ABSENT, edited, example
from tests.tiny import instances, random_instance

SPARE_RACK = {"name": "spare", "level": "rack", "parent": "pod"}
SPARE_POD = {"name": "pod-2", "level": "pod"}


def checked(document: dict[str, Any]) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Defects and warnings of plain objects that fit the types."""
    defects, warnings = validate(msgspec.convert(document, Instance))
    return [(d.path, d.found, d.expected) for d in defects], warnings


def flat(*jobs: Job, nodes: int = 4, gpus: int = 8, **node: Any) -> Instance:
    """Equal nodes without switches."""
    cluster = Cluster(levels=["node"], nodes=[Node(name=f"n{i}", gpus=gpus, **node) for i in range(nodes)])
    return Instance(format="crop-instance/1", cluster=cluster, jobs=list(jobs))


def racks(*jobs: Job, **node: Any) -> Instance:
    """Two racks of two nodes with four GPUs each."""
    cluster = Cluster(
        levels=["rack", "node"],
        switches=[Switch(name="a", level="rack"), Switch(name="b", level="rack")],
        nodes=[Node(name=f"{rack}{i}", gpus=4, parent=rack, **node) for rack in "ab" for i in (1, 2)],
    )
    return Instance(format="crop-instance/1", cluster=cluster, jobs=list(jobs))


def test_no_jobs_is_fine() -> None:
    """An instance may have nothing to place."""
    assert validate(flat()) == ([], [])


def test_a_cycle_is_told_for_each_of_its_switches() -> None:
    """Two switches above each other are both named as parts of a cycle; what hangs below is not."""
    document = edited("cluster.switches.1.parent", "rack-2")
    defects, _ = checked(edited("cluster.switches.2.parent", "rack-1", document))
    assert [(path, "a cycle" in found) for path, found, _ in defects] == [
        ("$.cluster.switches[1].parent", True),
        ("$.cluster.switches[2].parent", True),
    ]


def test_uneven_depth_is_refused() -> None:
    """A node directly below a pod and a rack directly below the root are both defects."""
    document = edited("cluster.nodes.2.parent", "pod")
    defects, _ = checked(edited("cluster.switches.2.parent", ABSENT, document))
    assert [path for path, *_ in defects] == ["$.cluster.switches[2].parent", "$.cluster.nodes[2].parent"]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_no_file_can_hold_are_refused(number: float) -> None:
    """An instance built in memory is checked as strictly as one from a file."""
    job = Job(name="j", gpus=1, weight=number, compute_s={"gpu": number})
    used = Node(name="n", gpus=1, used={"gpus": number})
    instance = Instance(format="crop-instance/1", cluster=Cluster(levels=["node"], nodes=[used]), jobs=[job])
    assert [d.path for d in validate(instance)[0]] == [
        "$.cluster.nodes[0].used.gpus",
        "$.jobs[0].weight",
        "$.jobs[0].compute_s.gpu",
    ]


def test_running_jobs_share_what_a_node_has() -> None:
    """Full is allowed; more is a defect at the node that names all running jobs there, movable ones too."""
    half = Job(name="a", gpus=4, placement={"n0": 4}, resources_per_gpu={"mem": 0.3})
    node: dict[str, Any] = {"resources": {"mem": 2.4}}
    assert validate(flat(half, msgspec.structs.replace(half, name="b", movable=True), **node)) == ([], [])
    (defect,), _ = validate(
        flat(half, Job(name="b", gpus=5, placement={"n0": 5}, movable=True), used={"gpus": 1}, gpus=9, **node)
    )
    assert defect.path == "$.cluster.nodes[0].gpus"
    assert defect.found == '9 GPUs taken by running jobs "a", "b" (node "n0")'
    assert defect.expected == "at most 8: the node has 9, 1 of it used by others"
    (defect,), _ = validate(flat(half, msgspec.structs.replace(half, name="b"), resources={"mem": 2.39}))
    assert (defect.path, defect.expected) == ("$.cluster.nodes[0].resources.mem", "at most 2.39: the node has 2.39")


def test_a_resource_that_the_node_lacks_counts_as_none() -> None:
    """A running job that needs what its node does not have does not fit."""
    (defect,), _ = validate(flat(Job(name="a", gpus=2, placement={"n0": 2}, resources_per_gpu={"mem": 1})))
    assert defect.path == "$.jobs[0].placement.n0"
    assert defect.found == '2 mem on node "n0" (job "a")'


def pinned_over_uplink(gbps: float, oversubscription: float = 1.0, movable: bool = False) -> Instance:
    """A ring of four over two nodes: b = 2·1000·3/4 MB = 12 Gbit in 1 + 12/B seconds without overlap."""
    job = Job(name="ring", gpus=4, message_mb=1000, placement={"n0": 2, "n1": 2}, movable=movable)
    cluster = Cluster(
        levels=["node"],
        oversubscription=oversubscription,
        nodes=[Node(name="n0", gpus=8, uplink_gbps=gbps), Node(name="n1", gpus=8)],
    )
    return Instance(format="crop-instance/1", cluster=cluster, jobs=[job])


def test_one_job_alone_can_not_overbook_a_whole_uplink() -> None:
    """12 Gbit in 1 + 12/B seconds is less than B for every B."""
    assert validate(pinned_over_uplink(0.5))[0] == []


def test_pinned_jobs_together_must_not_overbook_an_uplink() -> None:
    """The rates of model.md section 4 add up against the bandwidth times oversubscription; movable jobs may leave."""
    (defect,), _ = validate(pinned_over_uplink(3, oversubscription=0.5))
    assert defect.path == "$.cluster.nodes[0].uplink_gbps"
    assert defect.found == '2.4 Gbit/s reserved by running jobs "ring" (node "n0")'
    assert defect.expected == "at most 1.5, the bandwidth times oversubscription"
    assert validate(pinned_over_uplink(3, oversubscription=0.8))[0] == []
    assert validate(pinned_over_uplink(3, oversubscription=0.5, movable=True))[0] == []


def test_an_uplink_of_a_switch_is_named_by_its_level() -> None:
    """A pinned job over two racks is charged to the rack's uplink."""
    instance = racks(Job(name="wide", gpus=2, message_mb=1e5, placement={"a1": 1, "b1": 1}))
    switches = [msgspec.structs.replace(switch, uplink_gbps=1) for switch in instance.cluster.switches]
    cluster = msgspec.structs.replace(instance.cluster, switches=switches, oversubscription=0.9)
    defects, _ = validate(msgspec.structs.replace(instance, cluster=cluster))
    assert [d.path for d in defects] == ["$.cluster.switches[0].uplink_gbps", "$.cluster.switches[1].uplink_gbps"]
    assert defects[0].found.endswith('(rack "a")')


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        (flat(Job(name="j", gpus=33)), "it needs 33 GPUs, the nodes that are up have room for 32 of its workers"),
        (flat(Job(name="j", gpus=1), state="down"), "have room for 0 of its workers"),
        (flat(Job(name="j", gpus=25), used={"gpus": 2}), "have room for 24"),
        (flat(Job(name="j", gpus=13, resources_per_gpu={"cpu": 10}), resources={"cpu": 39}), "have room for 12"),
        (flat(Job(name="j", gpus=1, resources_per_gpu={"mem": 1})), "have room for 0"),
        (
            flat(Job(name="j", gpus=1, compute_s={"H100": 1})),
            '$.jobs[0]: can never be placed (job "j"): no node has GPU type "H100"',
        ),
        (
            flat(Job(name="j", gpus=5, segment=Segment(gpus=2, level="node"))),
            "5 GPUs are no multiple of its segment of 2",
        ),
        (flat(Job(name="j", gpus=5, gpus_per_node=2)), "5 GPUs are no multiple of 2 per node"),
        (flat(Job(name="j", gpus=9, gpus_per_node=9)), "it needs 1 node with 9 free GPUs each, there are 0"),
        (flat(Job(name="j", gpus=20, gpus_per_node=4)), "it needs 5 nodes with 4 free GPUs each, there are 4"),
        (
            flat(Job(name="j", gpus=9, spread=Spread(level="node", max_gpus=2))),
            "with at most 2 GPUs per node there is room for 8 of 9",
        ),
        (flat(Job(name="j", gpus=9, within="node")), "it needs 9 GPUs within one node, the largest has room for 8"),
        (racks(Job(name="j", gpus=9, within="rack")), "it needs 9 GPUs within one rack, the largest has room for 8"),
        (
            racks(Job(name="j", gpus=14, segment=Segment(gpus=7, level="rack"), gpus_per_node=7)),
            "it needs 2 nodes with 7 free GPUs each, there are 0",
        ),
        (
            racks(Job(name="j", gpus=15, segment=Segment(gpus=5, level="rack"))),
            "in segments of 5 GPUs per rack there is room for 10 of 15",
        ),
        (
            racks(Job(name="j", gpus=8, within="rack", spread=Spread(level="node", max_gpus=3))),
            "within one rack, the largest has room for 6",
        ),
        (
            racks(Job(name="j", gpus=8, gpus_per_node=4, spread=Spread(level="node", max_gpus=3))),
            "its constraints together leave room for 0 of 8 GPUs",
        ),
        (flat(Job(name="j", gpus=33, required=True)), "it is required, so that no placement is feasible"),
    ],
)
def test_jobs_that_no_placement_holds_are_warned_of(instance: Instance, words: str) -> None:
    """The warning says what is missing, in numbers; it is no defect."""
    defects, warnings = validate(instance)
    assert defects == []
    assert len(warnings) == 1
    assert words in warnings[0]


@pytest.mark.parametrize(
    ("place", "value", "path", "words"),
    [
        ("jobs.2.movable", True, "$.jobs[2].movable", 'has no effect (job "plain"), which has no placement'),
        ("jobs.2.migration_minutes", 5, "$.jobs[2].migration_minutes", "which has no placement"),
        ("jobs.0.migration_minutes", 5, "$.jobs[0].migration_minutes", '(job "pinned"), which is not movable'),
        ("cluster.switches.3", SPARE_RACK, "$.cluster.switches", 'switch "spare" (level "rack") has no nodes below it'),
        ("cluster.switches.3", SPARE_POD, "$.cluster.switches", 'switch "pod-2" (level "pod") has no nodes below it'),
        ("cluster.nodes.3.name", "pod", "$.cluster.switches[0].name", 'switch "pod" has the name of a node'),
    ],
)
def test_what_can_have_no_effect_is_warned_of(place: str, value: Any, path: str, words: str) -> None:
    """Allowed but useless or ambiguous statements are warnings."""
    defects, (warning,) = checked(edited(place, value))
    assert defects == []
    assert warning.startswith(f"{path}: ")
    assert warning.endswith(words)


def test_the_example_has_no_warnings() -> None:
    """The example of every field is clean."""
    assert checked(example()) == ([], [])


@settings(max_examples=150, deadline=None)
@given(instances())
def test_valid_instances_have_no_defects(instance: Instance) -> None:
    """What is valid by construction, running jobs included, passes."""
    assert validate(instance)[0] == []


@settings(max_examples=200, deadline=None)
@given(instances(running=False))
def test_only_jobs_without_any_placement_are_said_to_have_none(instance: Instance) -> None:
    """A job with the warning has no placement in the empty cluster, by enumeration."""
    _, warnings = validate(instance)
    for j, job in enumerate(instance.jobs):
        if any(warning.startswith(f"$.jobs[{j}]: can never be placed") for warning in warnings):
            assert not any(enumerate_job(World(instance), job))


def test_running_jobs_are_refused_exactly_when_they_break_a_rule() -> None:
    """Random placements have a defect if and only if the definitions, computed independently, say so."""
    broken: Counter[str] = Counter()
    for seed in range(1500):
        idle = random_instance(seed, running=False, max_jobs=3)
        started = msgspec.structs.replace(idle, jobs=_started(idle, random.Random(seed)))
        rule = _broken_rule(idle, started.jobs)
        broken[rule] += 1
        assert (validate(started)[0] == []) == (rule == "none"), f"seed {seed}: {rule}, {validate(started)[0]}"
    assert min(broken[rule] for rule in ("none", "state", "type", "total", "shape", "node", "uplink")) >= 3, broken


def _started(idle: Instance, rng: random.Random) -> list[Job]:
    """The jobs, some of them running anywhere, now and then with a worker too many."""
    names = [node.name for node in idle.cluster.nodes]
    jobs = []
    for job in idle.jobs:
        if rng.random() < 0.5:
            jobs.append(job)
            continue
        counts = Counter(rng.choices(names, k=job.gpus + (rng.random() < 0.1)))
        jobs.append(msgspec.structs.replace(job, placement=dict(counts), movable=rng.random() < 0.3))
    return jobs


def _broken_rule(idle: Instance, jobs: list[Job]) -> str:
    """The first broken rule of running jobs: each by itself, all on nodes, pinned ones on uplinks."""
    world = World(idle)
    load: dict[tuple[str, str], float] = {}
    gbps: dict[str, float] = {}
    for job in jobs:
        if job.placement is None:
            continue
        own = _broken_by_itself(world, job, job.placement)
        if own is not None:
            return own
        for name, x in job.placement.items():
            for resource, amount in demand(job).items():
                load[name, resource] = load.get((name, resource), 0.0) + amount * x
        if not job.movable:
            for vertex, rate in rates(world, job, job.placement).items():
                gbps[vertex] = gbps.get(vertex, 0.0) + rate
    if any(amount > world.free[name][resource] + 1e-6 for (name, resource), amount in load.items()):
        return "node"
    if any(rate > world.uplink_capacity[vertex] * (1 + 1e-6) for vertex, rate in gbps.items()):
        return "uplink"
    return "none"


def _broken_by_itself(world: World, job: Job, placement: dict[str, int]) -> str | None:
    nodes = [world.nodes[name] for name in placement]
    if any(node.state != "up" for node in nodes):
        return "state"
    if any(math.isinf(compute_s(job, node.gpu_type)) for node in nodes):
        return "type"
    if sum(placement.values()) != job.gpus:
        return "total"
    return None if shape_allowed(world, job, placement) else "shape"


def test_weights_below_the_tolerance_of_proofs_are_warned_of() -> None:
    """Where all jobs together are worth next to nothing, the tolerance of proofs would hide their differences."""
    tiny = flat(Job(name="a", gpus=3, weight=1e-8), Job(name="b", gpus=2, weight=1e-8))
    (warning,) = validate(tiny)[1]
    assert warning.startswith("$.jobs: weights are so small that all jobs together are worth 5e-08 GPUs at most")
    assert validate(flat(Job(name="a", gpus=1, weight=0.01), Job(name="b", gpus=1, weight=1e-8))) == ([], [])
