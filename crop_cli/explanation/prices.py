"""Prices of the bound as people and `crop check` read them (model.md, section 8).

The report holds every price that is not 0, so that it is a certificate: whoever has the instance can compute the dual
value of model.md section 8 from it, and needs to trust nothing else.
"""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np

from crop_cli.model.certificate import TOLERANCE, proof_scale
from crop_cli.model.problem import FloatArray, IntArray, Placement, Problem
from crop_cli.model.solution import AreaPrice, NodePrices, PricedOut, SolutionPrices, UplinkPrices
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.dual import dual_value, knapsack_value, lowered
from crop_cli.solvers.oracle import Prices, best_values

GRACE = 2.0
"""Seconds that the oracle may take for the report after the run's time is over."""

DUST = 1e-12
"""Prices up to this are left out."""

ROUNDING = 1e-9
"""Share of w·k up to which a value at prices is rounding."""

KINDS_AT_ONCE = 32
"""Kinds of jobs that the oracle is asked about between two looks at the clock."""


def price_report(
    problem: Problem, prices: Prices, placement: Placement | None, objective: float | None, budget: Budget
) -> SolutionPrices | None:
    """What prices say, and what they prove.

    Parameters
    ----------
    problem
        The compiled instance.
    prices
        Those of the bound.
    placement, objective
        The final placement of open jobs and its F; None without one: then no job is called priced out.
    budget
        The run's; when it is over, jobs are priced for `GRACE` seconds more.

    Returns
    -------
    SolutionPrices or None
        None when the time was over, or when the prices prove nothing.
    """
    # Any prices prove a bound: those that are dust are left out before it is computed.
    prices = Prices(np.where(prices.node > DUST, prices.node, 0.0), np.where(prices.uplink > DUST, prices.uplink, 0.0))
    found = values_at(problem, prices, budget)
    if found is None:
        return None
    prices, values = levelled(problem, prices, found)
    certified, plain = proven(problem, prices, values)
    if not np.isfinite(certified):
        return None
    waiting = [] if placement is None or objective is None else _priced_out(problem, values, placement)
    return SolutionPrices(
        certified_bound=certified,
        nodes=_nodes(problem, prices),
        uplinks=_uplinks(problem, prices),
        areas=areas(problem, prices),
        priced_out=[
            PricedOut(
                job=problem.job_names[job],
                value=None if value == -np.inf else value,
                excluded=excludes(problem, plain, value, objective),
            )
            for job, value in waiting
            if objective is not None
        ],
    )


def values_at(problem: Problem, prices: Prices, budget: Budget | None = None) -> FloatArray | None:
    """Best value at the prices of every open job, in the order of `open_jobs`; −inf without a place.

    None when the budget, and `GRACE` after it, end first.
    """
    jobs = problem.open_jobs
    values = np.empty(len(jobs))
    family = np.unique(problem.kind_of[jobs], return_inverse=True)[1] // KINDS_AT_ONCE if len(jobs) else jobs
    since = time.monotonic()
    for f in range(int(family.max(initial=-1)) + 1):
        if budget is not None and budget.should_stop and time.monotonic() - since > GRACE:
            return None
        chosen = family == f
        values[chosen] = best_values(problem, jobs[chosen], problem.free, problem.uplink_free, prices)
    return values


def levelled(problem: Problem, prices: Prices, values: FloatArray) -> tuple[Prices, FloatArray]:
    """The same prices with the level of the GPUs' prices, the least on any node with free ones, where it proves most.

    A bound with a knapsack does without that level, so that prices that come from one may be too low to say what a GPU
    is worth. The dual value is convex and piecewise linear in the level: a fractional knapsack has the minimum. GPUs
    that nobody can take get no price.

    Parameters
    ----------
    prices, values
        Any prices ≥ 0, and the best values of the open jobs at them.
    """
    jobs = problem.open_jobs
    low, gross = lowered(problem, prices, values, jobs)
    sizes = np.array([problem.kind(j).k for j in jobs.tolist()], dtype=np.int64)
    must = problem.must_place[jobs]
    hopeful = np.flatnonzero(~must & (gross > 0))
    order = hopeful[np.argsort(-gross[hopeful] / sizes[hopeful], kind="stable")]
    free = problem.free_gpus > 0
    room = int(problem.free_gpus.sum()) - int(sizes[must].sum())
    full = int(np.searchsorted(np.cumsum(sizes[order]), room, side="right"))
    level = float(gross[order[full]] / sizes[order[full]]) if full < len(order) else 0.0
    node = low.node.copy()
    node[:, 0] = np.where(free, node[:, 0] + level, 0.0)
    return Prices(node, low.uplink), gross - level * sizes


