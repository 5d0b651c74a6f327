"""The bound that knows that jobs are whole and domains finite."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crop_cli.model.problem import compile_problem
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.columns.assignment import assignment
from crop_cli.solvers.columns.bound import column_bound
from crop_cli.solvers.columns.column import group_jobs
from crop_cli.solvers.columns.program import solve_here
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.dual import knapsack_value, lowered
from crop_cli.solvers.oracle import Prices, best_values
from tests.bruteforce import optimum
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance

SIZES = [{}, {"min_levels": 3, "max_levels": 3, "max_nodes": 6}, {"max_jobs": 6}]


@pytest.mark.parametrize("block", range(6))
def test_the_bound_is_never_below_the_optimum(block: int) -> None:
    """At arbitrary prices and at those of the LP, the solved program bounds the enumerated optimum from above."""
    compared = 0
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(20_000 + seed, **SIZES[seed % len(SIZES)])
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        if best is None or len(problem.open_jobs) == 0:
            continue
        rng = np.random.default_rng(seed)
        arbitrary = Prices(
            node=rng.uniform(0, 1.2, problem.free.shape) * (rng.random(problem.free.shape) < 0.7),
            uplink=rng.uniform(0, 0.3, problem.tree.n_vertices) * np.isfinite(problem.uplink_free),
        )
        found = column_bound(problem, Budget()).certificate
        for prices in filter(None, (arbitrary, found)):
            program = assignment(problem, group_jobs(problem), prices, Budget())
            if program is None:
                continue
            solved = solve_here(program.model, nodes=1_000)
            assert solved.bound is not None, seed
            assert program.bound(solved.bound) >= best - 1e-9 * max(1.0, abs(best)), (seed, best)
            compared += 1
    assert compared > 40


def test_jobs_of_eight_do_not_fill_racks_of_nineteen() -> None:
    """Two racks with 19 free GPUs each hold two jobs of 8 each; the knapsack over all 38 GPUs would take four and a bit
    of a fifth job's place for others, and counts more."""
    jobs = [job(f"e{i}", 8, within="rack", message_mb=0.0) for i in range(6)]
    problem = problem_of(racks([[8, 8, 3], [8, 8, 3]], jobs))
    zero = Prices(node=np.zeros_like(problem.free), uplink=np.zeros(problem.tree.n_vertices))
    values = best_values(problem, problem.open_jobs, problem.free, problem.uplink_free, zero)
    program = assignment(problem, group_jobs(problem), zero, Budget())
    assert program is not None
    solved = solve_here(program.model, nodes=100)
    assert solved.bound is not None
    assert program.bound(solved.bound) == pytest.approx(32.0, abs=0.1)
    small = problem_of(racks([[8, 8, 7], [8, 8, 7]], jobs))
    values = best_values(small, small.open_jobs, small.free, small.uplink_free, zero)
    assert knapsack_value(small, zero, values, small.open_jobs) == pytest.approx(40.0, abs=0.1)
    program = assignment(small, group_jobs(small), zero, Budget())
    assert program is not None
    solved = solve_here(program.model, nodes=100)
    assert solved.bound is not None
    assert program.bound(solved.bound) == pytest.approx(32.0, abs=0.1)


def test_at_lowered_prices_it_is_no_worse_than_the_knapsack() -> None:
    """With one vertex it is the knapsack, with more it knows more."""
    for seed in range(40):
        instance = random_instance(21_000 + seed, max_jobs=6)
        problem = compile_problem(instance)
        bound = upper_bound(problem, Budget())
        if bound.infeasible or bound.prices is None or len(problem.open_jobs) == 0:
            continue
        jobs = problem.open_jobs
        values = best_values(problem, jobs, problem.free, problem.uplink_free, bound.prices)
        prices, values = lowered(problem, bound.prices, values, jobs)
        program = assignment(problem, group_jobs(problem), prices, Budget())
        if program is None:
            continue
        solved = solve_here(program.model, nodes=1_000)
        assert solved.bound is not None
        whole = knapsack_value(problem, prices, values, jobs)
        assert program.bound(solved.bound) <= whole + 1e-6 * max(1.0, abs(whole)), seed


def test_no_program_without_time() -> None:
    """A budget that ends before the oracle answered leaves no program."""
    problem = problem_of(racks([[8, 8], [4]], [job("a", 4)]))
    zero = Prices(node=np.zeros_like(problem.free), uplink=np.zeros(problem.tree.n_vertices))
    ends = [assignment(problem, group_jobs(problem), zero, Looks(n)) is None for n in range(6)]
    assert ends[0] and not ends[-1]
    assert all(a >= b for a, b in itertools.pairwise(ends))
