"""The master LP: how often each group takes each of its columns, within the rows' capacities. Solved by HiGHS.

HiGHS runs in this process, through the base of highspy's interface class: the class itself prints a banner when it is
made, the base prints nothing (tested). It gets no clock: it runs in slices of simplex iterations, between which the
budget is looked at, so that time decides only whether to go on, never what is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from crop_cli.model.problem import FloatArray, IntArray
from crop_cli.solvers.columns.column import Column, Groups
from crop_cli.solvers.columns.rows import Rows
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.in_process import run_highs

SLICE = 1_000
"""Simplex iterations between looks at the budget."""

PRICES_OUT = 1e-7
"""Reduced cost, in units of the largest utility, from which a column counts: the dual tolerance of HiGHS."""

OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "solver": "simplex",
    "simplex_strategy": 4,  # primal: the point stays feasible when columns come; half the iterations of dual (measured)
    "presolve": "off",  # it would begin anew with every slice
    "simplex_iteration_limit": SLICE,
}


class MasterError(Exception):
    """HiGHS did not solve the LP."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Optimum of the LP over the columns that it had.

    Attributes
    ----------
    value
        Σ of utilities, less the penalty for what is missing; pinned jobs are not in it.
    y
        (n) price of every capacity row, ≥ 0.
    sigma
        (G) dual of every group's row.
    weights
        How often each column is taken.
    missing
        Jobs that have to be placed but are not.
    iterations
        Simplex iterations that it took.
    """

    value: float
    y: FloatArray
    sigma: FloatArray
    weights: FloatArray
    missing: float
    iterations: int


class Master:
    """Maximise Σ U_c·λ_c subject to must_g ≤ Σ λ_c ≤ size_g for every group's columns, and Σ load_c·λ_c ≤ capacity.

    Jobs that have to be placed may be missing at a penalty each, so that there always is a solution.

    Parameters
    ----------
    groups, rows
        The rows of the LP, in this order.
    demand
        (G, R) resources of a worker of each group.
    unit
        What utilities are divided by inside the LP: about the largest of them.
    penalty
        What a missing job costs.
    """

    def __init__(self, groups: Groups, rows: Rows, demand: FloatArray, unit: float, penalty: float) -> None:
        self.columns: list[Column] = []
        self.relaxed: Relaxed | None = None
        self._groups, self._rows, self._demand, self._unit = groups, rows, demand, unit
        self._keys: list[object] = []
        self._highs = highspy._Highs()  # type: ignore[attr-defined]
        for option, value in OPTIONS.items():
            _check(self._highs.setOptionValue(option, value))
        lower = np.concatenate([np.where(groups.must > 0, groups.must, -np.inf), np.full(len(rows), -np.inf)])
        upper = np.concatenate([groups.size, rows.capacity])
        self.n_rows = len(groups) + len(rows)
        starts, nothing = np.zeros(self.n_rows, dtype=np.int32), np.zeros(0, dtype=np.int32)
        _check(self._highs.addRows(self.n_rows, lower, upper, 0, starts, nothing, np.zeros(0)))
        self._short = np.flatnonzero(groups.must > 0)
        ones = np.ones(len(self._short), dtype=np.int64)
        most = groups.must[self._short].astype(np.float64)
        self._append(np.full(len(most), penalty / unit), most, ones, self._short, np.ones(len(most)))

    def add(self, columns: list[Column]) -> int:
        """Add those that load the rows differently from the ones that are there.

        Returns
        -------
        int
            How many of them price out at the latest duals; all, if it was not solved yet.
        """
        least = PRICES_OUT * self._unit
        known = set(self._keys)
        pricing_out = 0
        cost, length, index, amount = [], [], [], []
        for column in columns:
            rows, load = self._rows.usage(column, self._demand[column.group])
            key = (column.group, rows.tobytes(), load.tobytes(), column.utility)
            if key in known:
                continue
            known.add(key)
            self._keys.append(key)
            self.columns.append(column)
            cost.append(-column.utility / self._unit)
            length.append(len(rows) + 1)
            index += [np.array([column.group]), len(self._groups) + rows]
            amount += [np.ones(1), load]
            now = self.relaxed
            pricing_out += now is None or column.utility - load @ now.y[rows] - now.sigma[column.group] > least
        if cost:
            many = np.full(len(cost), np.inf)
            self._append(np.array(cost), many, np.array(length), np.concatenate(index), np.concatenate(amount))
        return pricing_out

    def solve(self, budget: Budget) -> Relaxed | None:
        """Solve the LP from where it stands; None when the budget ends first.

        Raises
        ------
        MasterError
            HiGHS ended otherwise than with an optimum.
        """
        iterations = 0
        while True:
            if budget.should_stop:
                return None
            run_highs(self._highs)
            status = self._highs.getModelStatus()
            iterations += max(0, self._highs.getInfo().simplex_iteration_count)
            if status == highspy.HighsModelStatus.kOptimal:
                break
            if status != highspy.HighsModelStatus.kIterationLimit:
                raise MasterError(str(status))
        solution = self._highs.getSolution()
        taken = np.array(solution.col_value)
        dual = -self._unit * np.array(solution.row_dual)
        n_groups, n_short = len(self._groups), len(self._short)
        self.relaxed = Relaxed(
            value=-self._unit * float(self._highs.getInfo().objective_function_value),
            y=np.maximum(dual[n_groups:], 0.0),
            sigma=dual[:n_groups],
            weights=taken[n_short:],
            missing=float(taken[:n_short].sum()),
            iterations=iterations,
        )
        return self.relaxed

    def punish(self, penalty: float) -> None:
        """Change what a missing job costs."""
        for i in range(len(self._short)):
            _check(self._highs.changeColCost(i, penalty / self._unit))

    def drop(self, most: int) -> None:
        """Keep the columns that are taken, and of the rest those with the best reduced costs: `most` in all."""
        if len(self.columns) <= most or self.relaxed is None:
            return
        solution = self._highs.getSolution()
        n_short = len(self._short)
        reduced = np.array(solution.col_dual)[n_short:]
        rank = np.where(np.array(solution.col_value)[n_short:] > 0, -np.inf, reduced)
        kept = np.zeros(len(rank), dtype=bool)
        kept[np.argsort(rank, kind="stable")[:most]] = True
        at = n_short + np.flatnonzero(~kept)
        _check(self._highs.deleteCols(len(at), at.astype(np.int32)))
        # What is forgotten may come back when it prices out again.
        self.columns = [column for column, stays in zip(self.columns, kept, strict=True) if stays]
        self._keys = [key for key, stays in zip(self._keys, kept, strict=True) if stays]

    def _append(
        self, cost: FloatArray, upper: FloatArray, length: IntArray, index: IntArray, amount: FloatArray
    ) -> None:
        """Columns of the LP: cost and upper bound of each, its number of entries, and all entries one after another."""
        start = np.concatenate([[0], np.cumsum(length)[:-1]]) if len(cost) else length
        status = self._highs.addCols(
            len(cost),
            cost,
            np.zeros(len(cost)),
            upper,
            len(index),
            start.astype(np.int32),
            index.astype(np.int32),
            amount,
        )
        _check(status)


def _check(status: object) -> None:
    if status != highspy.HighsStatus.kOk:
        raise MasterError(f"a call returned {status}")
