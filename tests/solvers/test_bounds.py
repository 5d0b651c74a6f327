"""The bound against enumeration: never below the optimum, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.problem import compile_problem
from crop_cli.solvers.bounds import dual_value, upper_bound
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_values
from tests.bruteforce import optimum
from tests.tiny import random_instance


@pytest.mark.parametrize("block", range(8))
def test_no_bound_is_below_the_optimum(block: int) -> None:
    """On tiny random instances the bound, with column generation or without, is at least the enumerated optimum."""
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        for target, effort in ((None, 0), (None, 20), (best, 2_000)):
            bound = upper_bound(problem, Budget(), target=target, effort=effort)
            if best is None:
                continue
            assert not bound.infeasible, seed
            assert bound.value >= best - 1e-9 * max(1.0, abs(best)), seed


@pytest.mark.parametrize("block", range(4))
def test_any_prices_give_a_bound(block: int) -> None:
    """The closed form is an upper bound for arbitrary prices of nodes, resources and uplinks."""
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        if best is None:
            continue
        rng = np.random.default_rng(seed)
        prices = Prices(
            node=rng.uniform(0, 1.5, problem.free.shape) * (rng.random(problem.free.shape) < 0.7),
            uplink=rng.uniform(0, 0.5, problem.tree.n_vertices) * np.isfinite(problem.uplink_free),
        )
        values = best_values(problem, problem.open_jobs, problem.free, problem.uplink_free, prices)
        assert dual_value(problem, prices, values, problem.open_jobs) >= best - 1e-9 * max(1.0, abs(best)), seed


def test_the_bound_proves_that_required_jobs_do_not_fit() -> None:
    """Infeasibility is claimed only where enumeration finds no placement either."""
    claimed = 0
    for seed in range(400):
        instance = random_instance(seed)
        bound = upper_bound(compile_problem(instance), Budget())
        if bound.infeasible:
            claimed += 1
            assert optimum(instance)[0] is None, seed
    assert claimed > 0


def test_without_time_the_bound_is_still_valid() -> None:
    """An exhausted budget leaves the bound that needs no oracle."""
    for seed in range(60):
        instance = random_instance(seed)
        best, _ = optimum(instance)
        budget = Budget()
        budget.interrupt()
        bound = upper_bound(compile_problem(instance), budget, target=0.0)
        if best is not None:
            assert bound.value >= best - 1e-9 * max(1.0, abs(best)), seed


def test_column_generation_tightens_the_bound() -> None:
    """On instances where one price per GPU is not enough, prices per class bring the bound down."""
    tighter = 0
    for seed in range(60):
        problem = compile_problem(random_instance(seed))
        best, _ = optimum(problem.instance)
        if best is None:
            continue
        plain = upper_bound(problem, Budget(), effort=0)
        moved = upper_bound(problem, Budget(), target=best)
        assert moved.value <= plain.value + 1e-9 * max(1.0, abs(plain.value)), seed
        tighter += moved.value < plain.value - 1e-6
    assert tighter > 0
