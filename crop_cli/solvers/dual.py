"""The dual value: an upper bound of F in closed form, at any prices (model.md, section 8), and tightened by a knapsack.

For prices π, μ ≥ 0 and best job values v_j at them, Σ π·free + Σ μ·bandwidth + Σ_j max(0, v_j) is an upper bound
(without the max for a job that must be placed). Whoever places a job takes k_j GPUs of G that are free, so that

    Σ π·free + Σ μ·bandwidth + max { Σ_j v_j·y_j : Σ_j k_j·y_j ≤ G, y_j ∈ {0, 1} }

is one too. At the prices of the placement LP it says nothing new. But a price that is the same on all nodes only says
that GPUs are scarce altogether, which the knapsack says too, and in whole jobs. So the least price of a GPU is taken
off all of them: every v_j rises by as much per worker, and the knapsack, exact by dynamic programming over the GPUs,
takes the price's place. Where the LP fills the last GPUs with a part of a job, this bound does not.
docs/guarantees.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem
from crop_cli.model.rules import TOLERANCE
from crop_cli.solvers.oracle import Prices

SAFETY = 1e-9
"""Share of the sum of all terms' sizes that is added to every bound: well above what rounding can take off."""

MOST_CELLS = 2_000_000_000
"""Jobs times GPUs above which the knapsack is left out: seconds of work."""


def dual_value(problem: Problem, prices: Prices, job_values: FloatArray, jobs: IntArray) -> float:
    """The closed form, from prices and each job's best value at them (same order as `jobs`).

    Infinite when an unlimited uplink has a price: what it sells has no end.
    """
    capacity = capacity_terms(problem, prices)
    if capacity is None:
        return np.inf
    gains = np.where(problem.must_place[jobs], job_values, np.maximum(0.0, job_values))
    terms = (problem.pinned_value, *capacity, *gains.tolist())
    return math.fsum(terms) + SAFETY * math.fsum(map(abs, terms))


def capacity_terms(problem: Problem, prices: Prices) -> tuple[float, float] | None:
    """What all nodes' resources and all uplinks are worth at prices; None where an unlimited uplink has one."""
    if prices.uplink[np.isinf(problem.uplink_free)].any():
        return None
    finite = np.isfinite(problem.uplink_free)
    resources = float((prices.node * capacity_with_slack(problem)).sum())
    return resources, float((prices.uplink[finite] * uplink_with_slack(problem)[finite]).sum())


def capacity_with_slack(problem: Problem) -> FloatArray:
    """(N, R) what open jobs may take of every resource before the evaluator objects."""
    # The evaluator accepts loads up to its tolerance above a capacity: the bound must cover such placements.
    slack = TOLERANCE * np.maximum(1.0, problem.capacity)
    slack[:, 0] = 0.0  # whole GPUs cannot exceed by a fraction
    free: FloatArray = problem.free + slack
    return free


def uplink_with_slack(problem: Problem) -> FloatArray:
    """(V) Gbit/s that open jobs may reserve before the evaluator objects; infinite where unlimited."""
    oversubscription = problem.instance.cluster.oversubscription
    free: FloatArray = problem.uplink_free + TOLERANCE * np.maximum(1.0, oversubscription * problem.tree.uplink_gbps)
    return free


def certified(problem: Problem, prices: Prices, values: FloatArray, jobs: IntArray) -> float:
    """The least upper bound of F that prices prove: the dual value, or the knapsack's at lowered prices.

    Parameters
    ----------
    problem, prices, values, jobs
        As for `lowered`.
    """
    plain = dual_value(problem, prices, values, jobs)
    return min(plain, knapsack_value(problem, *lowered(problem, prices, values, jobs), jobs))


def lowered(problem: Problem, prices: Prices, values: FloatArray, jobs: IntArray) -> tuple[Prices, FloatArray]:
    """Prices without the least price of a GPU that is free, and the jobs' best values at them.

    Parameters
    ----------
    problem, prices
        The compiled instance, and any prices ≥ 0.
    values, jobs
        Job indices and, in the same order, their best values at the prices (or upper bounds of them).
    """
    free = problem.free_gpus > 0
    least = float(prices.node[free, 0].min()) if free.any() else 0.0
    node = prices.node.copy()
    node[:, 0] = np.maximum(0.0, node[:, 0] - least)
    return Prices(node=node, uplink=prices.uplink), values + least * _sizes(problem, jobs)


def knapsack_value(problem: Problem, prices: Prices, values: FloatArray, jobs: IntArray) -> float:
    """The bound above at given prices; the jobs that must be placed are taken in any case.

    Parameters
    ----------
    problem, prices, values, jobs
        As for `lowered`.

    Returns
    -------
    float
        Upper bound of F, pinned jobs included; −inf if the jobs that must be placed need more GPUs than there are, and
        +inf where the knapsack would take too long or an unlimited uplink has a price.
    """
    sizes, must = _sizes(problem, jobs), problem.must_place[jobs]
    gpus = int(problem.free_gpus.sum())
    room = gpus - int(sizes[must].sum())
    if room < 0 or np.isneginf(values[must]).any():
        return -np.inf
    if len(jobs) * gpus > MOST_CELLS or not np.isfinite(values[must]).all():
        return np.inf
    terms = capacity_terms(problem, prices)
    if terms is None:
        return np.inf
    hopeful = ~must & (values > 0)
    best = _knapsack(values[hopeful], sizes[hopeful], room)
    parts = (problem.pinned_value, *terms, *values[must].tolist(), best)
    return math.fsum(parts) + SAFETY * math.fsum(map(abs, parts))


def _knapsack(values: FloatArray, sizes: IntArray, room: int) -> float:
    """Largest sum of values of items whose sizes sum up to at most `room`."""
    if sizes.sum() <= room:
        return math.fsum(values)
    best = np.zeros(room + 1)
    for k, value in zip(sizes.tolist(), values.tolist(), strict=True):
        if k <= room:
            best[k:] = np.maximum(best[k:], best[: room + 1 - k] + value)
    return float(best[room])


def _sizes(problem: Problem, jobs: IntArray) -> IntArray:
    return np.array([problem.kind(int(j)).k for j in jobs], dtype=np.int64)
