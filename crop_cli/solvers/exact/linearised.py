"""A linearised problem and the meaning of its columns."""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.model.problem import Problem
from crop_cli.solvers.exact.options import Options
from crop_cli.solvers.exact.sparse_model import SparseModel
from crop_cli.solvers.exact.split import Split


@dataclass(frozen=True, slots=True)
class Group:
    """The columns of interchangeable jobs.

    Attributes
    ----------
    options
        The jobs and what they can do.
    whole
        Column of `options.whole_nodes[0]`; the other nodes follow.
    split, copies
        The block of a split placement, and the first column of each of its copies; None and () if no split is possible.
    stay
        Column of staying, −1 if the job does not run now.
    """

    options: Options
    whole: int
    split: Split | None
    copies: tuple[int, ...]
    stay: int


@dataclass(frozen=True, slots=True)
class Linearised:
    """A model and the meaning of its columns: F = constant − cost·x."""

    problem: Problem
    model: SparseModel
    constant: float
    groups: tuple[Group, ...]
