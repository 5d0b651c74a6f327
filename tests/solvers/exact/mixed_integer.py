"""A `SparseModel` solved within the test process, for tests of the model that do not need a solver process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from crop_cli.solvers.exact.sparse_model import SparseModel


def minimum(model: SparseModel, *, integral: bool = True) -> tuple[float, NDArray[np.float64]] | None:
    """Least cost and a point that has it; None if there is no feasible point. Not integral: of the relaxation."""
    if model.matrix.shape[1] == 0:
        feasible = bool((model.row_lower <= 0).all() and (model.row_upper >= 0).all())
        return (0.0, np.zeros(0)) if feasible else None
    result = milp(
        model.cost,
        constraints=LinearConstraint(model.matrix, model.row_lower, model.row_upper),
        bounds=Bounds(0, model.upper),
        integrality=np.full(len(model.cost), int(integral)),
        options={"mip_rel_gap": 0.0},
    )
    if result.status == 2:
        return None
    assert result.status == 0, result.message
    return float(result.fun), np.rint(result.x) if integral else result.x
