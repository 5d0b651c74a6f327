"""What is known about a `SparseModel` while and after a back end works on it, each claim checked before it counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crop_cli.solvers.exact.sparse_model import FloatArray, IntArray, SparseModel

CAPACITY_SLACK = 4e-7
"""A point is accepted when a fractional row exceeds its bound by at most this, relative to max(1, |bound|)."""

PROOF_TOLERANCE = 1e-6
"""Cost and bound prove optimality when they differ by at most this, relative to the cost (see `Evidence.tolerance`)."""


def cost_of(model: SparseModel, x: IntArray) -> float:
    """cost·x."""
    return float(model.cost @ x)


def defect(model: SparseModel, x: IntArray) -> str | None:
    """Why a point is not feasible; None when it is.

    Rows of whole numbers must hold exactly, the others within `CAPACITY_SLACK`.
    """
    if x.shape != model.cost.shape:
        return f"{len(x)} values for {len(model.cost)} variables"
    outside = np.flatnonzero((x < 0) | (x > model.upper))
    if len(outside):
        i = outside[0]
        return f"variable {i} is {x[i]}, its bounds are 0 and {model.upper[i]}"
    activity: FloatArray = model.matrix @ x.astype(np.float64)
    excess = np.maximum(model.row_lower - activity, activity - model.row_upper)
    broken = np.flatnonzero(excess > row_slack(model))
    if len(broken):
        i = broken[0]
        return f"row {i} is {activity[i]:.9g}, its bounds are {model.row_lower[i]:.9g} and {model.row_upper[i]:.9g}"
    return None


def row_slack(model: SparseModel) -> FloatArray:
    """(m) how far a row may be exceeded: not at all by whole numbers, whose sums are exact in floating point."""
    limit = np.where(np.isfinite(model.row_upper), np.abs(model.row_upper), 1.0)
    slack: FloatArray = np.where(model.integral_row, 0.0, CAPACITY_SLACK * np.maximum(1.0, limit))
    return slack


@dataclass(slots=True)
class Evidence:
    """Best verified point and best bound so far.

    Attributes
    ----------
    x, cost
        Best point that `defect` accepts, and cost·x; None until there is one.
    bound
        Best lower bound of the cost that was claimed; None until there is one.
    notes
        What was refused and why, one sentence each.
    """

    model: SparseModel
    x: IntArray | None = None
    cost: float | None = None
    bound: float | None = None
    notes: list[str] = field(default_factory=list)
    _refused: list[str] = field(default_factory=list)
    _whole: bool = field(init=False)
    _term: float = field(init=False)

    def __post_init__(self) -> None:
        cost = self.model.cost
        self._whole = bool((cost == np.rint(cost)).all())
        self._term = min(1.0, float(np.abs(cost).max(initial=0.0)))

    def offer(self, x: IntArray) -> bool:
        """Take a point if it is feasible and better than the best so far; whether it was taken."""
        why = defect(self.model, x)
        if why is not None:
            self._refused.append(why)
            return False
        cost = cost_of(self.model, x)
        if self.cost is not None and cost >= self.cost:
            return False
        self.x, self.cost = x, cost
        return True

    def claim(self, bound: float) -> bool:
        """Take a lower bound if it is better than the best so far; whether it was taken."""
        if not np.isfinite(bound):
            return False
        bound = self._rounded(bound)
        if self.bound is not None and bound <= self.bound:
            return False
        self.bound = bound
        return True

    @property
    def proved(self) -> bool:
        """Whether the best point is optimal by the best bound."""
        return self.cost is not None and self.bound is not None and self.cost - self.bound <= self.tolerance

    @property
    def tolerance(self) -> float:
        """Largest difference of cost and bound that is taken for rounding; for a cost near 0, relative to its terms."""
        return PROOF_TOLERANCE * max(abs(self.cost or 0.0), self._term)

    def settle(self) -> None:
        """Bring bound and cost into agreement: rounding noise is cut off, a contradiction costs the bound its place.

        To be called once, at the end; completes the notes.
        """
        if self._refused:
            count = "A point was" if len(self._refused) == 1 else f"{len(self._refused)} points were"
            self.notes.append(f"{count} refused: {self._refused[0]}.")
        if self.cost is None or self.bound is None or self.bound <= self.cost:
            return
        if self.bound - self.cost > self.tolerance:
            self.notes.append(
                f"The back end's bound {self.bound:.9g} was refused: a verified point costs only {self.cost:.9g}."
            )
            self.bound = None
        else:
            self.bound = self.cost

    def _rounded(self, bound: float) -> float:
        """The bound raised to the next whole number where every cost is one."""
        return float(np.ceil(bound - PROOF_TOLERANCE)) if self._whole and abs(bound) < 2.0**40 else bound
