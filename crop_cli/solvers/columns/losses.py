"""What a column gives away against its group's best placement at some prices.

At prices where the bound (`assignment`, or a dual value with or without a knapsack) is B, a placement is worth at most
B less the losses of all columns that it takes: the bound counts every job at its best value. So a column that loses
B − F or more is in no placement that is better than F.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crop_cli.model.problem import FloatArray, Problem
from crop_cli.solvers.columns.column import Column, Groups
from crop_cli.solvers.oracle import Prices, best_values


class Losses:
    """Losses at fixed prices."""

    def __init__(self, problem: Problem, groups: Groups, prices: Prices) -> None:
        self._prices = prices
        self._demand = [problem.kind(job).demand for job in groups.first.tolist()]
        self._best = best_values(problem, groups.first, problem.free, problem.uplink_free, prices)

    def of(self, columns: Sequence[Column]) -> FloatArray:
        """Loss of every column, ≥ 0 up to rounding."""
        return np.array([self._best[column.group] - self._value(column) for column in columns], dtype=np.float64)

    def within(self, columns: Sequence[Column], most: float) -> list[Column]:
        """Columns that lose no more than this."""
        return [column for column, loss in zip(columns, self.of(columns), strict=True) if loss <= most]

    def _value(self, column: Column) -> float:
        paid = float(column.workers @ (self._prices.node[column.nodes] @ self._demand[column.group]))
        return column.utility - paid - float(self._prices.uplink[column.vertices] @ column.gbps)
