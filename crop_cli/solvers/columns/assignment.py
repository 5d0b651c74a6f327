"""A bound that knows that jobs are whole: which vertex holds which job, as a small integer program.

For any prices π, μ ≥ 0, call the value of a placement its part of F less what it pays. As in the dual value
(`crop_cli.solvers.dual`) F is at most what all capacity is worth plus the values of the placements. Let v_jd be the
largest value of job j among its placements whose lowest vertex above the nodes that holds all workers is d. Whoever
places j there takes k_j GPUs below d, and below every vertex above d. So

    F ≤ pinned + Σ π·free + Σ μ·bandwidth + max { Σ v_jd·y_jd : Σ_d y_jd ≤ 1, Σ_{e at or below d} Σ_j k_j·y_je ≤ G_d }

over binary y, with G_d the free GPUs below d, and = 1 instead of ≤ 1 for jobs that must be placed. With one vertex, the
root, this is the bound by a knapsack. With racks it knows as well that jobs of 8 do not fill a rack of 53.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import IntArray, Problem
from crop_cli.solvers.columns.column import Groups
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.dual import SAFETY, capacity_terms
from crop_cli.solvers.exact.sparse_model import SparseModel
from crop_cli.solvers.oracle import Prices, best_values_below

MOST_PAIRS = 20_000
"""Groups times vertices above which the program is not made."""


@dataclass(frozen=True)
class Assignment:
    """The program min −Σ v·y, and what F is at most for its optimum.

    Attributes
    ----------
    model
        One variable per pair of a group and a vertex where one of its jobs can be.
    group, vertex
        Of every variable.
    constant
        What all capacity is worth and what pinned jobs add, with a margin above rounding.
    """

    model: SparseModel
    group: IntArray
    vertex: IntArray
    constant: float

    def bound(self, cost: float) -> float:
        """Upper bound of F from a lower bound of the program's cost."""
        return self.constant - cost


def assignment(problem: Problem, groups: Groups, prices: Prices, budget: Budget) -> Assignment | None:
    """The program at given prices; None if it would be large, there is nothing to decide, or the budget ends.

    Parameters
    ----------
    problem, groups
        The compiled instance and its groups.
    prices
        Any prices ≥ 0. Those of the LP without the least price of a GPU let the program decide what GPUs are worth.
    """
    tree = problem.tree
    n_vertices = tree.node_vertex
    terms = capacity_terms(problem, prices)
    if len(groups) * n_vertices > MOST_PAIRS or terms is None:
        return None
    group, vertex, value = [], [], []
    kinds = [problem.kind(job) for job in groups.first.tolist()]
    for depth in range(tree.max_depth):
        apart = [_split_below(kind, depth, tree.max_depth) for kind in kinds]
        for d in range(int(tree.start[depth]), int(tree.start[depth + 1])):
            if budget.should_stop:
                return None
            values = best_values_below(problem, groups.first, apart, prices, d)
            can = np.flatnonzero(np.isfinite(values) & ((values > 0) | (groups.must > 0)))
            group.append(can)
            vertex.append(np.full(len(can), d))
            value.append(values[can])
    of_group, at, worth = np.concatenate(group), np.concatenate(vertex), np.concatenate(value)
    if len(worth) == 0:
        return None
    parts = (problem.pinned_value, *terms)
    model = _model(problem, groups, np.array([kind.k for kind in kinds]), of_group, at, -worth)
    margin = SAFETY * (math.fsum(map(abs, parts)) + float(np.abs(worth).sum()))
    return Assignment(model, of_group, at, math.fsum(parts) + margin)


def _split_below(kind: Kind, depth: int, deepest: int) -> Kind:
    """The kind when no vertex of the next depth may hold all workers; the nodes' parents may have them in one node."""
    if depth == deepest - 1:
        return kind
    allowed = kind.allowed.copy()
    allowed[depth + 1, kind.k] = False
    return replace(kind, allowed=allowed)


def _model(
    problem: Problem,
    groups: Groups,
    sizes: IntArray,
    group: IntArray,
    vertex: IntArray,
    cost: np.typing.NDArray[np.float64],
) -> SparseModel:
    tree, n = problem.tree, len(cost)
    rows, columns, entries = [group], [np.arange(n)], [np.ones(n)]
    at = vertex.copy()
    while (at >= 0).any():
        inside = np.flatnonzero(at >= 0)
        rows.append(len(groups) + at[inside])
        columns.append(inside)
        entries.append(sizes[group[inside]].astype(np.float64))
        at[inside] = tree.parent[at[inside]]
    n_rows = len(groups) + tree.node_vertex
    coordinates = np.concatenate(rows), np.concatenate(columns)
    gpus = tree.sum_below(problem.free_gpus)[: tree.node_vertex]
    return SparseModel(
        cost=cost,
        upper=groups.size[group],
        matrix=csr_array((np.concatenate(entries), coordinates), shape=(n_rows, n)),
        row_lower=np.concatenate([np.where(groups.must > 0, groups.must, -np.inf), np.full(tree.node_vertex, -np.inf)]),
        row_upper=np.concatenate([groups.size, gpus]).astype(np.float64),
        integral_row=np.ones(n_rows, dtype=np.bool_),
        start=None,
    )
