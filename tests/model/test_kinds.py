"""Tables of kinds of jobs against the formulas and the evaluator."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Segment, Spread, Switch
from crop_cli.model.kinds import Kind, kind_key
from crop_cli.model.problem import compile_problem
from tests.bruteforce import World, enumerate_job
from tests.tiny import random_instance

CLUSTER = Cluster(
    levels=["rack", "node"],
    switches=[Switch(name="r1", level="rack", uplink_gbps=50.0), Switch(name="r2", level="rack")],
    nodes=[
        Node(name="a", gpus=4, parent="r1", gpu_type="fast", uplink_gbps=10.0, fabric_gbps=80.0),
        Node(name="b", gpus=4, parent="r1", gpu_type="slow", uplink_gbps=10.0, gpu_link_gbps=40.0),
        Node(name="c", gpus=4, parent="r2", gpu_type="fast", slowdown=1.5),
        Node(name="d", gpus=4, parent="r2", gpu_type="odd"),
    ],
)


def kind_of(job: Job) -> Kind:
    """Tables of one job on the cluster above."""
    return compile_problem(Instance(format=FORMAT, cluster=CLUSTER, jobs=[job])).kinds[0]


def test_compute_times_by_hardware() -> None:
    """Seconds by type times slowdown; infinite for a type that is not listed; best over healthy types present."""
    kind = kind_of(Job(name="j", gpus=4, compute_s={"fast": 0.2, "slow": 0.5, "elsewhere": 0.01}))
    assert kind.compute_s.tolist() == pytest.approx([0.2, 0.5, 0.3, math.inf])
    assert kind.best == 0.2


def test_best_ignores_slowdown_and_counts_every_node_of_the_cluster() -> None:
    """best_j is the least compute_s over types, though the only node of that type is slow or down."""
    cluster = Cluster(
        levels=["node"],
        nodes=[Node(name="a", gpus=1, gpu_type="x", slowdown=3.0, state="down"), Node(name="b", gpus=1)],
    )
    job = Job(name="j", gpus=1, compute_s={"x": 0.1, "gpu": 0.4})
    assert compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=[job])).kinds[0].best == 0.1


@pytest.mark.parametrize(
    ("pattern", "megabytes"),
    [("allreduce", [0.0, 150.0, 150.0, 150.0, 0.0]), ("alltoall", [0.0, 75.0, 100.0, 75.0, 0.0])],
)
def test_link_times_and_rates_by_count(pattern: str, megabytes: list[float]) -> None:
    """t = 8·10^-3·b/B and r = 8·10^-3·b/(best + max(0, t − o·best)); an unlimited link takes no time."""
    problem = compile_problem(
        Instance(
            format=FORMAT,
            cluster=CLUSTER,
            jobs=[Job(name="j", gpus=4, compute_s=0.1, message_mb=100.0, pattern=pattern, overlap=0.5)],
        )
    )
    kind = problem.kinds[0]
    for i, gbps in enumerate(problem.link_gbps):
        for x, b in enumerate(megabytes):
            time = 8e-3 * b / gbps
            assert kind.link_time[i, x] == pytest.approx(time)
            assert kind.link_rate[i, x] == pytest.approx(8e-3 * b / (0.1 + max(0.0, time - 0.05)))


def test_node_times_take_the_slower_of_gpu_link_and_fabric() -> None:
    """b¹ over one GPU's link; x·b¹ over the shared fabric; nothing for no workers or a job of one."""
    kind = kind_of(Job(name="j", gpus=4, message_mb=100.0))
    assert kind.worker_mb == 150.0
    assert kind.node_comm(np.array([0, 1, 4]), np.array([0, 0, 0])).tolist() == pytest.approx([0.0, 0.015, 0.06])
    assert kind.node_comm(np.array([1, 4]), np.array([1, 1])).tolist() == pytest.approx([0.03, 0.03])
    assert kind_of(Job(name="j", gpus=1, message_mb=100.0)).worker_mb == 0.0


@pytest.mark.parametrize(
    ("constraint", "depth", "counts"),
    [
        ({"within": "rack"}, 1, [0, 6]),
        ({"within": "node"}, 2, [0, 6]),
        ({"segment": Segment(gpus=2, level="rack")}, 1, [0, 2, 4, 6]),
        ({"segment": Segment(gpus=3, level="node")}, 2, [0, 3, 6]),
        ({"spread": Spread(level="node", max_gpus=2)}, 2, [0, 1, 2]),
        ({"gpus_per_node": 3}, 2, [0, 3]),
        ({"segment": Segment(gpus=2, level="node"), "spread": Spread(level="node", max_gpus=5)}, 2, [0, 2, 4]),
    ],
)
def test_shape_constraints_allow_these_counts(constraint: dict[str, object], depth: int, counts: list[int]) -> None:
    """Each constraint limits the counts of its own level only; the root holds none or all."""
    allowed = kind_of(Job(name="j", gpus=6, **constraint)).allowed
    for d in range(3):
        expected = [0, 6] if d == 0 else counts if d == depth else list(range(7))
        assert np.flatnonzero(allowed[d]).tolist() == expected


