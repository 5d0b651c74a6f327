"""The compiled instance against enumeration and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Objective, Switch
from crop_cli.model.problem import SLACK, Problem, compile_problem, named, reserved_gbps, times, utility
from tests.bruteforce import World, enumerate_job, job_times, job_utility, rates
from tests.tiny import random_instance


def two_racks(*jobs: Job, oversubscription: float = 1.0) -> Problem:
    """Two racks of two 4-GPU nodes, the last one drained; the file lists the nodes of the second rack first."""
    cluster = Cluster(
        levels=["rack", "node"],
        oversubscription=oversubscription,
        switches=[Switch(name="r1", level="rack", uplink_gbps=20.0), Switch(name="r2", level="rack")],
        nodes=[
            Node(name="c", gpus=4, parent="r2", resources={"cpu": 16.0, "disk": 1.0}, uplink_gbps=10.0),
            Node(name="d", gpus=4, parent="r2", state="drained", uplink_gbps=10.0),
            Node(
                name="a", gpus=4, parent="r1", resources={"cpu": 16.0}, used={"gpus": 1, "cpu": 2.5}, uplink_gbps=10.0
            ),
            Node(name="b", gpus=4, parent="r1", failures_per_day=0.5, uplink_gbps=10.0),
        ],
    )
    return compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=list(jobs)))


def test_free_is_capacity_less_used_on_nodes_that_are_up() -> None:
    """Only resources that some job asks for are kept; what a node does not have is 0; a drained node offers nothing."""
    problem = two_racks(Job(name="j", gpus=1, resources_per_gpu={"cpu": 2.0}), Job(name="l", gpus=2))
    assert problem.node_names == ["a", "b", "c", "d"]
    assert problem.resources == ("gpus", "cpu")
    assert problem.capacity.tolist() == [[4.0, 16.0], [4.0, 0.0], [4.0, 16.0], [4.0, 0.0]]
    assert problem.free.tolist() == [[3.0, 13.5], [4.0, 0.0], [4.0, 16.0], [0.0, 0.0]]
    assert problem.free_gpus.tolist() == [3, 4, 4, 0]
    assert problem.up.tolist() == [True, True, True, False]
    assert [kind.demand.tolist() for kind in problem.kinds] == [[1.0, 2.0], [1.0, 0.0]]


def test_uplinks_offer_their_bandwidth_times_oversubscription() -> None:
    """φ·B for every vertex, infinite where unlimited and at the root."""
    problem = two_racks(Job(name="j", gpus=1), oversubscription=1.5)
    assert problem.uplink_free.tolist() == [math.inf, 30.0, math.inf, 15.0, 15.0, 15.0, 15.0]


def test_pinned_jobs_are_taken_out() -> None:
    """A running job that may not move holds its GPUs, resources and bandwidth, and its utility is a constant."""
    running = Job(
        name="run",
        gpus=4,
        message_mb=100.0,
        resources_per_gpu={"cpu": 3.0},
        placement={"a": 2, "c": 2},
        restart_minutes=60.0,
    )
    problem = two_racks(running, Job(name="new", gpus=1))
    assert problem.pinned == {0: {0: 2, 2: 2}}
    assert problem.open_jobs.tolist() == [1]
    assert problem.must_place.tolist() == [False, False]
    assert problem.free.tolist() == [[1.0, 7.5], [4.0, 0.0], [2.0, 10.0], [0.0, 0.0]]
    # 150 MB over 10 Gbit/s take 0.12 s, over 20 Gbit/s 0.06 s; over the second rack's unlimited uplink nothing.
    at_10, at_20, unlimited = 1.2 / 1.12, 1.2 / 1.06, 1.2
    assert problem.uplink_free.tolist() == pytest.approx(
        [math.inf, 20 - at_20, math.inf, 10 - at_10, 10.0, 10 - at_10, 10.0]
    )
    assert reserved_gbps(problem, 0, {0: 2, 2: 2})[1].tolist() == pytest.approx([at_10, at_10, at_20, unlimited])
    assert problem.pinned_value == pytest.approx(4 / 1.12 - 4 * 0.001)


def test_movable_jobs_stay_open_and_must_run() -> None:
    """A movable job holds nothing beforehand, has a price of moving, and has to be placed; so has a required one."""
    moving = Job(name="m", gpus=2, weight=3.0, placement={"a": 2}, movable=True, migration_minutes=144.0)
    problem = two_racks(moving, Job(name="r", gpus=1, required=True), Job(name="o", gpus=1))
    assert problem.pinned == {}
    assert problem.current == {0: {0: 2}}
    assert problem.must_place.tolist() == [True, True, False]
    assert problem.open_jobs.tolist() == [0, 1, 2]
    assert problem.free_gpus.tolist() == [3, 4, 4, 0]
    assert problem.migration_cost.tolist() == pytest.approx([0.6, 0.0, 0.0])
    assert utility(problem, 0, {0: 2}) - utility(problem, 0, {2: 2}) == pytest.approx(0.6)


def test_jobs_with_the_same_data_share_a_kind() -> None:
    """Kinds are numbered by first appearance."""
    problem = two_racks(Job(name="x", gpus=2), Job(name="y", gpus=3), Job(name="z", gpus=2))
    assert problem.kind_of.tolist() == [0, 1, 0]
    assert problem.kind(2) is problem.kinds[0]


def test_named_includes_pinned_jobs_and_orders_as_the_file() -> None:
    """A placement by names has every running job, jobs and nodes in index order."""
    problem = two_racks(Job(name="x", gpus=2), Job(name="run", gpus=1, placement={"c": 1}))
    assert named(problem, {0: {2: 1, 0: 1}}) == {"x": {"a": 1, "c": 1}, "run": {"c": 1}}
    assert list(named(problem, {0: {2: 1, 0: 1}})["x"]) == ["a", "c"]


def test_arrays_are_read_only() -> None:
    """No solver can change what is free by accident."""
    problem = two_racks(Job(name="x", gpus=2))
    for array in (problem.free, problem.uplink_free, problem.capacity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_slack_is_relative_above_one_and_absolute_below() -> None:
    """SLACK·max(1, capacity), for resources and uplinks."""
    problem = two_racks(Job(name="x", gpus=2, resources_per_gpu={"cpu": 1.0}), oversubscription=0.01)
    assert problem.node_slack[0].tolist() == pytest.approx([4 * SLACK, 16 * SLACK])
    assert problem.node_slack[1].tolist() == pytest.approx([4 * SLACK, SLACK])
    assert problem.uplink_slack.tolist() == pytest.approx([math.inf, SLACK, math.inf, SLACK, SLACK, SLACK, SLACK])


def test_node_classes_tell_apart_what_the_capacities_do_not() -> None:
    """Nodes of one class agree in hardware, uplink bandwidth and failures, nodes of two differ in one of them."""
    for seed in range(100):
        problem = compile_problem(random_instance(seed))
        link = problem.link_of[problem.tree.node_vertex :]
        rows = list(zip(problem.hardware_of.tolist(), link.tolist(), problem.failures.tolist(), strict=True))
        for n in range(problem.n_nodes):
            for m in range(problem.n_nodes):
                assert (problem.node_class[n] == problem.node_class[m]) == (rows[n] == rows[m])


def test_utility_times_and_rates_equal_the_formulas() -> None:
    """For every placement of tiny instances, arrays and plain formulas give the same numbers."""
    compared = 0
    for seed in range(200):
        instance = random_instance(seed)
        problem, world = compile_problem(instance), World(instance)
        for j in problem.open_jobs.tolist():
            job = instance.jobs[j]
            for by_name in list(enumerate_job(world, job))[:25]:
                counts = {problem.node_index[name]: x for name, x in by_name.items()}
                compute, comm, cuts = times(problem, problem.kind(j), counts)
                truth = job_times(world, job, by_name)
                assert (compute, comm) == pytest.approx(truth[:2], rel=1e-12)
                assert utility(problem, j, counts) == pytest.approx(
                    job_utility(world, job, by_name), rel=1e-9, abs=1e-12
                )
                vertices, reserved = reserved_gbps(problem, j, counts)
                by_vertex = {problem.tree.names[v]: r for v, r in zip(vertices, reserved, strict=True)}
                assert by_vertex == pytest.approx(rates(world, job, by_name), rel=1e-12)
                assert cuts == len(vertices)
                compared += 1
    assert compared > 800


def test_utility_is_minus_infinity_on_a_type_that_is_not_allowed() -> None:
    """A placement on a GPU type outside compute_s has no value."""
    problem = two_racks(Job(name="x", gpus=2, compute_s={"other": 1.0}))
    assert utility(problem, 0, {0: 2}) == -math.inf


def test_what_is_free_agrees_with_the_definitions() -> None:
    """Capacity less used and pinned jobs, per node and uplink, as the plain formulas have it."""
    for seed in range(200):
        instance = random_instance(seed)
        problem, world = compile_problem(instance), World(instance)
        for name, n in problem.node_index.items():
            expected = [world.free[name].get(resource, 0.0) for resource in problem.resources]
            assert problem.free[n].tolist() == pytest.approx(expected, abs=1e-9)
        for v in range(1, problem.tree.n_vertices):
            assert problem.uplink_free[v] == pytest.approx(world.uplink_free[problem.tree.names[v]], abs=1e-9)
        fixed = [job for job in instance.jobs if job.placement is not None and not job.movable]
        assert problem.pinned_value == pytest.approx(sum(job_utility(world, job, job.placement or {}) for job in fixed))


def test_objective_parameters_enter_the_utility() -> None:
    """Weight, failure weight, cut penalty and horizon act as in the formula of F."""
    cluster = Cluster(
        levels=["node"], nodes=[Node(name=f"n{i}", gpus=2, failures_per_day=0.1 * (i + 1)) for i in range(2)]
    )
    job = Job(name="j", gpus=3, weight=2.0, restart_minutes=60.0, checkpoint_minutes=24.0)
    objective = Objective(failure_weight=4.0, cut_penalty=0.05)
    problem = compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=[job], objective=objective))
    loss = 0.3 * 72.0 / 1440
    assert utility(problem, 0, {0: 2, 1: 1}) == pytest.approx(2 * (3 * (1 - 4 * loss) - 0.05 * 2))
    assert np.isfinite(problem.pinned_value)
