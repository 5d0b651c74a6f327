"""The block of one split placement (model.md, section 6): homes with levels, parts with classes, workers per node.

Columns, all integer and nonnegative:

- `tails[v][i]` is 1 when the home is v and the performance level is the home's i-th or a later one. So tails[v][0] says
  that v is the home, and tails[v][i] − tails[v][i+1] that the level is the i-th. The first carries its goodput, each
  further one what the efficiency falls.
- `part[u, c]` is 1 when some but not all workers are below u and their number lies in class c. It carries the penalty
  for the cut uplink, for nodes the expected loss by failures, and the reserved rate. Counts of a class have the same
  rate and are allowed by the same levels.
- `steps[n, c]` is the number of workers on node n in units of the class, where the class has more than one count. Inner
  vertices have it only where counts are restricted to multiples.

The rows are in `split_rows`. The level of the best efficiency that a placement allows is one of its home's (`reach`),
so the optimum of the block is the job's true utility.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.kinds import TIME_SLACK, Kind
from crop_cli.model.problem import Problem
from crop_cli.solvers.exact.options import Options
from crop_cli.solvers.exact.reach import below
from crop_cli.solvers.exact.rows import Block, Rows
from crop_cli.solvers.exact.split_rows import Frame, Part, add_rows

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Split:
    """The block with the meaning of its columns.

    Attributes
    ----------
    block
        Columns and rows.
    tails
        By home: one column per level of `Home.levels`.
    parts
        By vertex: its classes.
    """

    block: Block
    tails: dict[int, list[int]]
    parts: dict[int, list[Part]]


def split_block(problem: Problem, options: Options, limiting: set[int]) -> Split:
    """The block of one split placement.

    Parameters
    ----------
    problem, options
        What is to be placed, and how it can be.
    limiting
        Vertices whose uplinks can be overbooked, so that the reserved rate matters.
    """
    kind = options.kind
    columns = _Columns([], [])
    frame = Frame(
        problem=problem,
        kind=kind,
        depths=options.reach.depths,
        homes={home.vertex: home for home in options.reach.homes},
        tails={},
        parts={},
        parent=_parents(problem, options.reach.depths),
        link_allowed=_link_allowed(kind),
        node_cap=np.array([kind.node_cap(level) for level in range(len(kind.levels))]),
    )
    for home in options.reach.homes:
        goodput = kind.weight * kind.k * kind.levels.efficiency[list(home.levels)]
        falls = np.diff(goodput, prepend=options.migration_cost)
        frame.tails[home.vertex] = [columns.add(float(value), 1) for value in falls]
    rate = _add_parts(frame, options, limiting, columns)
    rows = Rows()
    add_rows(frame, rows)
    workers = [
        (column, part.vertex - problem.tree.node_vertex, int(count))
        for part in frame.all_parts()
        if part.vertex >= problem.tree.node_vertex
        for column, count in part.workers()
    ]
    block = Block(
        value=np.array(columns.value, dtype=np.float64),
        upper=np.array(columns.upper, dtype=np.int64),
        rows=rows,
        placed=np.array([tails[0] for tails in frame.tails.values()], dtype=np.int64),
        worker_column=np.array([w[0] for w in workers], dtype=np.int64),
        worker_node=np.array([w[1] for w in workers], dtype=np.int64),
        worker_count=np.array([w[2] for w in workers], dtype=np.int64),
        rate_column=np.array([r[0] for r in rate], dtype=np.int64),
        rate_vertex=np.array([r[1] for r in rate], dtype=np.int64),
        rate=np.array([r[2] for r in rate], dtype=np.float64),
    )
    return Split(block=block, tails=frame.tails, parts=frame.parts)


@dataclass(slots=True)
class _Columns:
    """Value and upper bound of the columns so far."""

    value: list[float]
    upper: list[int]

    def add(self, value: float, upper: int) -> int:
        """Append a column."""
        self.value.append(value)
        self.upper.append(upper)
        return len(self.value) - 1


def _add_parts(frame: Frame, options: Options, limiting: set[int], columns: _Columns) -> list[tuple[int, int, float]]:
    """Parts of every vertex strictly below a home, top down; what they reserve: (column, vertex, Gbit/s)."""
    problem, kind, tree = frame.problem, frame.kind, frame.problem.tree
    objective = problem.instance.objective
    penalty = kind.weight * objective.cut_penalty
    loss = kind.weight * kind.k * objective.failure_weight * kind.days_lost_per_failure
    reserved: list[tuple[int, int, float]] = []
    covered = set(frame.homes)
    for depth in frame.depths[1:]:
        is_node = depth == tree.max_depth
        for u in range(int(tree.start[depth]), int(tree.start[depth + 1])):
            if frame.parent[u] not in covered:
                continue
            covered.add(u)
            cost = penalty + (loss * float(problem.failures[u - tree.node_vertex]) if is_node else 0.0)
            rates = kind.link_rate[problem.link_of[u]] if u in limiting else np.zeros(kind.k + 1)
            for low, high, step in _classes(frame, options, u, rates):
                part = columns.add(-cost, 1)
                wants_steps = high > low and (is_node or step > 1)
                steps = columns.add(0.0, high // step) if wants_steps else -1
                frame.parts.setdefault(u, []).append(Part(u, low, high, step, part, steps))
                if rates[low] > 0:
                    reserved.append((part, u, float(rates[low])))
    return reserved


def _classes(frame: Frame, options: Options, u: int, rates: FloatArray) -> list[tuple[int, int, int]]:
    """Runs of counts with equal rate and equal levels: (low, high, step)."""
    possible, own = options.reach.parts[u], options.reach.own[u]
    if not possible:
        return []
    lowest, highest = (possible & -possible).bit_length() - 1, possible.bit_length() - 1
    counts = [c for c in range(lowest, highest + 1) if own >> c & 1]
    step = gcd(*counts)
    levels = sorted({level for home in frame.homes_above(u) for level in home.levels})
    allows = frame.link_allowed[levels, frame.problem.link_of[u]]
    runs: list[list[int]] = [[counts[0]]]
    for previous, c in pairwise(counts):
        same = rates[c] == rates[previous] and bool((allows[:, c] == allows[:, previous]).all())
        if same and c == previous + step:
            runs[-1].append(c)
        else:
            runs.append([c])
    members = [[c for c in run if possible >> c & 1] for run in runs]
    return [(run[0], run[-1], step) for run in members if run]


def _parents(problem: Problem, depths: tuple[int, ...]) -> dict[int, int]:
    """The nearest vertex above, of a depth of the kind, of every vertex of such a depth."""
    start = problem.tree.start
    return {
        u: v
        for upper, lower in pairwise(depths)
        for v in range(int(start[upper]), int(start[upper + 1]))
        for u in below(problem, v, lower)
    }


def _link_allowed(kind: Kind) -> BoolArray:
    """(levels, B, k+1) `Kind.link_allowed` of all levels."""
    allowed: BoolArray = kind.link_time[None] <= (kind.levels.comm_s * TIME_SLACK)[:, None, None]
    return allowed
