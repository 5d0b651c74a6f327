"""Integer programs in this process: right, bounded, stopped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from crop_cli.solvers.columns.program import minimise, solve_here
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.exact.sparse_model import SparseModel


def _random(seed: int, n: int = 6, rows: int = 4) -> SparseModel:
    """A packing program with small whole bounds."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 4, (rows, n)).astype(np.float64)
    return SparseModel(
        cost=-rng.uniform(0.1, 5.0, n),
        upper=rng.integers(1, 3, n).astype(np.int64),
        matrix=csr_array(matrix),
        row_lower=np.full(rows, -np.inf),
        row_upper=rng.integers(2, 9, rows).astype(np.float64),
        integral_row=np.ones(rows, dtype=np.bool_),
        start=None,
    )


def _least(model: SparseModel) -> float:
    """Optimum by enumeration."""
    ranges = [range(int(u) + 1) for u in model.upper]
    points = np.array(list(itertools.product(*ranges)))
    load = (model.matrix @ points.T).T
    inside = (load <= model.row_upper + 1e-9).all(axis=1)
    return float((points[inside] @ model.cost).min())


def test_point_and_bound_are_right() -> None:
    """Solved to the end, the cost of the point is the enumerated optimum, and the bound is at most that."""
    for seed in range(60):
        model, best = _random(seed), _least(_random(seed))
        found = solve_here(model, nodes=1_000)
        assert found.x is not None and found.bound is not None
        assert float(model.cost @ found.x) == pytest.approx(best, abs=1e-6)
        assert best - 1e-4 <= found.bound <= best + 1e-9
        assert (model.matrix @ found.x <= model.row_upper + 1e-9).all()


@pytest.mark.parametrize("questions", [1, 2, 5])
def test_stopped_early_the_bound_still_holds(questions: int) -> None:
    """However soon HiGHS is told to stop, its bound is at most the optimum and its point, if any, within the rows."""
    for seed in range(20):
        model = _random(seed, n=9, rows=6)
        found = solve_here(model, nodes=1, questions=questions)
        best = _least(model)
        if found.bound is not None:
            assert found.bound <= best + 1e-9
        if found.x is not None:
            assert float(model.cost @ found.x) >= best - 1e-6
            assert (model.matrix @ found.x <= model.row_upper + 1e-9).all()


def test_only_points_above_a_limit_count() -> None:
    """With `above` just below the optimum a point comes back, with one above it none does."""
    for seed in range(20):
        model, best = _random(seed), _least(_random(seed))
        assert solve_here(model, nodes=1_000, above=-best - 1e-3).x is not None
        assert solve_here(model, nodes=1_000, above=-best + 1e-3).x is None


def test_enough_ends_it() -> None:
    """A point of at least what is enough comes back; it need not be the best."""
    for seed in range(20):
        model, best = _random(seed, n=9), _least(_random(seed, n=9))
        found = solve_here(model, nodes=1_000, enough=-0.5 * best)
        assert found.x is not None
        assert float(model.cost @ found.x) <= 0.5 * best + 1e-9


def test_a_used_up_budget_gives_nothing() -> None:
    """Neither point nor bound without time."""
    budget = Budget()
    budget.interrupt()
    assert solve_here(_random(0), nodes=10, budget=budget) == minimise(_random(0), budget, nodes=10)
    assert solve_here(_random(0), nodes=10, budget=budget).x is None
