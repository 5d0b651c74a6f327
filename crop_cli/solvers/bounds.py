"""Upper bounds of F that hold for any placement: the closed-form dual value (model.md, section 8).

The dual value (`crop_cli.solvers.dual`) is an upper bound at any prices. Two bounds are cheap:

1. one price per GPU, every job taken at its best conceivable performance: a fractional knapsack, no oracle;
2. one price per GPU, every job at its best place in the empty cluster: a fractional knapsack on oracle values.

A price per GPU cancels out of the best place when it is the same everywhere, so these are exact minima over that one
price. Column generation (`crop_cli.solvers.columns`) goes on from there. docs/guarantees.md proves the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Placement, Problem
from crop_cli.solvers.contract import Budget, Listener
from crop_cli.solvers.dual import dual_value, knapsack_value
from crop_cli.solvers.oracle import Prices, best_values

if TYPE_CHECKING:
    from crop_cli.solvers.columns.bound import ColumnBound

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEAST_GAP = 1e-7
"""Relative gap at which a bound meets its target whatever gap is asked for."""

EFFORT = 2_000.0
"""Default work of column generation, about milliseconds: two seconds at most, a tenth of one on a few nodes."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An upper bound of F.

    Attributes
    ----------
    value
        The bound, pinned jobs included.
    infeasible
        Proven: the jobs that must be placed cannot all be.
    prices
        Prices of nodes and uplinks that certify the value: `certified` recomputes it. None for a bound without an
        oracle.
    relaxation
        All that column generation ended with; None if it did not run.
    """

    value: float
    infeasible: bool = False
    prices: Prices | None = None
    relaxation: ColumnBound | None = None


def upper_bound(
    problem: Problem,
    budget: Budget,
    *,
    target: float | None = None,
    gap: float = 0.0,
    start: Placement | None = None,
    effort: float | None = EFFORT,
    listen: Listener = lambda _event: None,
) -> Bound:
    """Best of the bounds within the time allowed.

    Parameters
    ----------
    problem
        The compiled instance.
    budget
        The run's budget; when it is used up only the first bound is computed.
    target, gap
        F of the incumbent, if there is one, and the gap to it that is small enough: there the search for prices ends.
    start
        The incumbent, for its columns.
    effort
        Work of column generation, in about milliseconds; None for no limit, 0 for the cheap bounds 1 and 2 alone. Not
        seconds, so that the same input gives the same bound as long as the budget lasts.
    listen
        Told of every bound that column generation finds.
    """
    jobs = problem.open_jobs
    ceiling = _ceilings(problem, jobs)
    best = _single_price(problem, jobs, ceiling)
    if best.infeasible or budget.should_stop or not len(jobs):
        return best
    values = best_values(problem, jobs, problem.free, problem.uplink_free)
    if np.isneginf(values[problem.must_place[jobs]]).any():
        return Bound(-np.inf, infeasible=True)
    better = _single_price(problem, jobs, np.minimum(values, ceiling))
    if better.value <= best.value:
        best = better
    if best.infeasible or effort == 0 or (target is not None and meets(best.value, target, gap)):
        return best
    from crop_cli.solvers.columns.bound import column_bound  # noqa: PLC0415 (it builds on this module)

    found = column_bound(
        problem,
        budget,
        bound=best,
        start=start,
        target=target,
        gap=max(gap, LEAST_GAP),
        effort=effort,
        listen=listen,
    )
    return Bound(found.value, found.infeasible, found.certificate, found)


def _ceilings(problem: Problem, jobs: IntArray) -> FloatArray:
    """w·k·(best efficiency that the cluster's hardware and links can produce): no job does better; −inf if none."""
    by_kind = np.array(
        [kind.weight * kind.k * kind.levels.efficiency[0] if len(kind.levels) else -np.inf for kind in problem.kinds],
        dtype=np.float64,
    )
    ceilings: FloatArray = by_kind[problem.kind_of[jobs]]
    return ceilings


def _single_price(problem: Problem, jobs: IntArray, values: FloatArray) -> Bound:
    """Least dual value over one price λ ≥ 0 per GPU: λ·G + Σ max(0, U_j − λ·k_j), piecewise linear and convex in λ."""
    must = problem.must_place[jobs]
    if np.isneginf(values[must]).any():
        return Bound(-np.inf, infeasible=True)
    sizes = np.array([problem.kind(j).k for j in jobs], dtype=np.float64)
    gpus = float(problem.free_gpus.sum())
    if sizes[must].sum() > gpus:
        return Bound(-np.inf, infeasible=True)
    optional = ~must & (values > 0)
    order = np.argsort(-(values[optional] / sizes[optional]), kind="stable")
    value, size = values[optional][order], sizes[optional][order]
    room = gpus - sizes[must].sum()
    taken = np.cumsum(size)
    # The minimum is at the density of the first job that no longer fits: everything denser is paid in full.
    full = int(np.searchsorted(taken, room, side="right"))
    price = value[full] / size[full] if full < len(value) else 0.0
    node = np.zeros_like(problem.free)
    node[:, 0] = price
    prices = Prices(node=node, uplink=np.zeros(problem.tree.n_vertices))
    # With whole jobs instead of a part of one: the same price taken off again, and a knapsack in its place.
    free = Prices(node=np.zeros_like(problem.free), uplink=prices.uplink)
    fractional = dual_value(problem, prices, values - price * sizes, jobs)
    whole = knapsack_value(problem, free, values, jobs)
    return Bound(min(fractional, whole), prices=prices)


def meets(bound: float | None, value: float, gap: float) -> bool:
    """Whether a bound is within a relative gap of F, or within `LEAST_GAP`."""
    return bound is not None and bound - value <= max(gap, LEAST_GAP) * abs(value)
