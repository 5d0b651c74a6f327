"""Price and branch from instance to answer, its columns and its dives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import Placement, Problem, compile_problem, named, utility
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.columns.branch import solve
from crop_cli.solvers.columns.column import group_jobs, make_column
from crop_cli.solvers.columns.dive import Diver
from crop_cli.solvers.columns.losses import Losses
from crop_cli.solvers.columns.nearby import Nearby
from crop_cli.solvers.contract import Budget, Event, Request
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.oracle import fits
from crop_cli.solvers.state import State
from tests.bruteforce import optimum
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance

SIZES = [{}, {"min_levels": 3, "max_levels": 3, "max_nodes": 6}, {"max_jobs": 6}]


def value_of(problem: Problem, placement: Placement) -> float:
    """F of a placement, by the evaluator, which must find it feasible."""
    judged = evaluate(problem.instance, named(problem, placement))
    assert judged.violations == []
    return judged.objective


def request_of(problem: Problem) -> Request:
    """What the engine gets: the greedy's placement, bound and prices."""
    start = greedy(problem, Request(), Budget(), lambda _event: None).placement
    bound = upper_bound(problem, Budget(), start=start)
    return Request(start=start, bound=None if bound.infeasible else bound.value, relaxation=bound.relaxation)


def features(problem: Problem) -> list[str]:
    """What of the model an instance uses."""
    kinds = [problem.kind(j) for j in problem.open_jobs.tolist()]
    return [
        *(["must"] if problem.must_place[problem.open_jobs].any() else []),
        *(["movable"] if problem.current else []),
        *(["uplinks"] if np.isfinite(problem.uplink_free).any() else []),
        *(["shapes"] if any(not kind.allowed.all() for kind in kinds) else []),
    ]


@pytest.mark.parametrize("block", range(6))
def test_between_start_and_optimum_and_bounds_hold(block: int) -> None:
    """On tiny instances F is between the start's and the enumerated optimum, which no bound is below; nearly all are
    solved to the optimum."""
    ends: Counter[bool] = Counter()
    for seed in range(block * 8, block * 8 + 8):
        instance = random_instance(22_000 + seed, **SIZES[seed % len(SIZES)])
        problem = compile_problem(instance)
        request = request_of(problem)
        best, _ = optimum(instance)
        if best is None:
            assert solve(problem, request, Budget(), lambda _event: None).placement is None
            continue
        events: list[Event] = []
        answer = solve(problem, request, Budget(), events.append)
        slack = 1e-9 * max(1.0, abs(best))
        assert answer.bound is None or answer.bound >= best - slack, seed
        assert all(event.value is None or event.value >= best - slack for event in events if event.kind == "bound")
        if answer.placement is None:
            assert request.start is None
            continue
        value = value_of(problem, answer.placement)
        assert value <= best + slack
        if request.start is not None:
            assert value >= value_of(problem, request.start) - slack
        ends[value >= best - 1e-6 * max(1.0, abs(best))] += 1
    assert ends[True] >= 0.95 * ends.total()


def test_the_instances_use_all_of_the_model() -> None:
    """Jobs that must run, movable ones, limited uplinks and shapes all occur among those of the test before."""
    used: Counter[str] = Counter()
    for seed in range(48):
        instance = random_instance(22_000 + seed, **SIZES[seed % len(SIZES)])
        used.update(features(compile_problem(instance)))
    assert min(used[name] for name in ("must", "movable", "uplinks", "shapes")) > 0


def _hard() -> Problem:
    jobs = [job(f"a{i}", k, weight=w) for i, (k, w) in enumerate([(6, 1), (5, 2), (7, 1), (3, 1), (4, 3), (9, 1)] * 3)]
    return problem_of(racks([[8, 5, 3], [7, 4, 2], [6, 6, 1]], jobs))


@pytest.mark.parametrize("looks", [0, 1, 3, 10, 40, 150])
def test_it_may_end_at_any_moment(looks: int) -> None:
    """Stopped at the n-th look at the budget, there is a feasible placement no worse than the start, and a bound."""
    problem = _hard()
    request = request_of(problem)
    answer = solve(problem, request, Looks(looks), lambda _event: None)
    assert answer.placement is not None and request.start is not None and answer.bound is not None
    value = value_of(problem, answer.placement)
    assert value_of(problem, request.start) - 1e-9 <= value <= answer.bound + 1e-6


