"""Whole-number versions of fractional costs and capacity rows, for a solver that knows only integers.

Rounding always relaxes: costs are rounded down, so that a lower bound of the rounded cost is one of the true cost, and
capacity rows are rounded so that every point that fits still fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.solvers.exact.protocol import FloatArray, IntArray, Model

COST_BITS = 53
"""The rounded cost of any point is below 2 to this power."""

COST_PRECISION = 1e-8
"""Rounding takes at most this from the cost of any point, relative to the largest cost, as far as `COST_BITS` allow."""

ROW_BITS = 50
"""The same for the activity of any rounded capacity row."""

ROW_PRECISION = 1e-7
"""Rounding relaxes a capacity row by about this at most, relative to its bound."""

_DECIMALS = tuple(10.0**digits for digits in range(7))
_EXACT = 1e-12
_SAFETY = 1e-9


@dataclass(frozen=True, slots=True)
class IntegerCost:
    """`coefficients`·x / `scale` − `margin` ≤ cost·x for every x within its bounds, and nearly equal."""

    coefficients: IntArray
    scale: float
    margin: float

    def bound(self, value: float) -> float:
        """Lower bound of cost·x from a lower bound of `coefficients`·x."""
        return value / self.scale - self.margin


def integer_cost(cost: FloatArray, upper: IntArray) -> IntegerCost:
    """Scale and round costs down.

    Costs with up to six decimals stay exact. Others are scaled by a power of two; rounding takes at most Σx / scale
    from a point's cost. Larger numbers than `COST_PRECISION` asks for would only slow the search.
    """
    magnitude = float(np.abs(cost) @ upper)
    largest = 2.0**COST_BITS / magnitude if magnitude > 0 else 1.0
    for scale in _DECIMALS:
        rounded = np.rint(cost * scale)
        if scale <= largest and (np.abs(cost * scale - rounded) <= _EXACT * np.maximum(1.0, np.abs(rounded))).all():
            break
    else:
        # Some cost is well above the smallest doubles here: decimals stand for all that are not.
        wanted = float(upper.sum()) / (COST_PRECISION * float(np.abs(cost).max()))
        scale = min(2.0 ** np.floor(np.log2(largest)), 2.0 ** np.ceil(np.log2(max(1.0, wanted))))
        rounded = np.floor(cost * scale)
    margin = float(np.maximum(0.0, rounded - cost * scale) @ upper) / scale
    return IntegerCost(rounded.astype(np.int64), float(scale), margin)


def integer_rows(model: Model) -> tuple[IntArray, FloatArray, FloatArray]:
    """Coefficients (nnz), lower and upper bounds (m) of all rows as whole numbers; bounds may be infinite.

    Rows of whole numbers stay as they are. A capacity row Σ a·x ≤ b is multiplied by the smallest power of ten that
    makes its coefficients whole, or else by the power of two that keeps the error below `ROW_PRECISION` as far as
    `ROW_BITS` allow; then coefficients are rounded down and its bound so that no point that fits is lost.
    """
    rows = np.repeat(np.arange(model.n_rows), np.diff(model.indptr))
    coefficients = np.rint(model.data)
    lower, upper = model.row_lower.copy(), model.row_upper.copy()
    fractional = ~model.integral_row
    if fractional.any():
        scale, exact = _row_scales(model, rows)
        scaled = model.data * scale[rows]
        entries = fractional[rows]
        coefficients[entries] = np.where(exact[rows], np.rint(scaled), np.floor(scaled))[entries]
        bound = model.row_upper * scale
        bound = np.where(exact, np.floor(bound + _SAFETY * np.maximum(1.0, np.abs(bound))), np.ceil(bound))
        upper[fractional] = bound[fractional]
        # A coefficient beyond the bound only says that its variable is 0; cut it, so that nothing overflows.
        capped = np.minimum(coefficients, np.maximum(upper, 0.0)[rows] + 1.0)
        coefficients[entries] = capped[entries]
    return coefficients.astype(np.int64), lower, upper


def _row_scales(model: Model, rows: IntArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Factor of every row, and whether it makes the row's coefficients whole."""
    m = model.n_rows
    usable = _usable(model, rows)
    activity = np.bincount(rows, weights=model.data * usable, minlength=m)
    units = np.bincount(rows, weights=usable, minlength=m)
    capacity = np.where(np.isfinite(model.row_upper), np.maximum(np.abs(model.row_upper), 1e-9), 1.0)
    largest = 2.0**ROW_BITS / np.maximum(np.maximum(activity, capacity), 1e-9)
    wanted = np.maximum(units, 1.0) / (ROW_PRECISION * capacity)
    scale = 2.0 ** np.floor(np.log2(np.minimum(largest, 2.0 * wanted)))
    exact = np.zeros(m, dtype=bool)
    for factor in _DECIMALS:
        scaled = model.data * factor
        off = np.abs(scaled - np.rint(scaled)) > _EXACT * np.maximum(1.0, np.abs(scaled))
        whole = ~exact & (np.bincount(rows, weights=off, minlength=m) == 0) & (factor <= largest)
        scale[whole] = factor
        exact |= whole
    return scale, exact


def _usable(model: Model, rows: IntArray) -> FloatArray:
    """(nnz) most units of the entry's variable that its row alone leaves room for."""
    room = np.maximum(model.row_upper, 0.0)[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        fits = np.floor(room / model.data * (1.0 + _SAFETY))
    return np.minimum(model.upper[model.indices], np.where(model.data > 0, fits, np.inf))
