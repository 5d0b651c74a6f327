"""The search from instance to answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from crop_cli.errors import UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import Placement, Problem, compile_problem, named, utility
from crop_cli.solvers.auto import run
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.contract import Budget, Event, Request
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.registry import ENGINES
from crop_cli.solvers.search.local import LocalSearch
from crop_cli.solvers.search.solve import solve
from tests.bruteforce import optimum
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance


def value_of(problem: Problem, placement: Placement) -> float:
    """F of a placement, by the evaluator, which must find it feasible."""
    judged = evaluate(problem.instance, named(problem, placement))
    assert judged.violations == []
    return judged.objective


def request_of(problem: Problem) -> Request | None:
    """What the search gets: a placement, a bound, prices."""
    start = greedy(problem, Request(), Budget(), lambda _event: None).placement
    if start is None:
        return None
    bound = upper_bound(problem, Budget(), target=value_of(problem, start), start=start)
    return Request(start=start, bound=bound.value, relaxation=bound.relaxation)


@pytest.mark.parametrize("block", range(6))
def test_never_worse_than_its_start_and_mostly_optimal(block: int) -> None:
    """On tiny instances F is between the start's and the optimum, every event tells the truth, and nearly all reach
    the optimum."""
    ends: Counter[bool] = Counter()
    for seed in range(block * 30, block * 30 + 30):
        instance = random_instance(40_000 + seed, max_jobs=6)
        problem = compile_problem(instance)
        request = request_of(problem)
        if request is None:
            continue
        best, _ = optimum(instance)
        assert best is not None and request.start is not None
        events: list[Event] = []
        answer = solve(problem, request, Budget(), events.append)
        assert answer.placement is not None
        value, slack = value_of(problem, answer.placement), 1e-9 * max(1.0, abs(best))
        assert value_of(problem, request.start) - slack <= value <= best + slack
        for event in events:
            if event.kind == "phase":
                continue
            assert event.value is not None
            if event.kind == "bound":
                assert event.value >= best - slack
            else:
                assert event.value <= value + slack
        assert answer.bound is not None and answer.bound >= best - slack
        ends[value >= best - 1e-6 * max(1.0, abs(best))] += 1
    assert ends[True] >= 0.95 * ends.total()


def _hard() -> Problem:
    """Racks with nodes of uneven room, and jobs that crowd each other."""
    jobs = [job(f"a{i}", k, weight=w) for i, (k, w) in enumerate([(6, 1), (5, 2), (7, 1), (3, 1), (4, 3), (9, 1)] * 4)]
    return problem_of(racks([[8, 5, 3], [7, 4, 2], [6, 6, 1], [8, 2, 5]], jobs))


@pytest.mark.parametrize("looks", [0, 1, 2, 5, 20, 100, 400])
def test_it_may_end_at_any_moment(looks: int) -> None:
    """Stopped at the n-th look at the budget, there is a feasible placement no worse than the start, and a bound."""
    problem = _hard()
    request = request_of(problem)
    assert request is not None and request.start is not None
    answer = solve(problem, request, Looks(looks), lambda _event: None)
    assert answer.placement is not None
    assert value_of(problem, answer.placement) >= value_of(problem, request.start) - 1e-9
    assert answer.bound is not None and answer.bound >= value_of(problem, answer.placement) - 1e-6


def test_the_same_seed_gives_the_same_placement() -> None:
    """Two runs agree, up to the last bit of F."""
    problem = _hard()
    request = request_of(problem)
    assert request is not None
    first, second = (solve(problem, replace(request, seed=3), Budget(), lambda _event: None) for _ in range(2))
    assert first.placement == second.placement
    assert first.bound == second.bound


def test_it_ends_at_the_gap() -> None:
    """With a gap that the start meets already, nothing is tried."""
    problem = _hard()
    request = request_of(problem)
    assert request is not None
    events: list[Event] = []
    answer = solve(problem, replace(request, gap=0.9), Budget(), events.append)
    assert answer.placement == request.start
    assert events == []


def test_books_are_kept() -> None:
    """After many steps the free capacity, the utilities and the jobs of every node are what the placement says."""
    problem = _hard()
    request = request_of(problem)
    assert request is not None and request.start is not None
    search = LocalSearch.of(problem, request.start, request.relaxation, 0, Budget(), lambda _event: None)
    before = search.value
    for _ in range(20):
        assert search.step() >= 0
    board = search.board
    again = type(board).empty(problem)
    again.load(search.placement)
    assert board.state.free == pytest.approx(again.state.free)
    assert board.state.uplink_free == pytest.approx(again.state.uplink_free)
    for j, counts in search.placement.items():
        assert board.utilities[j] == pytest.approx(utility(problem, j, counts))
    for n in range(problem.n_nodes):
        assert search.at[n] == {j for j, counts in search.placement.items() if n in counts}
    assert search.value >= before


def test_without_a_start_it_says_so() -> None:
    """A search from nothing gives nothing, and a reason."""
    answer = solve(_hard(), Request(), Budget(), lambda _event: None)
    assert answer.placement is None
    assert "needs a placement" in answer.notes[0]


def test_it_has_no_options() -> None:
    """An option is refused by name."""
    with pytest.raises(UsageError, match="'speed'"):
        solve(_hard(), Request(options={"speed": "high"}), Budget(), lambda _event: None)


def test_as_an_engine_it_keeps_the_guarantee_of_the_greedy() -> None:
    """`--solver search` starts from the greedy, and its guarantee holds for what is at least as good."""
    problem = problem_of(racks([[8, 8], [8, 8]], [job(f"j{i}", 1 + i % 5, within="node") for i in range(14)]))
    outcome = run(ENGINES["search"], problem, Request(), Budget(20.0), lambda _event: None)
    alone = run(ENGINES["greedy"], problem, Request(), Budget(20.0), lambda _event: None)
    assert outcome.guarantee == alone.guarantee
    assert outcome.evaluation is not None and alone.evaluation is not None
    assert outcome.evaluation.objective >= alone.evaluation.objective
