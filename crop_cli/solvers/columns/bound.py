"""The dual bound by column generation (model.md, section 8).

An LP over the columns found so far proposes prices. The oracle finds every group's best placement at prices between
these and the best known ones: the placements are new columns, and the prices give a bound in closed form, whatever the
LP says. The rows of the LP are classes of nodes and uplinks, coarse ones first, then finer ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem
from crop_cli.solvers.bounds import Bound, upper_bound
from crop_cli.solvers.columns.column import Column, Groups, column_of, group_jobs
from crop_cli.solvers.columns.images import Images
from crop_cli.solvers.columns.master import Master, MasterError, Relaxed
from crop_cli.solvers.columns.pricing import Pricer
from crop_cli.solvers.columns.rows import Rows, resolutions
from crop_cli.solvers.contract import Budget, Event, Listener
from crop_cli.solvers.dual import dual_value, knapsack_value, lowered
from crop_cli.solvers.oracle import Prices

Ended = Literal["converged", "gap", "effort", "stopped", "stalled", "infeasible"]

SMOOTHING = 0.5
"""Where the oracle is asked: 0 at the LP's prices, 1 at the best known ones."""

TOLERANCE = 1e-6
"""The bound has converged when it exceeds the LP's value by no more than this share."""

COARSE_TOLERANCE = 2e-5
"""The same on classes that are not the finest."""

MOST_COLUMNS = 20_000
"""Columns of the master; beyond, the worse half is dropped."""

MISSING = 1e-6
"""Sum of missing jobs that counts as none."""

ITERATION, ANSWER, IMAGE = 1e-4, 3e-4, 0.13
"""Work per row of a simplex iteration, per node of an oracle's answer, and of an image, so that 1 is about 1 ms."""

ANSWER_NODES = 2_000
"""Nodes that the fixed work of an oracle's answer counts for."""

PENALTIES = 8
"""The penalty of a missing job may grow tenfold this many times until none is missing or it is proven that one must."""


@dataclass(frozen=True)
class ColumnBound:
    """What column generation ended with.

    Attributes
    ----------
    value
        Upper bound of F, pinned jobs included; −inf if infeasible.
    infeasible
        Proven: the jobs that must be placed cannot all be.
    prices
        Prices of the best dual value; None where the bound that it started from has none.
    certificate
        Prices that certify `value` (`crop_cli.solvers.dual.certified`).
    ended
        "converged" (on the finest classes), "gap" (met), "effort" (used up), "stopped" (by the budget), "stalled" (the
        LP failed), "infeasible".
    values
        (G) value of every group's best placement at `prices`, or an upper bound below 0; None where it was not asked.
    lp_value
        Optimum of the last LP, pinned jobs included: with these columns and classes no prices give less. None if there
        was no LP or a job that must run was missing from its optimum.
    groups, columns, weights
        The last LP's groups and columns, and how often its optimum takes each column.
    passes, programs
        Passes of pricing, and LPs solved.
    work
        Operations, counted so that 1 is about a millisecond.
    """

    value: float
    infeasible: bool
    prices: Prices | None
    certificate: Prices | None
    ended: Ended
    values: FloatArray | None
    lp_value: float | None
    groups: Groups
    columns: tuple[Column, ...]
    weights: FloatArray
    passes: int
    programs: int
    work: float


def column_bound(
    problem: Problem,
    budget: Budget,
    *,
    bound: Bound | None = None,
    start: Placement | None = None,
    target: float | None = None,
    gap: float = 0.0,
    effort: float | None = None,
    known: Sequence[Column] = (),
    listen: Listener = lambda _event: None,
) -> ColumnBound:
    """Lower a bound by column generation until it meets the gap, has converged, or effort or budget are used up.

    Parameters
    ----------
    problem
        The compiled instance.
    budget
        Looked at between the oracle's answers and between slices of the LP; the bound so far stands.
    bound
        A bound with prices to start from; None: `upper_bound` finds one.
    start
        A feasible placement, whose parts are the first columns.
    target, gap
        End when (bound − target)/|target| ≤ gap.
    known
        Columns of an earlier run to begin with.
    effort
        End after this much work (see `ColumnBound`). Not seconds: with a budget that lasts, the same input gives the
        same output.
    listen
        Told of every better bound.
    """
    first = upper_bound(problem, budget, effort=0) if bound is None else bound
    descent = _Descent(problem, budget, listen, first, target=target, gap=gap, effort=effort, columns=list(known))
    return descent.run(start or {})


