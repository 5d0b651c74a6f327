"""Small mixed-integer programs with known answers, and hard ones without."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from crop_cli.solvers.exact.sparse_model import IntArray, SparseModel

INF = float("inf")


def program(
    cost: Sequence[float],
    upper: Sequence[int],
    rows: ArrayLike = (),
    lower: Sequence[float] = (),
    bounds: Sequence[float] = (),
    *,
    integral: bool = True,
    start: Sequence[int] | None = None,
) -> SparseModel:
    """A model from plain lists; `bounds` are the rows' upper bounds."""
    m, n = len(lower), len(cost)
    return SparseModel(
        cost=np.array(cost, dtype=np.float64),
        upper=np.array(upper, dtype=np.int64),
        matrix=csr_array(np.array(rows, dtype=np.float64).reshape(m, n)),
        row_lower=np.array(lower, dtype=np.float64),
        row_upper=np.array(bounds, dtype=np.float64),
        integral_row=np.full(m, integral),
        start=None if start is None else np.array(start, dtype=np.int64),
    )


def minimum(model: SparseModel) -> float | None:
    """Least cost by full enumeration; None when no point is feasible."""
    points = np.array(list(itertools.product(*(range(u + 1) for u in model.upper.tolist()))), dtype=np.float64)
    activity = points @ model.matrix.toarray().T
    slack = 1e-9 * np.maximum(1.0, np.abs(activity))
    feasible = ((activity >= model.row_lower - slack) & (activity <= model.row_upper + slack)).all(axis=1)
    return float((points[feasible] @ model.cost).min()) if feasible.any() else None


def knapsacks(items: int, sacks: int, seed: int, start: bool = False) -> SparseModel:
    """Several capacities with two decimals, values with many; 0 to 2 of each item."""
    random = np.random.default_rng(seed)
    weights = np.round(random.uniform(1, 9, (sacks, items)), 2)
    return SparseModel(
        cost=-random.uniform(1, 9, items),
        upper=np.full(items, 2, dtype=np.int64),
        matrix=csr_array(weights),
        row_lower=np.full(sacks, -INF),
        row_upper=weights.sum(axis=1) / 3,
        integral_row=np.zeros(sacks, dtype=bool),
        start=np.zeros(items, dtype=np.int64) if start else None,
    )


def rates(seed: int) -> SparseModel:
    """Capacities with coefficients of many decimals, as bandwidths have."""
    random = np.random.default_rng(seed)
    weights = random.uniform(0.01, 60, (3, 8)) * (random.random((3, 8)) < 0.7)
    return SparseModel(
        cost=-random.uniform(0.5, 2, 8),
        upper=np.full(8, 2, dtype=np.int64),
        matrix=csr_array(weights),
        row_lower=np.full(3, -INF),
        row_upper=weights.sum(axis=1) * 0.7,
        integral_row=np.zeros(3, dtype=bool),
        start=None,
    )


def assignment(size: int, seed: int) -> SparseModel:
    """Each of `size` things to one of `size` places."""
    random = np.random.default_rng(seed)
    ones = np.ones((1, size))
    rows = np.vstack([np.kron(np.eye(size), ones), np.kron(ones, np.eye(size))])
    return program(random.integers(1, 30, size * size).tolist(), [1] * size**2, rows, [1] * 2 * size, [1] * 2 * size)


def market_split(rows: int, start: bool = False) -> SparseModel:
    """Hard from five rows on: split customers so that every product divides evenly, with penalties for missing it."""
    random = np.random.default_rng(1)
    n = 10 * (rows - 1)
    demand = random.integers(0, 100, (rows, n))
    half = (demand.sum(axis=1) // 2).astype(np.float64)
    miss = np.kron(np.eye(rows), np.array([1.0, -1.0]))
    model = SparseModel(
        cost=np.concatenate([np.full(n, -0.37), np.ones(2 * rows)]),
        upper=np.concatenate([np.ones(n), np.full(2 * rows, 10_000)]).astype(np.int64),
        matrix=csr_array(np.hstack([demand, miss])),
        row_lower=half,
        row_upper=half.copy(),
        integral_row=np.ones(rows, dtype=bool),
        start=None,
    )
    point = np.concatenate([np.zeros(n), np.kron(half, np.array([1.0, 0.0]))]).astype(np.int64)
    return replace(model, start=point) if start else model


def random_program(seed: int) -> SparseModel:
    """Up to 8 variables and 5 rows of every sort, feasible or not, with a start in about half of the feasible ones."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 9)), int(random.integers(0, 6))
    upper = random.integers(0, 4 if n < 7 else 3, n)
    inside = random.integers(0, upper + 1)
    cost = [
        random.integers(-9, 10, n).astype(float),
        np.round(random.normal(0, 5, n), 3),
        random.normal(0, 10.0 ** random.integers(-3, 5), n),
        np.zeros(n),
    ][int(random.integers(4))]
    matrix, integral = np.zeros((m, n)), np.ones(m, dtype=bool)
    lower, higher = np.full(m, -INF), np.full(m, INF)
    for i in range(m):
        used = random.random(n) < random.choice([0.3, 0.7, 1.0])
        sort = int(random.integers(4))
        if sort == 0:
            integral[i] = False
            decimals = int(random.choice([1, 2, 12]))
            matrix[i] = np.where(used, np.round(random.uniform(0.1, 8, n), decimals), 0)
            higher[i] = matrix[i] @ inside * random.choice([1 + 5e-7, 1.3, 0.8])
            continue
        matrix[i] = np.where(used, random.integers(-5, 6, n), 0)
        value, width = matrix[i] @ inside, int(random.integers(4))
        if sort == 1:
            lower[i] = higher[i] = value + (width if random.random() < 0.15 else 0)
        elif sort == 2:
            lower[i], higher[i] = value - width, value + width
        elif random.random() < 0.5:
            higher[i] = value
        else:
            lower[i] = value
    model = SparseModel(cost, upper, csr_array(matrix), lower, higher, integral, None)
    activity = matrix @ inside
    fits = bool(((activity >= lower) & (activity <= higher)).all())
    return replace(model, start=inside) if fits and random.random() < 0.5 else model


def point_cost(model: SparseModel, x: IntArray) -> float:
    """cost·x, written out."""
    return float(sum(c * v for c, v in zip(model.cost.tolist(), x.tolist(), strict=True)))
