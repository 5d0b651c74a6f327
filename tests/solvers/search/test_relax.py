"""Columns of a part: right, enough, and bounded."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.problem import Placement, Problem, compile_problem, utility
from crop_cli.solvers.columns.integer import best_of_columns
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.oracle import fits
from crop_cli.solvers.search.part import cut_out
from crop_cli.solvers.search.relax import Candidates, candidates
from crop_cli.solvers.state import State
from tests.bruteforce import optimum
from tests.solvers.columns.samples import Looks
from tests.tiny import random_instance


def _whole(seed: int) -> tuple[Problem, Placement] | None:
    """A problem as a part of itself, and the greedy's placement of it."""
    problem = compile_problem(random_instance(seed, max_jobs=6))
    start = greedy(problem, Request(), Budget(), lambda _event: None).placement
    if start is None or len(problem.open_jobs) == 0:
        return None
    jobs = problem.open_jobs.tolist()
    return cut_out(problem, np.arange(problem.n_nodes), jobs, State.empty(problem)).problem, start


def _found(part: Problem, start: Placement) -> Candidates:
    found = candidates(part, start, None, Budget())
    assert found is not None
    return found


@pytest.mark.parametrize("block", range(4))
def test_columns_are_placements_and_the_bound_holds(block: int) -> None:
    """Every column fits and is worth what it says; the value is at least that of the best choice, which is no worse
    than the start and no better than the enumerated optimum."""
    for seed in range(block * 40, block * 40 + 40):
        sample = _whole(32_000 + seed)
        if sample is None:
            continue
        part, start = sample
        found = _found(part, start)
        for column in found.columns:
            job = int(found.groups.first[column.group])
            assert fits(part, part.kind(job), column.counts, part.free, part.uplink_free)
            assert column.utility == pytest.approx(utility(part, job, column.counts), abs=1e-9)
        jobs = part.open_jobs.tolist()
        best = best_of_columns(part, found.groups, found.columns, jobs, part.free, part.uplink_free)
        assert best is not None
        value = sum(utility(part, job, counts) for job, counts in best.items())
        held = sum(utility(part, job, counts) for job, counts in start.items())
        true, _ = optimum(part.instance)
        assert true is not None
        pinned = compile_problem(part.instance).pinned_value
        slack = 1e-6 * max(1.0, abs(true))
        assert held - slack <= value <= true - pinned + slack
        assert value <= found.value + slack


def test_a_budget_that_ends_gives_nothing() -> None:
    """At whatever look the budget ends, there are all candidates or none."""
    sample = _whole(32_003)
    assert sample is not None
    part, start = sample
    ends = [candidates(part, start, None, Looks(looks)) for looks in range(60)]
    assert ends[0] is None
    assert ends[-1] is not None
