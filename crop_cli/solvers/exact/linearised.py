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
    homed
        Column by inner vertex (of the kind's depths): how many jobs have their home at or below it. The root's counts
        those that stay, too.
    """

    options: Options
    whole: int
    split: Split | None
    copies: tuple[int, ...]
    stay: int
    homed: dict[int, int]

    def on_node(self, node: int, vertex: int) -> list[int]:
        """Columns whose sum is the number of jobs with workers on a node, those that stay not counted."""
        columns = [self.whole + i for i, n in enumerate(self.options.whole_nodes) if n == node]
        if self.split is not None:
            parts = self.split.parts.get(vertex, [])
            columns += [first + part.part for first in self.copies for part in parts]
        return columns


@dataclass(frozen=True, slots=True)
class Linearised:
    """A model and the meaning of its columns: F = constant − cost·x."""

    problem: Problem
    model: SparseModel
    constant: float
    groups: tuple[Group, ...]
