"""Columns for the jobs of a part: all placements inside one node, and across nodes those that an LP asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Placement, Problem, utility
from crop_cli.solvers.columns.column import Column, Groups, column_of, group_jobs
from crop_cli.solvers.columns.images import Images
from crop_cli.solvers.columns.master import Master, MasterError, Relaxed
from crop_cli.solvers.columns.pricing import Pricer
from crop_cli.solvers.columns.rows import Rows, node_by_node
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.dual import knapsack_value, lowered
from crop_cli.solvers.oracle import Prices

PASSES = 15
"""Passes of pricing at most."""

SMOOTHING = 0.5
"""Where the oracle is asked: 0 at the LP's prices, 1 at those of the pass before."""


@dataclass(frozen=True)
class Candidates:
    """Columns of a part.

    Attributes
    ----------
    groups, columns
        Groups of the part's jobs, and columns that refer to them.
    value
        No choice of columns is worth more: the LP's optimum, tightened by a knapsack (`crop_cli.solvers.dual`).
    prices
        Of the LP.
    """

    groups: Groups
    columns: list[Column]
    value: float
    prices: Prices


def candidates(problem: Problem, start: Placement, prices: Prices | None, budget: Budget) -> Candidates | None:
    """Columns by column generation on rows of single nodes and uplinks; None when the budget ends first.

    Parameters
    ----------
    problem
        The part.
    start
        A feasible placement of it.
    prices
        Prices to begin with, if any are known.
    budget
        The run's.
    """
    groups, rows = group_jobs(problem), node_by_node(problem)
    kinds = [problem.kind(job) for job in groups.first.tolist()]
    unit = max(kind.weight * kind.k for kind in kinds)
    master = Master(groups, rows, np.array([kind.demand for kind in kinds]), unit, unit)
    master.add([column_of(problem, groups, job, counts) for job, counts in sorted(start.items())])
    for g in range(len(groups)):
        master.add(_in_one_node(problem, groups, g))
    pricer = Pricer(problem, groups)
    if not master.columns:  # an LP without any has no duals to ask with
        priced = pricer(rows.prices(np.zeros(len(rows))), budget)
        if priced is None or not priced.columns:
            return None if priced is None else Candidates(groups, [], 0.0, rows.prices(np.zeros(len(rows))))
        master.add(priced.columns)
    try:
        relaxed = _generate(problem, groups, rows, master, pricer, prices, budget)
    except MasterError:
        return None
    if relaxed is None:
        return None
    value = min(relaxed.value, _whole_jobs(problem, groups, rows, relaxed))
    return Candidates(groups, master.columns, value, rows.prices(relaxed.y))


def _generate(
    problem: Problem,
    groups: Groups,
    rows: Rows,
    master: Master,
    pricer: Pricer,
    prices: Prices | None,
    budget: Budget,
) -> Relaxed | None:
    """Passes of pricing until no column prices out; the last LP, None when the budget ends first."""
    images = Images(problem, groups)
    centre, direct = None if prices is None else rows.means(prices), False
    relaxed = master.solve(budget)
    for _ in range(PASSES):
        if relaxed is None:
            return None
        y = relaxed.y if centre is None or direct else SMOOTHING * centre + (1 - SMOOTHING) * relaxed.y
        priced = pricer(rows.prices(y), budget)
        if priced is None:
            return None
        elsewhere = _images(problem, groups, images, priced.columns, rows.prices(relaxed.y), relaxed)
        if master.add([*priced.columns, *elsewhere]) == 0:
            if direct or centre is None:
                break
            direct = True
            continue
        centre, direct = y, False
        relaxed = master.solve(budget)
    return relaxed


def _whole_jobs(problem: Problem, groups: Groups, rows: Rows, relaxed: Relaxed) -> float:
    """The knapsack's bound: the dual of a group's row is at least what any of its columns is worth at the prices."""
    jobs = problem.open_jobs
    prices, values = lowered(problem, rows.prices(relaxed.y), relaxed.sigma[groups.of_job[jobs]], jobs)
    return knapsack_value(problem, prices, values, jobs)


def _images(
    problem: Problem, groups: Groups, images: Images, columns: list[Column], prices: Prices, relaxed: Relaxed
) -> list[Column]:
    """Images of columns; a job that runs now has its own reasons to be where it is."""
    return [
        image
        for column in columns
        if int(groups.first[column.group]) not in problem.current
        for image in images.of(column, prices, float(relaxed.sigma[column.group]))
    ]


_NONE: IntArray = np.zeros(0, dtype=np.int64)
_NO_GBPS: FloatArray = np.zeros(0)


def _in_one_node(problem: Problem, groups: Groups, group: int) -> list[Column]:
    """A column for every node that can hold a job of the group whole. No uplink is cut."""
    job = int(groups.first[group])
    kind = problem.kind(job)
    if not kind.allowed[:, kind.k].all():
        return []
    holds = (kind.k * kind.demand <= problem.free + problem.node_slack).all(axis=1)
    holds &= np.isfinite(kind.compute_s)[problem.hardware_of]
    nodes = np.flatnonzero(holds)
    if len(nodes) == 0:
        return []
    # A node's utility depends on its hardware and its failures alone: one node of each hardware tells all.
    objective = problem.instance.objective
    per_failure = objective.failure_weight * kind.weight * kind.k * kind.days_lost_per_failure
    worth: dict[int, float] = {}
    columns = []
    workers = np.array([kind.k])
    home = problem.current.get(job)
    for n in nodes.tolist():
        hardware = int(problem.hardware_of[n])
        if home is not None:
            value = utility(problem, job, {n: kind.k})
        else:
            if hardware not in worth:
                worth[hardware] = utility(problem, job, {n: kind.k}) + per_failure * float(problem.failures[n])
            value = worth[hardware] - per_failure * float(problem.failures[n])
        columns.append(Column(group, value, np.array([n]), workers, _NONE, _NO_GBPS))
    return columns