def test_levels_are_sorted_and_none_is_dominated() -> None:
    """Efficiency falls strictly or the limits trade off; no level is at least as fast and allows at least as much."""
    for seed in range(100):
        for kind in compile_problem(random_instance(seed)).kinds:
            levels = kind.levels
            assert (np.diff(levels.efficiency) <= 0).all()
            for i in range(len(levels)):
                for later in range(i + 1, len(levels)):
                    assert levels.compute_s[i] < levels.compute_s[later] or levels.comm_s[i] < levels.comm_s[later], (
                        seed,
                        i,
                        later,
                    )


def test_a_placement_has_the_efficiency_of_the_best_level_that_allows_it() -> None:
    """Node caps and link counts of levels admit exactly the placements that are so fast by the evaluator."""
    compared = 0
    for seed in range(150):
        instance = random_instance(seed, running=False)
        problem = compile_problem(instance)
        world = World(instance)
        for j, job in enumerate(instance.jobs):
            kind = problem.kind(j)
            for counts in list(enumerate_job(world, job))[:20]:
                outcome = evaluate(instance, {job.name: counts}).jobs[job.name]
                workers = np.zeros(problem.n_nodes, dtype=np.int64)
                for name, x in counts.items():
                    workers[problem.node_index[name]] = x
                at = problem.tree.sum_below(workers)
                fits = [
                    bool(
                        (workers <= kind.node_cap(level)[problem.hardware_of]).all()
                        and kind.link_allowed(level)[problem.link_of, at].all()
                    )
                    for level in range(len(kind.levels))
                ]
                assert kind.levels.efficiency[fits.index(True)] == pytest.approx(outcome.efficiency, rel=1e-9)
                assert kind.efficiency(outcome.compute_s, outcome.comm_s) == pytest.approx(outcome.efficiency)
                compared += 1
    assert compared > 500


def test_jobs_differing_in_name_or_running_state_share_a_kind() -> None:
    """Equal data give equal keys; every field that matters makes a difference."""
    job = Job(name="a", gpus=4, message_mb=10.0, compute_s={"fast": 0.2, "slow": 0.5})
    same = [
        msgspec.structs.replace(job, name="b"),
        msgspec.structs.replace(job, compute_s={"slow": 0.5, "fast": 0.2}),
        msgspec.structs.replace(job, placement={"a": 4}, movable=True, migration_minutes=5.0),
        msgspec.structs.replace(job, required=True),
    ]
    assert all(kind_key(other) == kind_key(job) for other in same)
    changes = {
        "gpus": 5,
        "weight": 2.0,
        "compute_s": 0.2,
        "message_mb": 11.0,
        "pattern": "alltoall",
        "overlap": 0.1,
        "resources_per_gpu": {"cpu": 1.0},
        "restart_minutes": 1.0,
        "checkpoint_minutes": 1.0,
        "within": "rack",
        "segment": Segment(gpus=2, level="rack"),
        "spread": Spread(level="rack", max_gpus=2),
        "gpus_per_node": 2,
    }
    keys = {repr(kind_key(msgspec.structs.replace(job, **{field: value}))) for field, value in changes.items()}
    assert repr(kind_key(job)) not in keys
    assert len(keys) == len(changes)


def test_restart_and_half_a_checkpoint_interval_are_interchangeable() -> None:
    """Only their sum enters the loss, so only the sum distinguishes kinds."""
    restart, checkpoint = Job(name="a", gpus=1, restart_minutes=1.0), Job(name="b", gpus=1, checkpoint_minutes=2.0)
    assert kind_key(restart) == kind_key(checkpoint)
    assert kind_of(checkpoint).days_lost_per_failure == pytest.approx(1 / 1440)


def test_a_job_that_no_type_may_run_has_no_levels() -> None:
    """Its tables stay finite where they are used, and it has no performance level."""
    kind = kind_of(Job(name="j", gpus=2, compute_s={"elsewhere": 0.3}, message_mb=1.0))
    assert len(kind.levels) == 0
    assert np.isinf(kind.compute_s).all()
    assert np.isfinite(kind.link_rate).all()
