"""Upper bounds of F that hold for any placement: the closed-form dual value (model.md, section 8).

For prices π, μ ≥ 0 the value Σ π·free + Σ μ·bandwidth + Σ_j max(0, best value of j at these prices) is an upper bound
(without the max for a job that must be placed). Three price heuristics, each at least as tight as the one before:

1. one price per GPU, every job taken at its best conceivable performance: a fractional knapsack, no oracle;
2. one price per GPU, every job at its best place in the empty cluster: a fractional knapsack on oracle values;
3. prices per class of nodes and of uplinks, moved along subgradients towards the incumbent.

A price per GPU cancels out of the best place when it is the same everywhere, so 1 and 2 are exact minima over that one
price. docs/guarantees.md proves the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts, Problem, reserved_gbps
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placement, best_values

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SAFETY = 1e-9
"""Relative amount added to every bound, well above what rounding in a sum of doubles can take off."""

CAPACITY_TOLERANCE = 1e-6
"""The evaluator lets a load exceed a capacity by this much of max(1, capacity); bounds must cover such placements."""


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
        Prices of nodes and uplinks that certify the value; None for the bound without an oracle.
    """

    value: float
    infeasible: bool = False
    prices: Prices | None = None


def upper_bound(problem: Problem, budget: Budget, *, target: float | None = None, effort_s: float = 0.25) -> Bound:
    """Best of the three bounds within the time allowed.

    Parameters
    ----------
    problem
        The compiled instance.
    budget
        The run's budget; when it is used up only the first bound is computed.
    target
        F of the incumbent: prices stop moving when the bound meets it.
    effort_s
        Seconds that moving prices may take, on top of the first two bounds.
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
    if best.infeasible or target is None or _meets(best.value, target):
        return best
    return _move_prices(problem, jobs[np.isfinite(values)], best, target, budget, budget.elapsed + effort_s)


def dual_value(problem: Problem, prices: Prices, job_values: FloatArray, jobs: IntArray) -> float:
    """The closed form, from prices and each job's best value at them (same order as `jobs`).

    Infinite when an unlimited uplink has a price: what it sells has no end.
    """
    if prices.uplink[np.isinf(problem.uplink_free)].any():
        return np.inf
    capacity_slack = CAPACITY_TOLERANCE * np.maximum(1.0, problem.capacity)
    capacity_slack[:, 0] = 0.0  # whole GPUs cannot exceed by a fraction
    finite = np.isfinite(problem.uplink_free)
    bandwidth = problem.uplink_free[finite]
    bandwidth = bandwidth + CAPACITY_TOLERANCE * np.maximum(
        1.0, problem.instance.cluster.oversubscription * problem.tree.uplink_gbps[finite]
    )
    resources = float((prices.node * (problem.free + capacity_slack)).sum())
    links = float((prices.uplink[finite] * bandwidth).sum())
    gains = np.where(problem.must_place[jobs], job_values, np.maximum(0.0, job_values))
    value = problem.pinned_value + resources + links + float(gains.sum())
    return value + SAFETY * max(1.0, abs(value))


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
    return Bound(dual_value(problem, prices, values - price * sizes, jobs), prices=prices)


def _meets(bound: float, target: float) -> bool:
    return bound - target <= 1e-7 * max(1.0, abs(target))


@dataclass(frozen=True, slots=True)
class _Demand:
    """Best values of jobs at some prices, and what their best placements would take of every class."""

    values: FloatArray
    node: FloatArray
    uplink: FloatArray


def _move_prices(problem: Problem, jobs: IntArray, start: Bound, target: float, budget: Budget, until: float) -> Bound:
    """Subgradient steps of Polyak length on prices shared by all nodes (uplinks) of one class."""
    assert start.prices is not None
    node_class, uplink_class = _classes(problem)
    n_node, n_uplink = int(node_class.max()) + 1, int(uplink_class.max()) + 1
    supply_node = _sum_by(node_class, problem.free, n_node)
    finite = np.where(np.isfinite(problem.uplink_free), problem.uplink_free, 0.0)
    supply_uplink = _sum_by(uplink_class, finite, n_uplink)
    limited = _sum_by(uplink_class, np.isfinite(problem.uplink_free).astype(np.float64), n_uplink) > 0
    node_price = _mean_by(node_class, start.prices.node, n_node)
    uplink_price = np.zeros(n_uplink)
    best, pace, since_better = start, 1.0, 0
    while budget.elapsed < until and not budget.should_stop and pace > 1e-3:
        prices = Prices(node=node_price[node_class], uplink=uplink_price[uplink_class])
        demand = _demand(problem, jobs, prices, budget, until)
        if demand is None:
            break
        value = dual_value(problem, prices, demand.values, jobs)
        if value < best.value - 1e-12 * abs(best.value):
            best, since_better = Bound(value, prices=prices), 0
            if _meets(value, target):
                break
        else:
            since_better += 1
            if since_better >= 8:
                pace, since_better = pace / 2, 0
        over_node = _sum_by(node_class, demand.node, n_node) - supply_node
        over_uplink = np.where(limited, _sum_by(uplink_class, demand.uplink, n_uplink) - supply_uplink, 0.0)
        # A price at 0 whose class is not asked for cannot fall further.
        over_node = np.where((node_price <= 0) & (over_node < 0), 0.0, over_node)
        over_uplink = np.where((uplink_price <= 0) & (over_uplink < 0), 0.0, over_uplink)
        norm = float((over_node**2).sum() + (over_uplink**2).sum())
        if norm <= 0.0:
            break
        step = pace * max(value - target, 1e-9 * abs(value)) / norm
        node_price = np.maximum(0.0, node_price + step * over_node)
        uplink_price = np.maximum(0.0, uplink_price + step * over_uplink)
    return best


def _demand(problem: Problem, jobs: IntArray, prices: Prices, budget: Budget, until: float) -> _Demand | None:
    """Oracle answers of all jobs; jobs of one kind share one unless they run somewhere now. None when time is up."""
    values = np.empty(len(jobs))
    node = np.zeros_like(problem.free)
    uplink = np.zeros(problem.tree.n_vertices)
    shared: dict[int, tuple[float, Counts]] = {}
    for i, job in enumerate(jobs.tolist()):
        kind = int(problem.kind_of[job])
        if kind in shared and job not in problem.current:
            value, counts = shared[kind]
        else:
            if budget.should_stop or budget.elapsed > until:
                return None
            best = best_placement(problem, job, problem.free, problem.uplink_free, prices)
            value, counts = (-np.inf, {}) if best is None else (best.value, best.counts)
            if job not in problem.current:
                shared[kind] = (value, counts)
        values[i] = value
        if counts and (value > 0 or problem.must_place[job]):
            nodes = list(counts)
            node[nodes] += np.array(list(counts.values()))[:, None] * problem.kinds[kind].demand
            vertices, rates = reserved_gbps(problem, job, counts)
            uplink[vertices] += rates
    return _Demand(values, node, uplink)


def _classes(problem: Problem) -> tuple[IntArray, IntArray]:
    """Nodes alike in all their data and in the bandwidths above them; uplinks alike in depth and free bandwidth."""
    tree = problem.tree
    chain = [tree.node_vertex + np.arange(problem.n_nodes)]
    while tree.depth[chain[-1][0]] > 1:
        chain.append(tree.parent[chain[-1]])
    rows = np.column_stack(
        [problem.free, problem.hardware_of, problem.failures, *(problem.uplink_free[vertices] for vertices in chain)]
    )
    node_class = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    uplink_rows = np.column_stack([tree.depth, problem.uplink_free])
    uplink_class = np.unique(uplink_rows, axis=0, return_inverse=True)[1].ravel()
    return node_class.astype(np.int64), uplink_class.astype(np.int64)


def _sum_by(classes: IntArray, values: FloatArray, count: int) -> FloatArray:
    total = np.zeros((count, *values.shape[1:]))
    np.add.at(total, classes, values)
    return total


def _mean_by(classes: IntArray, values: FloatArray, count: int) -> FloatArray:
    size = np.bincount(classes, minlength=count).astype(np.float64)
    mean: FloatArray = _sum_by(classes, values, count) / size.reshape(-1, *([1] * (values.ndim - 1)))
    return mean
