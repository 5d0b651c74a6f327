"""A mixed-integer program as plain sparse arrays: what every back end gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SparseModel:
    """minimise cost·x subject to row_lower ≤ A·x ≤ row_upper, 0 ≤ x ≤ upper, every x integer.

    There is no constant: `crop_cli.solvers.exact.linearise` keeps sign and constant (F = constant − cost·x).

    Attributes
    ----------
    cost
        (n) objective coefficients.
    upper
        (n) finite upper bounds, whole numbers.
    matrix
        (m, n) coefficients, CSR.
    row_lower, row_upper
        (m) bounds of the rows, infinite where open.
    integral_row
        (m) true where coefficients and finite bounds are whole numbers; the others are capacities with fractional
        coefficients, `row_lower` = −inf, and nonnegative coefficients.
    start
        (n) a feasible point, or None.
    """

    cost: FloatArray
    upper: IntArray
    matrix: csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    integral_row: NDArray[np.bool_]
    start: IntArray | None
