"""Growing lists of columns and rows that become the arrays of a `SparseModel`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from crop_cli.solvers.exact.sparse_model import SparseModel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

Terms = list[tuple[int, float]]
"""A linear expression: columns with coefficients; a column may occur more than once."""


@dataclass(slots=True)
class Rows:
    """Rows lower ≤ Σ coefficient·column ≤ upper, collected one by one."""

    columns: list[int] = field(default_factory=list)
    coefficients: list[float] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def add(self, terms: Iterable[tuple[int, float]], lower: float = -np.inf, upper: float = np.inf) -> None:
        """Append one row."""
        for column, coefficient in terms:
            self.columns.append(column)
            self.coefficients.append(coefficient)
        self.ends.append(len(self.columns))
        self.lower.append(lower)
        self.upper.append(upper)

    def extend(self, other: Rows, first: int) -> None:
        """Append the rows of a block whose column 0 is column `first` here."""
        shift = len(self.columns)
        self.columns += [column + first for column in other.columns]
        self.coefficients += other.coefficients
        self.ends += [end + shift for end in other.ends]
        self.lower += other.lower
        self.upper += other.upper


@dataclass(frozen=True, slots=True)
class Block:
    """Columns and rows of one placement of one job, numbered from 0: copied as often as there are equal jobs.

    Attributes
    ----------
    value
        (n) what a unit of the column adds to F.
    upper
        (n) upper bound.
    rows
        Rows within the block.
    placed
        Columns whose sum is 1 when the block places its job, else 0.
    worker_column, worker_node, worker_count
        Entries of x_jn: workers on a node per unit of a column.
    rate_column, rate_vertex, rate
        Gbit/s reserved on a vertex's uplink per unit of a column.
    """

    value: FloatArray
    upper: IntArray
    rows: Rows
    placed: IntArray
    worker_column: IntArray
    worker_node: IntArray
    worker_count: IntArray
    rate_column: IntArray
    rate_vertex: IntArray
    rate: FloatArray


@dataclass(slots=True)
class Sheet:
    """All columns and rows of a model, and what the columns use of nodes and uplinks."""

    n_resources: int
    value: list[FloatArray] = field(default_factory=list)
    upper: list[IntArray] = field(default_factory=list)
    rows: Rows = field(default_factory=Rows)
    n_columns: int = 0
    workers: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = field(default_factory=list)
    rates: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)

    def add_block(self, block: Block, demand: FloatArray) -> int:
        """Append a copy of a block whose workers need `demand` (R) each; its first column."""
        first = self.n_columns
        self.value.append(block.value)
        self.upper.append(block.upper)
        self.n_columns += len(block.value)
        self.rows.extend(block.rows, first)
        self.workers.append((block.worker_column + first, block.worker_node, block.worker_count, demand))
        self.rates.append((block.rate_column + first, block.rate_vertex, block.rate))
        return first

    def add_column(self, upper: int) -> int:
        """Append one column without value."""
        self.value.append(np.zeros(1))
        self.upper.append(np.array([upper], dtype=np.int64))
        self.n_columns += 1
        return self.n_columns - 1

    def loads(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Column, node, and (entries, R) load per unit of the column."""
        if not self.workers:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros((0, self.n_resources))
        columns, nodes, counts, demands = zip(*self.workers, strict=True)
        loads = np.concatenate([c[:, None] * d[None, :] for c, d in zip(counts, demands, strict=True)])
        return np.concatenate(columns), np.concatenate(nodes), loads

    def reserved(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Column, vertex, and Gbit/s per unit of the column."""
        if not self.rates:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        columns, vertices, rates = zip(*self.rates, strict=True)
        return np.concatenate(columns), np.concatenate(vertices), np.concatenate(rates)

    def model(self) -> SparseModel:
        """The arrays, without a start; coefficients of a column that occurs twice in a row are added."""
        rows = self.rows
        lower, upper = np.array(rows.lower, dtype=np.float64), np.array(rows.upper, dtype=np.float64)
        row = np.repeat(np.arange(len(lower)), np.diff([0, *rows.ends]))
        column = np.array(rows.columns, dtype=np.int64)
        coefficient = np.array(rows.coefficients, dtype=np.float64)
        matrix = csr_array((coefficient, (row, column)), shape=(len(lower), self.n_columns))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        fractional = np.zeros(len(lower), dtype=bool)
        fractional[np.repeat(np.arange(len(lower)), np.diff(matrix.indptr))[matrix.data != np.rint(matrix.data)]] = True
        for bound in (lower, upper):
            fractional |= np.isfinite(bound) & (bound != np.rint(bound))
        return SparseModel(
            cost=-np.concatenate([*self.value, np.zeros(0)]),
            upper=np.concatenate([*self.upper, np.zeros(0, dtype=np.int64)]),
            matrix=matrix,
            row_lower=lower,
            row_upper=upper,
            integral_row=~fractional,
            start=None,
        )
