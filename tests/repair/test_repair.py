"""Repairs whose answers are computed by hand."""

from __future__ import annotations

import random

import pytest

from crop_cli.errors import UsageError, ViolationError
from crop_cli.model.dump import dump_instance
from crop_cli.model.io import read_instance
from crop_cli.model.validate import validate
from crop_cli.repair.pinned import How
from crop_cli.repair.repair import Repaired, repair
from crop_cli.repair.scene import failure_of, running
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.registry import ENGINES
from crop_cli.verify import verify
from tests.bruteforce import optimum
from tests.repair.build import cluster, job, repaired, scene

SOLVERS = pytest.mark.parametrize("solver", [None, "auto"], ids=["oracle", "auto"])


def holds(found: Repaired) -> bool:
    """Whether the written pair of files would pass `crop check`."""
    loaded = read_instance(dump_instance(found.instance), "degraded.json")
    return verify(loaded.instance, found.solution, loaded.sha256).ok


@SOLVERS
def test_a_spare_node_takes_the_job(solver: str | None) -> None:
    """The hit job runs on the free node, everybody else where it was, and nothing is lost in the end."""
    running = scene(cluster({"a": 2, "b": 2, "c": 2}), [job("x", 2), job("y", 2)], {"x": {"a": 2}, "y": {"b": 2}})
    found = repaired(running, "a", solver=solver)
    report = found.report
    assert [(row.job, row.before, row.after) for row in report.hit] == [("x", {"a": 2}, {"c": 2})]
    assert (report.way, report.moved, report.goodput_kept) == ("pinned", [], 1)
    assert (report.objective_before, report.objective_idle, report.objective_after) == (4, 2, 4)
    assert (report.status, holds(found)) == ("optimal", True)


@SOLVERS
def test_without_room_the_job_waits(solver: str | None) -> None:
    """No node is free: the hit job waits with a reason, and half of the goodput is kept."""
    running = scene(cluster({"a": 2, "b": 2}), [job("x", 2), job("y", 2)], {"x": {"a": 2}, "y": {"b": 2}})
    found = repaired(running, "a", solver=solver)
    (row,) = found.report.hit
    assert row.after is None and "needs 2 GPUs; 0 free" in (row.reason or "")
    assert (found.report.goodput_lost, found.report.goodput_after, found.report.goodput_kept) == (2, 2, 0.5)
    assert found.report.objective_after == found.report.objective_idle
    assert holds(found)


@SOLVERS
def test_one_move_makes_room(solver: str | None) -> None:
    """Two single GPUs are free on two nodes: one small job moves, pays ten minutes, and the hit job has a node."""
    jobs = [job("big", 2, within="node"), job("s", 1), job("t", 1)]
    running = scene(cluster({"a": 2, "b": 2, "c": 2}), jobs, {"big": {"a": 2}, "s": {"b": 1}, "t": {"c": 1}})
    found = repaired(running, "a", solver=solver)
    report = found.report
    assert report.way == "moves" and len(report.moved) == 1
    assert report.hit[0].after in ({"b": 2}, {"c": 2})
    assert report.moved[0].cost == pytest.approx(10 / 1440)
    assert report.objective_after == pytest.approx(report.objective_before - 10 / 1440)
    assert report.goodput_kept == 1
    assert holds(found)
    if solver is not None:
        assert report.status == "optimal"


@SOLVERS
@pytest.mark.parametrize("why", ["costly", "pinned"])
def test_nobody_moves_where_it_costs_more_or_is_forbidden(solver: str | None, why: str) -> None:
    """A move that takes more off F than the hit job adds is not made; nor is one of a job that the instance pins."""
    places = {"big": {"a": 2}, "s": {"b": 1}, "t": {"c": 1}}
    small = [job(name, 1, placement=places[name] if why == "pinned" else None) for name in ("s", "t")]
    running = scene(cluster({"a": 2, "b": 2, "c": 2}), [job("big", 2, within="node"), *small], places)
    found = repaired(running, "a", solver=solver, minutes=10_000 if why == "costly" else 1)
    assert (found.report.way, found.report.moved, found.report.hit[0].after) == ("pinned", [], None)
    assert holds(found)