def proven(problem: Problem, prices: Prices, values: FloatArray) -> tuple[float, float]:
    """The bound that prices prove, and the plain dual value, from the jobs' best values at them (`values_at`).

    The first is the lower of the dual value and that with a knapsack in place of the least price of a GPU.
    """
    jobs = problem.open_jobs
    plain = dual_value(problem, prices, values, jobs)
    return min(plain, knapsack_value(problem, *lowered(problem, prices, values, jobs), jobs)), plain


def excludes(problem: Problem, plain: float, value: float, objective: float) -> bool:
    """Whether no placement with a job in it reaches the objective.

    In the plain dual value a job that has to be placed counts with its value v < 0, one that may wait with 0: the bound
    over placements that contain it is that dual value + v.
    """
    slack = TOLERANCE * max(proof_scale(problem.instance), abs(objective))
    return bool(plain + min(0.0, value) < objective - slack)


def prices_of(problem: Problem, report: SolutionPrices) -> Prices:
    """The arrays of a report. Raises KeyError for a name, level or resource that the instance does not have."""
    tree = problem.tree
    resource = {name: r for r, name in enumerate(problem.resources)}
    vertex = {
        (tree.level_name(int(d)), name): v for v, (d, name) in enumerate(zip(tree.depth, tree.names, strict=True))
    }
    node = np.zeros_like(problem.free)
    uplink = np.zeros(tree.n_vertices)
    for priced in report.nodes:
        node[[problem.node_index[name] for name in priced.nodes], resource[priced.resource]] = priced.price
    for above in report.uplinks:
        uplink[[vertex[above.level, name] for name in above.uplinks]] = above.price
    return Prices(node, uplink)


def areas(problem: Problem, prices: Prices) -> list[AreaPrice]:
    """Prices of free GPUs by the vertex above the nodes and GPU type, dearest first; none where no GPU is free."""
    tree = problem.tree
    members: dict[tuple[int, str], list[int]] = defaultdict(list)
    for n in np.flatnonzero(problem.free_gpus > 0).tolist():
        gpu_type = problem.hardware.gpu_type[int(problem.hardware_of[n])]
        members[int(tree.parent[tree.node_vertex + n]), gpu_type].append(n)
    rows = []
    for (vertex, gpu_type), nodes in members.items():
        gpus, price = problem.free_gpus[nodes], prices.node[nodes, 0]
        lowest, highest = float(price.min()), float(price.max())
        mean = float(np.clip(np.average(price, weights=gpus), lowest, highest))
        row = AreaPrice(
            domain=tree.names[vertex],
            gpu_type=gpu_type,
            gpus_free=int(gpus.sum()),
            mean=mean,
            lowest=lowest,
            highest=highest,
        )
        rows.append(row)
    return sorted(rows, key=lambda row: -row.mean)


def _nodes(problem: Problem, prices: Prices) -> list[NodePrices]:
    """Equal prices together, resource by resource, dearest first."""
    rows = []
    for r, resource in enumerate(problem.resources):
        for price, nodes in _alike(prices.node[:, r]):
            rows.append(NodePrices(resource=resource, price=price, nodes=[problem.node_names[n] for n in nodes]))
    return rows


def _uplinks(problem: Problem, prices: Prices) -> list[UplinkPrices]:
    """Equal prices together, level by level, dearest first."""
    tree, rows = problem.tree, []
    for depth in range(1, tree.max_depth + 1):
        first, end = int(tree.start[depth]), int(tree.start[depth + 1])
        for price, members in _alike(prices.uplink[first:end]):
            names = [tree.names[first + i] for i in members]
            rows.append(UplinkPrices(level=tree.level_name(depth), price=price, uplinks=names))
    return rows


def _alike(price: FloatArray) -> list[tuple[float, list[int]]]:
    """Positive prices and the positions that have them, highest first."""
    return [(float(p), np.flatnonzero(price == p).tolist()) for p in np.unique(price[price > 0])[::-1]]


def _priced_out(problem: Problem, values: FloatArray, placement: Placement) -> list[tuple[int, float]]:
    """Waiting jobs with a value of at most 0, in file order; what is above by rounding only counts as 0."""
    jobs: IntArray = problem.open_jobs
    rounded = [(job, settled(problem, job, value)) for job, value in zip(jobs.tolist(), values.tolist(), strict=True)]
    return [(job, value) for job, value in rounded if job not in placement and value <= 0]


def settled(problem: Problem, job: int, value: float) -> float:
    """A job's value at prices, 0 where it is 0 but for rounding."""
    kind = problem.kind(job)
    return 0.0 if abs(value) <= ROUNDING * kind.weight * kind.k else value
