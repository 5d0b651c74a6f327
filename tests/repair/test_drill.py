"""Drills: by hand, and against repairs of every failure."""

from __future__ import annotations

import msgspec
import pytest

from crop_cli.api import solve
from crop_cli.errors import BackendError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.repair.drill import drill
from crop_cli.repair.judge import Judge
from crop_cli.repair.pinned import How, repair_pinned
from crop_cli.repair.results import Drill
from crop_cli.repair.scene import Failure, Running, degraded, not_required, running, standing
from crop_cli.solvers.contract import Budget, Request
from tests.repair.build import cluster, how, job, scene
from tests.tiny import random_instance


def solved(instance: Instance) -> Running | None:
    """The greedy's placement as running jobs; None where there is none."""
    solution = solve(instance, solver="greedy")
    return running(instance, solution) if solution.metrics is not None else None


def drilled(scene: Running, solver: str | None = None) -> Drill:
    """All levels."""
    return drill(scene, scene.instance.cluster.levels, how(solver))


def small() -> Running:
    """Two racks; a spare node in the second."""
    where = cluster(
        {"a": 2, "b": 2, "c": 2, "d": 2}, {"a": "r1", "b": "r1", "c": "r2", "d": "r2"}, failures_per_day=0.5
    )
    jobs = [
        job("x", 2, weight=2, restart_minutes=144),
        job("y", 2, checkpoint_minutes=288),
        job("z", 1),
    ]
    return scene(where, jobs, {"x": {"a": 2}, "y": {"b": 2}, "z": {"c": 1}})


def test_a_drill_by_hand() -> None:
    """Hits, blast radius, what is kept and what waits, worst first; the unused node is counted as harmless."""
    running = small()
    found = drilled(running)
    rows = {row.name: row for row in found.failures}
    total = running.goodput
    assert found.harmless == {"rack": 0, "node": 1}
    assert set(rows) == {"r1", "r2", "a", "b", "c"}
    assert {name: (row.jobs_hit, row.jobs_waiting) for name, row in rows.items()} == {
        "r1": (2, 1),
        "r2": (1, 1),
        "a": (1, 0),
        "b": (1, 0),
        "c": (1, 0),
    }
    # x is worth more and takes the spare node; y would need the two GPUs, one each on c and d, that are gone then.
    assert rows["r1"].goodput_lost == pytest.approx(total - running.before.jobs["z"].goodput)
    assert rows["a"].goodput_kept == pytest.approx(1)
    assert found.failures[0].name == found.worst_switch == "r1"
    # After the repair all node failures are as good as nothing: the one that loses most at once comes first.
    assert found.worst_node == "a"


def test_expected_losses_by_hand() -> None:
    """Restarts: w·k·(restart + half a checkpoint interval); outages: what is not kept, as long as they last."""
    running = small()
    mean = drilled(running).mean
    assert mean is not None
    # a: 2·2·144 minutes, b: 2·144 minutes, both 0.5 times a day; nothing waits after a repair.
    assert mean.failures_per_day == 2
    assert mean.restart_loss_per_day == pytest.approx(0.5 * (0.4 + 0.2))
    assert mean.outage_loss_per_day == pytest.approx(0, abs=1e-9)
    full = scene(
        cluster({"a": 2, "b": 2}, failures_per_day=0.25), [job("x", 2), job("y", 2)], {"x": {"a": 2}, "y": {"b": 2}}
    )
    lost = drill(full, ["node"], how(None), outage_hours=12).mean
    assert lost is not None
    assert lost.goodput_lost == pytest.approx(2) and lost.goodput_kept == pytest.approx(0.5)
    assert lost.loss_per_day == pytest.approx(2 * 0.25 * 2 * 12 / 24)


def test_without_rates_or_nodes_there_is_no_mean() -> None:
    """The mean is unknown rather than 0."""
    running = scene(cluster({"a": 2}), [job("x", 2)], {"x": {"a": 2}})
    assert drilled(running).mean is None
    assert drill(small(), ["rack"], how(None)).mean is None


def test_an_empty_cluster_has_only_harmless_failures() -> None:
    """Nothing runs, nothing is lost, nothing is worst."""
    found = drilled(scene(cluster({"a": 2}), [job("x", 4)], {}))
    assert (found.failures, found.harmless, found.worst_node, found.worst_switch) == ([], {"node": 1}, None, None)


