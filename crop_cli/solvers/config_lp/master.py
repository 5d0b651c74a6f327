"""The configuration LP over the configurations known so far, solved by HiGHS.

HiGHS gets no clock: it runs in slices of simplex iterations, between which the budget is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from crop_cli.model.problem import FloatArray, IntArray
from crop_cli.solvers.config_lp.configuration import Configuration
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.in_process import run_highs

OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "solver": "simplex",
    "simplex_strategy": 4,  # primal: the point stays feasible when columns come
    "presolve": "off",
    "simplex_iteration_limit": 1_000,
}


class MasterError(Exception):
    """HiGHS did not solve the LP."""


@dataclass(frozen=True, slots=True)
class Solved:
    """Optimum over the known configurations: its value, (C) and (G) duals of classes and groups, all ≥ 0, and how often
    each configuration is taken. Floats of the solver: nothing is proved by them."""

    value: float
    of_class: FloatArray
    of_group: FloatArray
    weights: FloatArray


class Master:
    """Maximise Σ value_A·x_A where each class takes at most as many as it has domains, each group at most its jobs.

    Parameters
    ----------
    class_size, group_size
        (C) and (G).
    unit
        What values are divided by inside the LP: about the largest of them.
    """

    def __init__(self, class_size: IntArray, group_size: IntArray, unit: float) -> None:
        self.configurations: list[Configuration] = []
        self._known: set[tuple[int, bytes, bytes, float]] = set()
        self._n_classes, self._n_groups, self._unit = len(class_size), len(group_size), unit
        self._highs = highspy._Highs()  # type: ignore[attr-defined]
        for option, value in OPTIONS.items():
            _check(self._highs.setOptionValue(option, value))
        upper = np.concatenate([class_size, group_size]).astype(np.float64)
        n = len(upper)
        starts, nothing = np.zeros(n, dtype=np.int32), np.zeros(0, dtype=np.int32)
        _check(self._highs.addRows(n, np.full(n, -np.inf), upper, 0, starts, nothing, np.zeros(0)))

    def add(self, configuration: Configuration) -> bool:
        """Add a configuration; false if one of the same class, groups and value is there."""
        taken = np.bincount([slot.group for slot in configuration.slots], minlength=self._n_groups)
        groups = np.flatnonzero(taken)
        key = (configuration.of_class, groups.tobytes(), taken[groups].tobytes(), configuration.value)
        if key in self._known:
            return False
        self._known.add(key)
        self.configurations.append(configuration)
        rows = np.concatenate([[configuration.of_class], self._n_classes + groups]).astype(np.int32)
        amounts = np.concatenate([[1.0], taken[groups]])
        cost = -configuration.value / self._unit
        _check(self._highs.addCol(cost, 0.0, np.inf, len(rows), rows, amounts))
        return True

    def solve(self, budget: Budget) -> Solved | None:
        """Solve the LP from where it stands; None when the budget ends first.

        Raises
        ------
        MasterError
            HiGHS ended otherwise than with an optimum.
        """
        while not budget.should_stop:
            if not self.configurations:  # HiGHS calls a model without columns empty, not solved
                return Solved(0.0, np.zeros(self._n_classes), np.zeros(self._n_groups), np.zeros(0))
            run_highs(self._highs)
            status = self._highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = self._highs.getSolution()
                dual = np.maximum(0.0, -self._unit * np.array(solution.row_dual))
                return Solved(
                    value=-self._unit * float(self._highs.getInfo().objective_function_value),
                    of_class=dual[: self._n_classes],
                    of_group=dual[self._n_classes :],
                    weights=np.array(solution.col_value),
                )
            if status != highspy.HighsModelStatus.kIterationLimit:
                raise MasterError(str(status))
        return None


def _check(status: object) -> None:
    if status != highspy.HighsStatus.kOk:
        raise MasterError(f"a call returned {status}")