@SOLVERS
def test_a_jobs_own_migration_minutes_count(solver: str | None) -> None:
    """The job that says that moving it is cheap is the one that moves."""
    jobs = [job("big", 2, within="node"), job("s", 1), job("t", 1, migration_minutes=1)]
    running = scene(cluster({"a": 2, "b": 2, "c": 2}), jobs, {"big": {"a": 2}, "s": {"b": 1}, "t": {"c": 1}})
    report = repaired(running, "a", solver=solver, minutes=100).report
    assert [(row.job, row.cost) for row in report.moved] == [("t", pytest.approx(1 / 1440))]


def test_a_switch_takes_all_nodes_below_it() -> None:
    """Jobs on either node of the rack are hit, also one that only reaches into it; the other rack's are not."""
    where = cluster({"a": 2, "b": 2, "c": 2, "d": 2}, {"a": "r1", "b": "r1", "c": "r2", "d": "r2"})
    jobs = [job("x", 2), job("wide", 3), job("y", 1)]
    running = scene(where, jobs, {"x": {"a": 2}, "wide": {"b": 2, "c": 1}, "y": {"c": 1}})
    report = repaired(running, "r1").report
    assert report.nodes_down == 2
    assert [row.job for row in report.hit] == ["x", "wide"]
    # Two GPUs on d, one that the wide job had on c: it is worth three.
    assert [row.after for row in report.hit] == [None, {"c": 1, "d": 2}]


@pytest.mark.parametrize("down", ["c", "drained"])
def test_an_unused_node_changes_nothing(down: str) -> None:
    """No job is hit: every job stays, F stays, and all goodput is kept."""
    where = cluster({"a": 2, "c": 2, "drained": 2})
    running = scene(where, [job("x", 2)], {"x": {"a": 2}})
    found = repaired(running, down)
    report = found.report
    assert (report.way, report.hit, report.moved, report.goodput_kept) == ("nothing", [], [], 1)
    assert report.objective_before == report.objective_after == report.objective_idle
    assert holds(found)


def test_everything_down_leaves_nothing() -> None:
    """All nodes fail: all jobs wait, and F is 0."""
    running = scene(cluster({"a": 2, "b": 2}), [job("x", 2), job("y", 1)], {"x": {"a": 2}, "y": {"b": 1}})
    found = repaired(running, "a,b")
    assert [row.after for row in found.report.hit] == [None, None]
    assert (found.report.objective_after, found.report.goodput_kept) == (0, 0)
    assert validate(found.instance)[0] == [] and holds(found)


def test_waiting_jobs_start_in_what_is_left() -> None:
    """The hit job of two GPUs has no room any more; the job of one that waited before does."""
    jobs = [job("x", 3), job("y", 1), job("small", 1)]
    running = scene(cluster({"a": 2, "b": 2}), jobs, {"x": {"a": 2, "b": 1}, "y": {"b": 1}})
    found = repaired(running, "a")
    assert [row.job for row in found.report.started] == ["small"]
    assert found.report.waiting_before == 0
    # What starts is part of F, but not of what was kept.
    assert found.report.goodput_after == 1 and found.report.objective_after == 2
    assert holds(found)


@SOLVERS
def test_a_required_job_without_room_is_not_required_any_more(solver: str | None) -> None:
    """It waits, a note says so, and the written instance has a solution."""
    running = scene(cluster({"a": 2, "b": 1}), [job("must", 2, required=True)], {"must": {"a": 2}})
    found = repaired(running, "a", solver=solver)
    assert "must" in found.report.notes[0]
    assert not found.instance.jobs[0].required
    assert holds(found)