def test_time_that_is_over_leaves_failures_and_says_so() -> None:
    """Those not looked at are counted, and there is no mean of a part."""
    budget = Budget(60)
    budget.interrupt()
    found = drill(small(), ["rack", "node"], How(None, Request(), budget, lambda _event: None))
    assert (found.failures, found.left, found.mean) == ([], 5, None)


def test_interchangeable_nodes_are_computed_once() -> None:
    """Eight equal nodes under two equal gangs and two equal singles: four repairs give all eight answers."""
    names = [f"n{i}" for i in range(8)]
    racks = {name: "r1" if i < 4 else "r2" for i, name in enumerate(names)}
    jobs = [job("left", 6), job("right", 6), *(job(f"s{i}", 2) for i in range(2))]
    held = {
        "left": dict.fromkeys(names[:3], 2),
        "right": dict.fromkeys(names[4:7], 2),
        "s0": {names[3]: 2},
        "s1": {names[7]: 2},
    }
    running = scene(cluster(dict.fromkeys(names, 2), racks), jobs, held)
    found = drill(running, ["node"], how(None))
    assert (len(found.failures), found.computed) == (8, 4)
    _same_as_repairs(running, found)


@pytest.mark.parametrize("seed", range(30))
def test_every_row_is_a_repair_that_the_evaluator_accepts(seed: int) -> None:
    """On tiny random instances each row equals a repair made on its own, judged by the whole evaluator."""
    running = solved(random_instance(seed))
    if running is not None:
        found = drilled(running)
        _same_as_repairs(running, found)
        _blast_as_the_model_has_it(running, found)


@pytest.mark.parametrize("seed", [3, 11])
def test_an_engine_is_never_worse_than_the_oracle(seed: int) -> None:
    """With --exact no failure keeps less of F; the oracle goes first there, too."""
    running = solved(random_instance(seed, running=False))
    assert running is not None
    for row in drilled(running).failures[:3]:
        failure = Failure((row.name,), _nodes(running, row.name))
        exact = repair_pinned(running, failure, how("exact"))
        assert exact.proved
        assert exact.objective >= repair_pinned(running, failure, how(None)).objective - 1e-9


def test_the_judge_refuses_what_breaks_a_rule() -> None:
    """Too many on a node, a node that is down, a gang in part: each is refused."""
    judge = Judge(small())
    for placed in ({"x": {"c": 2}}, {"x": {"a": 2}}, {"x": {"d": 1}}):
        with pytest.raises(BackendError, match="refused a repair"):
            judge.accept(["a"], ["x"], placed)
    assert judge.accept(["a"], ["x"], {"x": {"d": 2}})["x"].goodput == pytest.approx(small().before.jobs["x"].goodput)


def _nodes(running: Running, name: str) -> frozenset[str]:
    chains = running.topology.chain.items()
    return frozenset(n for n, chain in chains if any(vertex.name == name for vertex in chain))


def _same_as_repairs(running: Running, found: Drill) -> None:
    """Every row against a repair of its own, in an instance of its own."""
    weight = {each.name: each.weight for each in running.instance.jobs}
    plain = Running(running.fresh, running.held)
    for row in found.failures:
        failure = Failure((row.name,), _nodes(running, row.name))
        placement = repair_pinned(plain, failure, how(None)).placement
        hit = {each.name for each in plain.hit_by(failure)}
        evaluation = evaluate(standing(not_required(degraded(plain, failure, 0), hit)), placement)
        assert evaluation.feasible
        goodput = sum(weight[name] * out.goodput for name, out in evaluation.jobs.items())
        assert row.goodput_after == pytest.approx(goodput)
        assert row.jobs_waiting == len(hit - placement.keys())


def _blast_as_the_model_has_it(running: Running, found: Drill) -> None:
    """The largest loss at once is the evaluator's worst blast radius."""
    metrics, bottom = running.before.metrics, running.topology.levels[-1]
    for nodes, worst in ((True, metrics.worst_node_blast), (False, metrics.worst_switch_blast)):
        lost = [row.goodput_lost for row in found.failures if (row.level == bottom) is nodes]
        if lost:
            assert max(lost) == pytest.approx(worst)


def test_documents_have_every_field() -> None:
    """A drill is plain data."""
    assert msgspec.to_builtins(drilled(small()))["format"] == "crop-drill/1"
