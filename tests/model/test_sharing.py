"""Fair sharing of overbooked uplinks, by hand and against the evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.sharing import evaluate_shared
from tests.bruteforce import World, enumerate_job
from tests.model.test_evaluate import instance, kinds
from tests.tiny import random_instance

PAIR: dict[str, Any] = {"gpus": 2, "compute_s": 1.0, "overlap": 1.0}
"""1000·MB of allreduce between two workers take 8 s of one Gbit/s; all of it hides behind the second of computation."""


def test_two_jobs_on_an_uplink_overbooked_by_half() -> None:
    """Two jobs reserve 30 of 20 Gbit/s: both see their links 1.5 times as slow, and F follows from that."""
    # b = 2·V·(2−1)/2 = V megabytes: r = 8e-3·V = 20 and 10 Gbit/s, as all of it hides behind computation.
    jobs = [{"name": "a", "message_mb": 2500, **PAIR}, {"name": "b", "message_mb": 1250, **PAIR}]
    nodes = {f"n{i}": {"uplink_gbps": 20} for i in range(4)}
    made = instance(jobs, **nodes)
    shared = evaluate_shared(made, {"a": {"n0": 1, "n1": 1}, "b": {"n0": 1, "n2": 1}})
    # On n0: a's link time is 20/20 = 1 s, stretched to 1.5 s, of which 1 s hides; b's is 0.5 s, stretched to 0.75 s.
    assert shared.loads == {"n0": pytest.approx(1.5)}
    assert shared.evaluation.violations == []
    a, b = shared.evaluation.jobs["a"], shared.evaluation.jobs["b"]
    assert (a.comm_s, a.iteration_s, a.goodput) == pytest.approx((1.5, 1.5, 2 / 1.5))
    assert (b.comm_s, b.iteration_s, b.goodput) == pytest.approx((0.75, 1.0, 2.0))
    # a cuts the uplinks of n0 and n1, b those of n0 and n2 and of both racks.
    assert shared.evaluation.objective == pytest.approx(2 / 1.5 + 2.0 - 0.001 * 6)
    metrics = shared.evaluation.metrics
    assert metrics.communication_overhead == pytest.approx((2 * 0.5 / 1.5 + 0) / 4)
    assert metrics.throughput == pytest.approx(2 / 1.5 + 2)
    assert metrics.traffic[-1].highest_load == pytest.approx(1.5)


def test_the_most_overbooked_link_of_a_job_decides() -> None:
    """A job that uses several overbooked uplinks is as slow as the slowest after stretching."""
    jobs = [{"name": name, "message_mb": 2500, **PAIR} for name in ("a", "b", "c")]
    made = instance(jobs, n0={"uplink_gbps": 20}, n1={"uplink_gbps": 25})
    placement = {"a": {"n0": 1, "n1": 1}, "b": {"n0": 1, "n1": 1}, "c": {"n0": 1, "n2": 1}}
    shared = evaluate_shared(made, placement)
    assert shared.loads == {"n0": pytest.approx(3.0), "n1": pytest.approx(1.6)}
    # a: 1 s on n0's uplink times 3; 0.8 s on n1's times 1.6.
    assert shared.evaluation.jobs["a"].comm_s == pytest.approx(3.0)
    assert shared.evaluation.jobs["c"].iteration_s == pytest.approx(3.0)


def test_oversubscription_is_part_of_the_capacity() -> None:
    """With φ = 2 the same 30 Gbit/s on 20 are no overbooking."""
    jobs = [{"name": "a", "message_mb": 2500, **PAIR}, {"name": "b", "message_mb": 1250, **PAIR}]
    nodes = {f"n{i}": {"uplink_gbps": 20} for i in range(4)}
    made = instance(jobs, oversubscription=2.0, **nodes)
    placement = {"a": {"n0": 1, "n1": 1}, "b": {"n0": 1, "n2": 1}}
    assert evaluate_shared(made, placement).loads == {}
    assert evaluate(made, placement).feasible


def test_sharing_makes_up_for_bandwidth_only() -> None:
    """Other broken rules stay violations."""
    two = {"message_mb": 2500, **PAIR, "within": "node"}
    jobs = [{"name": "a", **two}, {"name": "b", **two}, {"name": "c", "gpus": 5, "compute_s": 1.0}]
    made = instance(jobs, n0={"uplink_gbps": 20})
    pair = {"n0": 1, "n1": 1}
    shared = evaluate_shared(made, {"a": pair, "b": pair, "c": {"n3": 5}, "ghost": {"n0": 1}})
    assert shared.loads == {"n0": pytest.approx(2.0)}
    assert sorted(kinds(shared.evaluation)) == ["capacity", "unknown job", "within", "within"]


@pytest.mark.parametrize("seed", range(150))
def test_it_is_the_evaluators_answer_where_nothing_is_overbooked(seed: int) -> None:
    """Equal to `evaluate` without overbooked uplinks; with them, F and every efficiency are at most as high."""
    made = random_instance(seed)
    world = World(made)
    placement = {job.name: dict(job.placement) for job in made.jobs if job.placement}
    for at, job in enumerate(made.jobs):
        # Every job alone on the empty cluster, one of its places, so that some placements overbook uplinks.
        places = list(enumerate_job(world, job)) if job.name not in placement else []
        if places:
            placement[job.name] = places[(seed + at) % len(places)]
    strict, shared = evaluate(made, placement), evaluate_shared(made, placement)
    overbooked = [violation for violation in strict.violations if violation.kind == "uplink"]
    assert len(shared.loads) == len(overbooked)
    if not overbooked:
        assert shared.evaluation == strict
        return
    assert all(load > 1 for load in shared.loads.values())
    assert shared.evaluation.violations == [one for one in strict.violations if one not in overbooked]
    assert shared.evaluation.objective <= strict.objective
    for name, out in shared.evaluation.jobs.items():
        assert out.efficiency <= strict.jobs[name].efficiency
        assert (out.loss, out.cuts, out.nodes) == (
            strict.jobs[name].loss,
            strict.jobs[name].cuts,
            strict.jobs[name].nodes,
        )