def test_without_options() -> None:
    """An option is refused by name."""
    with pytest.raises(UsageError, match="'cuts'"):
        solve(_hard(), Request(options={"cuts": "on"}), Budget(), lambda _event: None)


def test_it_ends_at_the_gap() -> None:
    """A gap that the start meets ends it with the start."""
    problem = _hard()
    request = request_of(problem)
    answer = solve(problem, replace(request, gap=0.9), Budget(), lambda _event: None)
    assert answer.placement == request.start
    assert answer.stop_reason == "gap_limit"


def test_drawn_columns_are_placements() -> None:
    """Columns at noisy prices, and those of sequences, fit into what they were drawn for and are worth what they say;
    equal seeds draw equal columns."""
    for seed in range(40):
        problem = compile_problem(random_instance(23_000 + seed, max_jobs=6))
        request = request_of(problem)
        relaxation = request.relaxation
        if relaxation is None or relaxation.certificate is None or len(problem.open_jobs) == 0:
            continue
        groups, jobs = group_jobs(problem), problem.open_jobs.tolist()
        drawn = []
        for _ in range(2):
            nearby = Nearby(problem, groups, relaxation.certificate, seed=7)
            room = State.empty(problem)
            found = nearby.draw(3, Budget()) + nearby.sequences(2, jobs, room, Budget())
            assert np.array_equal(room.free, problem.free)
            for column in found:
                first = int(groups.first[column.group])
                assert fits(problem, problem.kind(first), column.counts, problem.free, problem.uplink_free)
                assert column.utility == pytest.approx(utility(problem, first, column.counts), abs=1e-9)
            drawn.append([(column.group, column.counts) for column in found])
        assert drawn[0] == drawn[1]


def test_what_loses_too_much_is_in_no_better_placement() -> None:
    """A column that loses more than bound − optimum at the bound's prices is not in the optimum of enumeration."""
    checked = 0
    for seed in range(80):
        instance = random_instance(24_000 + seed, max_jobs=6)
        problem = compile_problem(instance)
        best, where = optimum(instance)
        request = request_of(problem)
        relaxation = request.relaxation
        if best is None or not where or request.bound is None or relaxation is None or relaxation.certificate is None:
            continue
        groups = group_jobs(problem)
        losses = Losses(problem, groups, relaxation.certificate)
        index, names = problem.node_index, {name: j for j, name in enumerate(problem.job_names)}
        for name, nodes in where.items():
            j = names[name]
            if j in problem.pinned:
                continue
            counts = {index[n]: x for n, x in nodes.items()}
            column = make_column(problem, groups, int(groups.of_job[j]), utility(problem, j, counts), counts)
            (loss,) = losses.of([column])
            assert -1e-9 <= loss <= relaxation.value - best + 1e-6, (seed, name)
            checked += 1
    assert checked > 50


def test_a_dive_never_loses() -> None:
    """Every placement that a dive offers is feasible and keeps the jobs that must run."""
    for seed in range(8):
        problem = compile_problem(random_instance(25_000 + seed, max_jobs=6))
        request = request_of(problem)
        relaxation, start = request.relaxation, request.start
        if relaxation is None or relaxation.certificate is None or start is None or len(problem.open_jobs) == 0:
            continue
        groups = group_jobs(problem)
        nearby = Nearby(problem, groups, relaxation.certificate, seed)
        diver = Diver(problem, groups, nearby, Losses(problem, groups, relaxation.certificate), seed)
        best = [value_of(problem, start)]

        def offer(placement: Placement, problem: Problem = problem, best: list[float] = best) -> bool:
            value = value_of(problem, placement)
            if value <= best[-1] + 1e-9:
                return False
            best.append(value)
            return True

        found = diver.dive(start, list(relaxation.columns), Budget(), offer, lambda: np.inf)
        assert found.improved == (len(best) > 1)
