"""A linearised problem with names: what the writers of MPS and LP files share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from crop_cli._version import __version__
from crop_cli.export.columns import Names, column_names, legend
from crop_cli.model.findings import quoted
from crop_cli.model.problem import Problem
from crop_cli.solvers.exact.linearise import linearise
from crop_cli.solvers.exact.linearised import Linearised

CONSTANT = "constant"
"""A column that is fixed at 1 and carries the constant of F: readers disagree about constants and their signs."""

Terms = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Row:
    """Σ coefficient·column, `sense` ("<=", ">=" or "="), right-hand side."""

    name: str
    terms: Terms
    sense: str
    right: float


@dataclass(frozen=True)
class Program:
    """The linearisation with a name for every column."""

    linearised: Linearised

    @classmethod
    def of(cls, problem: Problem) -> Program:
        """Linearise a problem (model.md, section 6)."""
        return cls(linearise(problem))

    @cached_property
    def names(self) -> Names:
        """Tokens of jobs and vertices."""
        return Names(self.linearised.problem)

    @cached_property
    def columns(self) -> list[str]:
        """(n) names; the constant's is not among them."""
        return column_names(self.linearised, self.names)

    @cached_property
    def gains(self) -> Terms:
        """F as an expression; columns of no value are left out."""
        costs = zip(self.columns, self.linearised.model.cost.tolist(), strict=True)
        return [(CONSTANT, self.linearised.constant), *((name, -cost) for name, cost in costs if cost)]

    @cached_property
    def bounds(self) -> list[tuple[str, int]]:
        """Name and upper bound of every column; all lower bounds are 0."""
        return list(zip(self.columns, self.linearised.model.upper.tolist(), strict=True))

    def rows(self) -> Iterator[Row]:
        """Every row with one right-hand side; a row with two different ones is given twice."""
        model = self.linearised.model
        starts, indices, values = (
            model.matrix.indptr.tolist(),
            model.matrix.indices.tolist(),
            model.matrix.data.tolist(),
        )
        for i, (low, high) in enumerate(zip(model.row_lower.tolist(), model.row_upper.tolist(), strict=True)):
            terms = [(self.columns[indices[e]], values[e]) for e in range(starts[i], starts[i + 1])]
            if low == high:
                yield Row(f"r{i}", terms, "=", low)
                continue
            if math.isfinite(low):
                yield Row(f"r{i}" if math.isinf(high) else f"r{i}.low", terms, ">=", low)
            if math.isfinite(high):
                yield Row(f"r{i}" if math.isinf(low) else f"r{i}.high", terms, "<=", high)

    def comments(self, sha256: str, objective: str) -> list[str]:
        """Lines for the head of a file.

        Parameters
        ----------
        sha256
            Of the instance file.
        objective
            How F follows from the objective of the file.
        """
        instance, model = self.linearised.problem.instance, self.linearised.model
        rows, columns = model.matrix.shape
        return [
            f"Placement of jobs on a GPU cluster, linearised by crop {__version__}.",
            f"Instance: {quoted(instance.name)}, SHA-256 of its file {sha256 or 'unknown'}.",
            f"Columns: {columns} and {CONSTANT}; rows: {rows}; coefficients: {model.matrix.nnz}.",
            "",
            objective,
            f"Scale 1: values are in GPUs' worth of perfect work. {CONSTANT} is fixed at 1 and carries the value",
            f"{self.linearised.constant!r} of the running jobs that may not be moved.",
            "Ask for a relative gap of 0, or at most 1e-6, to compare optima; whole numbers within 1e-6.",
            *legend(self.linearised, self.names),
        ]