class _EndError(Exception):
    """Column generation ends here."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(ended)
        self.ended: Ended = ended


@dataclass
class _Descent:
    """State of one run."""

    problem: Problem
    budget: Budget
    listen: Listener
    bound: Bound
    target: float | None
    gap: float
    effort: float | None
    columns: list[Column] = field(default_factory=list)
    relaxed: Relaxed | None = None
    values: FloatArray | None = None
    passes: int = 0
    programs: int = 0
    work: float = 0.0

    def __post_init__(self) -> None:
        problem = self.problem
        self.groups = group_jobs(problem)
        kinds = [problem.kind(job) for job in self.groups.first.tolist()]
        self.demand = np.array([kind.demand for kind in kinds]).reshape(len(kinds), len(problem.resources))
        self.unit = max((kind.weight * kind.k for kind in kinds), default=1.0)
        self.floor = _floor(problem)
        self.value, self.certificate = self.bound.value, self.bound.prices
        self.pricer = Pricer(problem, self.groups)
        self.images = Images(problem, self.groups)

    def run(self, start: Placement) -> ColumnBound:
        """All resolutions, coarse to fine."""
        for job, counts in sorted(start.items()):
            self.columns.append(column_of(self.problem, self.groups, job, counts))
        try:
            ended = self._all_levels()
        except _EndError as end:
            ended = end.ended
        except MasterError:
            ended = "stalled"
        relaxed, lp_value = self.relaxed, None
        if relaxed is not None and relaxed.missing <= MISSING:
            lp_value = relaxed.value + self.problem.pinned_value
        if ended != "infeasible" and not self.budget.should_stop:
            self._tighten()
        return ColumnBound(
            value=-np.inf if ended == "infeasible" else self.value,
            infeasible=ended == "infeasible",
            prices=self.bound.prices,
            certificate=self.certificate,
            ended=ended,
            values=self.values,
            lp_value=lp_value,
            groups=self.groups,
            columns=tuple(self.columns),
            weights=np.zeros(len(self.columns)) if relaxed is None else relaxed.weights,
            passes=self.passes,
            programs=self.programs,
            work=self.work,
        )

    def _all_levels(self) -> Ended:
        if self.bound.infeasible:
            return "infeasible"
        if len(self.groups) == 0:
            return "converged"
        if self.bound.prices is None:
            return "stopped"
        self.columns += self._ask(self.bound.prices)
        if not self.columns:  # no job can be placed at all
            return "converged"
        levels = resolutions(self.problem)
        for rows in levels:
            tolerance = TOLERANCE if rows is levels[-1] else COARSE_TOLERANCE
            self._descend(rows, tolerance, with_images=rows is not levels[0])
            self._tighten()
            if self._met:
                return "gap"
        return "converged"

    @property
    def _met(self) -> bool:
        """Whether the bound is near enough to the target."""
        return self.target is not None and self.value - self.target <= self.gap * abs(self.target)

    def _tighten(self) -> None:
        """The knapsack's bound at the best prices so far."""
        if self.values is None or self.bound.prices is None:
            return
        jobs = self.problem.open_jobs
        prices, values = lowered(self.problem, self.bound.prices, self.values[self.groups.of_job[jobs]], jobs)
        # What was not asked at the higher prices has but a bound for a value: ask again.
        priced = self.pricer(prices, self.budget)
        if priced is not None:
            values = np.minimum(values, priced.values[self.groups.of_job[jobs]])
        self._accept(knapsack_value(self.problem, prices, values, jobs), self.bound.prices)

    def _accept(self, value: float, certificate: Prices) -> None:
        """Note a valid bound."""
        if value < self.value:
            self.value, self.certificate = value, certificate
            self.listen(Event("bound", self.budget.elapsed, value))

    def _descend(self, rows: Rows, tolerance: float, with_images: bool) -> None:
        """Column generation over one set of rows, until the bound is as low as its LP allows."""
        assert self.bound.prices is not None
        penalty, heaviest = self.unit, self.unit * 10.0**PENALTIES
        master = Master(self.groups, rows, self.demand, self.unit, penalty)
        master.add(self.columns)
        centre = rows.means(self.bound.prices)
        relaxed, new = self._solve(master), True
        while True:
            settled = self.bound.value - relaxed.value - self.problem.pinned_value <= tolerance * max(
                self.unit, abs(self.bound.value)
            )
            if not settled:
                # Where no column priced out at mixed prices, the LP's own prices tell whether any does.
                y = SMOOTHING * centre + (1 - SMOOTHING) * relaxed.y if new else relaxed.y
                before, direct = self.bound.value, not new
                columns = self._ask(rows.prices(y))
                if with_images and not direct:
                    columns += self._images(columns, rows.prices(relaxed.y), relaxed.sigma)
                new = master.add(columns) > 0
                if self.bound.value < before:
                    centre = y
                settled = direct and not new
            if settled and (relaxed.missing <= MISSING or penalty >= heaviest):
                return
            if settled:
                # No price is high enough yet to tell whether the jobs that must run fit.
                penalty *= 10.0
                master.punish(penalty)
            if settled or new:
                relaxed, new = self._solve(master), True

    def _images(self, columns: list[Column], prices: Prices, sigma: FloatArray) -> list[Column]:
        """Images of the columns at the LP's duals. A job that runs has its own reasons to be where it is."""
        found = []
        for column in columns:
            if self.budget.should_stop:
                raise _EndError("stopped")
            if int(self.groups.first[column.group]) not in self.problem.current:
                found += self.images.of(column, prices, float(sigma[column.group]))
        self.work += IMAGE * (len(columns) + len(found))
        return found

    def _solve(self, master: Master) -> Relaxed:
        """The LP's optimum, with its columns kept within the limit."""
        relaxed = master.solve(self.budget)
        if relaxed is None:
            raise _EndError("stopped")
        self.programs += 1
        self.work += relaxed.iterations * master.n_rows * ITERATION
        self.relaxed, self.columns = relaxed, list(master.columns)
        if len(master.columns) > MOST_COLUMNS:
            master.drop(MOST_COLUMNS // 2)
        return relaxed

    def _ask(self, prices: Prices) -> list[Column]:
        """Price all groups, and keep the bound that comes with it."""
        if self.effort is not None and self.work >= self.effort:
            raise _EndError("effort")
        priced = self.pricer(prices, self.budget)
        if priced is None:
            raise _EndError("stopped")
        self.passes += 1
        self.work += priced.asked * (self.problem.n_nodes + ANSWER_NODES) * ANSWER
        jobs = self.problem.open_jobs
        if np.isneginf(priced.values[self.groups.must > 0]).any():
            raise _EndError("infeasible")
        value = dual_value(self.problem, prices, priced.values[self.groups.of_job[jobs]], jobs)
        if value < self.bound.value or self.values is None:
            self.bound, self.values = Bound(value, prices=prices), priced.values
        self._accept(value, prices)
        if self.value < self.floor:
            raise _EndError("infeasible")
        if self._met:
            raise _EndError("gap")
        return priced.columns


def _floor(problem: Problem) -> float:
    """What F is at least if the jobs that must be placed can be: all of them anyhow, and no others."""
    objective, worst = problem.instance.objective, float(problem.failures.max(initial=0.0))
    floor = problem.pinned_value
    for job in problem.open_jobs[problem.must_place[problem.open_jobs]].tolist():
        kind = problem.kind(job)
        loss = kind.k * worst * kind.days_lost_per_failure
        cuts = kind.k * problem.tree.max_depth
        floor -= kind.weight * (kind.k * objective.failure_weight * loss + objective.cut_penalty * cuts)
        floor -= float(problem.migration_cost[job])
    return floor - 1e-6 * max(1.0, abs(floor))
