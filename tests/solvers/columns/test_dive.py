"""Diving from a placement."""

from __future__ import annotations

import itertools

import numpy as np

from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import Placement, Problem, compile_problem, named
from crop_cli.solvers.columns.column import group_jobs
from crop_cli.solvers.columns.dive import Dived, Diver
from crop_cli.solvers.columns.losses import Losses
from crop_cli.solvers.columns.nearby import Nearby
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices
from tests.bruteforce import optimum
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance


def dive(problem: Problem, start: Placement, budget: Budget, slack: float = np.inf) -> tuple[Dived, list[Placement]]:
    """A dive without known columns, and what it offered."""
    groups = group_jobs(problem)
    zero = Prices(np.zeros_like(problem.free), np.zeros(problem.tree.n_vertices))
    diver = Diver(problem, groups, Nearby(problem, groups, zero, 5), Losses(problem, groups, zero), 5)
    offered: list[Placement] = []

    def offer(placement: Placement) -> bool:
        offered.append(placement)
        return True

    return diver.dive(start, [], budget, offer, lambda: slack), offered


def mixed() -> tuple[Problem, Placement]:
    """Two racks, badly filled: the required job is across both, the job of 8 waits."""
    jobs = [job("r", 4, required=True, message_mb=4000.0), job("a", 8), job("b", 3), job("c", 5)]
    problem = problem_of(racks([[8, 4], [8, 2]], jobs))
    names = problem.node_index
    return problem, {0: {names["n0-0"]: 2, names["n1-0"]: 2}, 2: {names["n0-0"]: 3}}


def test_offers_are_ever_better_and_keep_what_must_run() -> None:
    """Every offer is feasible, runs the required jobs, is worth more than the last; the end is the optimum."""
    problem, start = mixed()
    found, offered = dive(problem, start, Budget())
    values = []
    for placement in [start, *offered]:
        judged = evaluate(problem.instance, named(problem, placement))
        assert judged.violations == [] and 0 in placement
        values.append(judged.objective)
    assert found.improved and len(values) > 1
    assert all(a < b for a, b in itertools.pairwise(values))
    best, _ = optimum(problem.instance)
    assert best is not None and abs(values[-1] - best) < 1e-6


def test_nothing_is_better_than_the_optimum() -> None:
    """From the enumerated optimum a dive offers nothing, whatever features the instance has."""
    began = 0
    for seed in range(12):
        instance = random_instance(30_000 + seed, max_jobs=5)
        problem = compile_problem(instance)
        _, where = optimum(instance)
        start = {
            j: {problem.node_index[n]: x for n, x in where[problem.job_names[j]].items()}
            for j in problem.open_jobs.tolist()
            if problem.job_names[j] in where
        }
        if not start:
            continue
        began += 1
        found, offered = dive(problem, start, Budget())
        assert not found.improved and offered == [], seed
    assert began > 5


def test_it_ends_when_told() -> None:
    """Without time or without anything to gain it does nothing; cut short at any look, what it offers is feasible."""
    problem, start = mixed()
    assert dive(problem, start, Looks(0)) == (Dived(False, []), [])
    assert dive(problem, start, Budget(), slack=0.0) == (Dived(False, []), [])
    for looks in (1, 4, 9, 20):
        _, offered = dive(problem, start, Looks(looks))
        for placement in offered:
            assert evaluate(problem.instance, named(problem, placement)).violations == []


def test_equal_dives_are_equal() -> None:
    """The same seed offers the same placements."""
    problem, start = mixed()
    assert dive(problem, start, Budget())[1] == dive(problem, start, Budget())[1]