@SOLVERS
def test_a_required_job_comes_first(solver: str | None) -> None:
    """Of two hit jobs the required one gets the room, though the other is worth more."""
    jobs = [job("rich", 2, weight=5), job("must", 2, required=True)]
    running = scene(cluster({"a": 4, "b": 2}), jobs, {"rich": {"a": 2}, "must": {"a": 2}})
    report = repaired(running, "a", solver=solver).report
    assert [row.after for row in report.hit] == [None, {"b": 2}]


def test_repairs_can_follow_each_other() -> None:
    """The degraded instance and its solution are the start of the next repair."""
    running_ = scene(cluster({"a": 2, "b": 2, "c": 2}), [job("x", 2)], {"x": {"a": 2}})
    first = repaired(running_, "a")
    again = running(first.instance, first.solution)
    (here,) = again.held["x"]
    (left,) = {"b", "c"} - {here}
    assert repaired(again, here).report.hit[0].after == {left: 2}


def test_unknown_names_are_refused_with_the_nearest() -> None:
    """A name that no vertex has is a usage error that names those like it; so is no name at all."""
    where = cluster({"node-1": 1, "node-2": 1, "x,y": 1})
    with pytest.raises(UsageError, match="did you mean 'node-2' or 'node-1'"):
        failure_of(where, ["node-22"])
    with pytest.raises(UsageError, match="no node or switch is named"):
        failure_of(where, [" , "])
    assert failure_of(where, ["x,y", "node-1, node-2,"]).names == ("x,y", "node-1", "node-2")


def test_a_solution_of_something_else_is_refused() -> None:
    """It has to hold for the instance."""
    found = repaired(scene(cluster({"a": 2, "b": 2}), [job("x", 2)], {"x": {"a": 2}}), "a")
    with pytest.raises(ViolationError, match="does not hold"):
        running(scene(cluster({"a": 2}), [job("z", 1)], {}).instance, found.solution)


def test_an_interrupted_repair_is_still_verified() -> None:
    """The oracle's placement and a bound are there at once, whatever the engine had in mind."""
    budget = Budget(60)
    budget.interrupt()
    held = {"x": {"a": 2}, "y": {"b": 2}}
    running = scene(cluster({"a": 2, "b": 2, "c": 2}), [job("x", 2), job("y", 2)], held)
    how = How(ENGINES["auto"], Request(), budget, lambda _event: None)
    found = repair(running, failure_of(running.instance.cluster, ["a"]), how, 10)
    assert found.report.hit[0].after == {"c": 2}
    assert holds(found)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 31, 37, 55, 85, 193, 219, 233])  # in most of these somebody moves
def test_moves_are_optimal_where_an_engine_decides(seed: int) -> None:
    """Crowded nodes, jobs within nodes: where moves could place a hit job that waits, F is the enumerated best."""
    draw = random.Random(seed)
    names = ["a", "b", "c", "d"][: draw.randint(3, 4)]
    size = {name: draw.randint(2, 4) for name in names}
    jobs, held = [], {}
    free = dict(size)
    for i in range(6):
        gpus, node = draw.randint(1, 3), draw.choice(names)
        if free[node] >= gpus and sum(free.values()) - gpus >= draw.randint(0, 5):
            free[node] -= gpus
            jobs.append(job(f"j{i}", gpus, within=draw.choice(["node", None]), weight=draw.choice([1.0, 2.0])))
            held[f"j{i}"] = {node: gpus}
    found = repaired(scene(cluster(size), jobs, held), draw.choice(names))
    best, where = optimum(found.instance)
    assert best is not None and found.report.bound is not None
    assert found.report.objective_after <= best + 1e-6 <= found.report.bound + 2e-6
    waits = {row.job for row in found.report.hit if row.after is None}
    if found.report.way == "moves" or waits & where.keys():
        assert found.report.objective_after == pytest.approx(best)
    assert holds(found)
