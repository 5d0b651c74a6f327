"""The price-guided greedy."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import best_values
from crop_cli.solvers.search import guided as module
from crop_cli.solvers.search.guided import guided
from tests.bruteforce import optimum
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance


def test_feasible_and_mostly_near_the_optimum() -> None:
    """On tiny instances its placements are feasible and not above the optimum, and 90 % of it on average."""
    shares = []
    for seed in range(120):
        instance = random_instance(45_000 + seed, max_jobs=6)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        bound = upper_bound(problem, Budget())
        if best is None or bound.prices is None or len(problem.open_jobs) == 0:
            continue
        values = np.zeros(problem.n_jobs)
        jobs = problem.open_jobs
        values[jobs] = best_values(problem, jobs, problem.free, problem.uplink_free, bound.prices)
        placement = guided(problem, bound.prices, values, Budget())
        if placement is None:
            continue
        judged = evaluate(instance, named(problem, placement))
        assert judged.violations == []
        assert judged.objective <= best + 1e-9
        if best > 1e-6:
            shares.append(judged.objective / best)
    assert len(shares) > 50
    assert np.mean(shares) > 0.9


def test_prices_break_ties() -> None:
    """Of two nodes that are as good for a job, it takes the one whose GPUs are worth less."""
    problem = problem_of(racks([[8, 8]], [job("a", 4)]))
    bound = upper_bound(problem, Budget())
    assert bound.prices is not None
    for cheap in (0, 1):
        prices = type(bound.prices)(node=bound.prices.node.copy(), uplink=bound.prices.uplink)
        prices.node[:, 0] = 0.5
        prices.node[cheap, 0] = 0.2
        assert guided(problem, prices, np.ones(1), Budget()) == {0: {cheap: 4}}


def test_value_decides_who_comes_first() -> None:
    """Where only one of two jobs fits, the one of larger value gets the place."""
    problem = problem_of(racks([[8]], [job("a", 8), job("b", 8)]))
    bound = upper_bound(problem, Budget())
    assert bound.prices is not None
    for first in (0, 1):
        values = np.where(np.arange(2) == first, 2.0, 1.0)
        assert guided(problem, bound.prices, values, Budget()) == {first: {0: 8}}


def test_too_much_or_no_time_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out on large problems, and when the budget ends on the way."""
    problem = problem_of(racks([[8, 8]], [job("a", 4), job("b", 4)]))
    bound = upper_bound(problem, Budget())
    assert bound.prices is not None
    assert guided(problem, bound.prices, np.ones(2), Looks(1)) is None
    monkeypatch.setattr(module, "MOST", 3)
    assert guided(problem, bound.prices, np.ones(2), Budget()) is None
