"""Simulated annealing."""

from __future__ import annotations

import msgspec
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Job
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.registry import baselines, find
from tests.solvers.baselines.racks import instance, jobs, racks, run
from tests.tiny import random_instance


def test_exchanges_leave_the_order_of_the_queue_behind() -> None:
    """A light gang in front takes the node first; the heavy one is worth more and gets it."""
    given = instance(racks([[4]]), [Job(name="light", gpus=3), Job(name="heavy", gpus=4, weight=5.0)])
    assert run("anneal", given, steps="100") == {"heavy": {"n0": 4}}


def test_a_job_that_must_run_beats_any_weight() -> None:
    """The light gang stays when it is required."""
    given = instance(racks([[4]]), [Job(name="light", gpus=3, required=True), Job(name="heavy", gpus=4, weight=500.0)])
    assert run("anneal", given, steps="200") == {"light": {"n0": 3}}


def test_a_job_that_costs_more_than_it_gives_is_not_placed() -> None:
    """Across the slow uplinks half a second of computation waits a minute, and each cut costs more than is left."""
    cluster = racks([[1, 1]], changes={"n0": {"uplink_gbps": 1.0}, "n1": {"uplink_gbps": 1.0}})
    given = instance(cluster, jobs(2, compute_s=0.5, message_mb=10_000.0))
    given = msgspec.structs.replace(given, objective=msgspec.structs.replace(given.objective, cut_penalty=0.1))
    assert run("anneal", given, steps="100") == {}


@pytest.mark.parametrize("seed", range(12))
def test_no_uplink_is_overbooked(seed: int) -> None:
    """The evaluator accepts every placement as it is, required jobs without a place aside."""
    given = random_instance(seed, max_nodes=8, max_jobs=8, running=False)
    problem = compile_problem(given)
    request = Request(seed=seed, options={"steps": "200"})
    answer = baselines()["anneal"].load()(problem, request, Budget(None), lambda _: None)
    assert answer.placement is not None
    violations = evaluate(given, named(problem, answer.placement)).violations
    assert [v.message for v in violations if v.kind != "required job missing"] == []


@pytest.mark.parametrize("seed", [4, 10, 15, 16])
def test_small_instances_are_solved_to_optimality(seed: int) -> None:
    """Three jobs on a few nodes: the walk meets an optimal placement."""
    problem = compile_problem(random_instance(seed, running=False, max_jobs=3))
    values = []
    for engine in ("anneal", "exact"):
        answer = find(engine).load()(problem, Request(seed=1), Budget(30.0), lambda _: None)
        assert not answer.infeasible
        values.append(evaluate(problem.instance, named(problem, answer.placement or {})).objective)
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_an_interrupt_ends_the_walk() -> None:
    """Asked to end before it starts, it answers with nothing, and says why."""
    problem = compile_problem(instance(racks([[4]]), jobs(2)))
    budget = Budget(None)
    budget.interrupt()
    answer = baselines()["anneal"].load()(problem, Request(), budget, lambda _: None)
    assert (answer.placement, answer.stop_reason) == ({}, "interrupted")


def test_steps_are_counted() -> None:
    """Equal seeds and steps give equal placements; no steps at all are refused."""
    given = random_instance(3, max_nodes=8, max_jobs=8)
    assert run("anneal", given, seed=4, steps="50") == run("anneal", given, seed=4, steps="50")
    with pytest.raises(UsageError, match="steps=0: expected a whole number of at least 1"):
        run("anneal", given, steps="0")
