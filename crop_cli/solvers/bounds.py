"""Upper bounds of F that hold for any placement: the closed-form dual value (model.md, section 8).

For prices π, μ ≥ 0 the value Σ π·free + Σ μ·bandwidth + Σ_j max(0, best value of j at these prices) is an upper bound
(without the max for a job that must be placed). Four price heuristics, each kept only where it is tighter:

1. one price per GPU, every job taken at its best conceivable performance: a fractional knapsack, no oracle;
2. one price per GPU, every job at its best place in the empty cluster: a fractional knapsack on oracle values;
3. one price per GPU type, found as if no job mixed types, certified by the oracle, which lets jobs mix;
4. prices per class of nodes and of uplinks, moved along subgradients towards the incumbent.

A price per GPU cancels out of the best place when it is the same everywhere, so 1 and 2 are exact minima over that one
price. docs/guarantees.md proves the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_values
from crop_cli.solvers.prices import PricePath, ask, type_prices

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SAFETY = 1e-9
"""Share of the sum of all terms' sizes that is added to every bound: well above what rounding can take off."""

CAPACITY_TOLERANCE = 1e-6
"""The evaluator lets a load exceed a capacity by this much of max(1, capacity); bounds must cover such placements."""

EFFORT = 5_000
"""Default work of moving prices: a fraction of a second."""


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


def upper_bound(problem: Problem, budget: Budget, *, target: float | None = None, effort: int = EFFORT) -> Bound:
    """Best of the bounds within the time allowed.

    Parameters
    ----------
    problem
        The compiled instance.
    budget
        The run's budget; when it is used up only the first bound is computed.
    target
        F of the incumbent: prices stop moving when the bound meets it.
    effort
        Work that moving prices may take: oracle calls times (nodes + 20). Not seconds, so that the same input gives
        the same bound as long as the budget lasts.
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
    placeable = jobs[np.isfinite(values)]
    by_type = type_prices(problem, placeable, budget)
    if by_type is not None:
        best = min(best, certified(problem, by_type, placeable), key=lambda bound: bound.value)
    calls = len(set(problem.kind_of[placeable].tolist())) + len(problem.current)
    steps = effort // max(1, calls * (problem.n_nodes + 20))
    return _follow(problem, placeable, best, target, budget, steps)


def certified(problem: Problem, prices: Prices, jobs: IntArray) -> Bound:
    """The bound that prices give: the oracle's values of the jobs, then the closed form."""
    values = best_values(problem, jobs, problem.free, problem.uplink_free, prices)
    return Bound(dual_value(problem, prices, values, jobs), prices=prices)


def _follow(problem: Problem, jobs: IntArray, start: Bound, target: float, budget: Budget, steps: int) -> Bound:
    """The best bound along moving prices."""
    assert start.prices is not None
    best = start
    path = PricePath(problem, start.prices)
    for _ in range(steps):
        demand = ask(problem, jobs, path.prices, budget)
        if demand is None:
            break
        value = dual_value(problem, path.prices, demand.values, jobs)
        if value < best.value:
            best = Bound(value, prices=path.prices)
            if _meets(value, target):
                break
        path.step(demand, value, target)
        if path.ended:
            break
    return best


def dual_value(problem: Problem, prices: Prices, job_values: FloatArray, jobs: IntArray) -> float:
    """The closed form, from prices and each job's best value at them (same order as `jobs`).

    Infinite when an unlimited uplink has a price: what it sells has no end.
    """
    if prices.uplink[np.isinf(problem.uplink_free)].any():
        return np.inf
    finite = np.isfinite(problem.uplink_free)
    resources = float((prices.node * capacity_with_slack(problem)).sum())
    links = float((prices.uplink[finite] * uplink_with_slack(problem)[finite]).sum())
    gains = np.where(problem.must_place[jobs], job_values, np.maximum(0.0, job_values))
    terms = (problem.pinned_value, resources, links, *gains.tolist())
    return math.fsum(terms) + SAFETY * math.fsum(map(abs, terms))


def capacity_with_slack(problem: Problem) -> FloatArray:
    """(N, R) what open jobs may take of every resource before the evaluator objects."""
    slack = CAPACITY_TOLERANCE * np.maximum(1.0, problem.capacity)
    slack[:, 0] = 0.0  # whole GPUs cannot exceed by a fraction
    free: FloatArray = problem.free + slack
    return free


def uplink_with_slack(problem: Problem) -> FloatArray:
    """(V) Gbit/s that open jobs may reserve before the evaluator objects; infinite where unlimited."""
    oversubscription = problem.instance.cluster.oversubscription
    free: FloatArray = problem.uplink_free + CAPACITY_TOLERANCE * np.maximum(
        1.0, oversubscription * problem.tree.uplink_gbps
    )
    return free


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
