"""The rows of the block of one split placement; its columns are in `split`.

With h(v) = tails[v][0], p(u) = Σ_c part[u, c], and x_n the workers on node n:

1. Σ h ≤ 1.
2. Workers below an inner vertex u of the kind's depths: Σ x_n = k·Σ_{v at or below u} h(v) + q(u), where q(u) lies
   within the class of u's part, and is 0 for the root. So all workers are below the home.
3. lowest·part ≤ steps ≤ highest·part.
4. p(u) ≤ h(parent) + p(parent): a vertex can be a part only if its parent is the home or a part itself.
5. For a depth d below an inner vertex u: Σ p(w) over w of depth d below u ≥ p(u) + Σ least(v, d)·h(v) over homes v at
   or below u and above d, since the job has one home, and least(v, d) is the fewest parts whose largest counts reach k.
6. part[u, c] ≤ the sum of the levels, over homes v above u, that allow the class; left out where all do.
7. x_n ≤ Σ cap·level over homes v above n, where the cap of the node's fabric depends on the level.
8. The levels before the i-th of a home v: k·(h(v) − tails[v][i]) ≤ Σ x_n over the classes of nodes n below v that any
   of them allows; for the largest i with the same classes, and left out where that is all of them.
9. tails[v][i] ≤ tails[v][i−1].

4, 5 and 8 are implied for whole numbers; they tighten the relaxation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Problem
from crop_cli.solvers.exact.reach import Home, below
from crop_cli.solvers.exact.rows import Rows, Terms

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Part:
    """A class of counts of one vertex: `low`, `low + step`, ..., `high`; `part` and `steps` are columns (−1: none)."""

    vertex: int
    low: int
    high: int
    step: int
    part: int
    steps: int

    def workers(self) -> Terms:
        """The number of workers as an expression; where it is one."""
        return [(self.part, self.low)] if self.steps < 0 else [(self.steps, self.step)]


@dataclass(frozen=True, slots=True)
class Frame:
    """All columns of the block, and what the rows need to know.

    Attributes
    ----------
    problem, kind, depths
        What is placed, and the depths that matter to it.
    homes, tails, parts
        Homes, their columns, and classes of parts, by vertex.
    parent
        The nearest vertex above that has a depth of the kind.
    link_allowed, node_cap
        (levels, B, k+1) and (levels, H): `Kind.link_allowed` and `Kind.node_cap`.
    """

    problem: Problem
    kind: Kind
    depths: tuple[int, ...]
    homes: dict[int, Home]
    tails: dict[int, list[int]]
    parts: dict[int, list[Part]]
    parent: dict[int, int]
    link_allowed: BoolArray
    node_cap: IntArray

    def homes_above(self, u: int) -> list[Home]:
        """Homes strictly above a vertex."""
        found = []
        while u in self.parent:
            u = self.parent[u]
            if u in self.homes:
                found.append(self.homes[u])
        return found

    def homes_within(self, u: int) -> list[Home]:
        """Homes at or below a vertex."""
        return [home for home in self.homes.values() if self.is_below(home.vertex, u)]

    def is_below(self, vertex: int, ancestor: int) -> bool:
        """Whether a vertex is the other one or below it."""
        while vertex > ancestor:
            vertex = self.parent[vertex]
        return vertex == ancestor

    def all_parts(self) -> list[Part]:
        """Every class of every vertex."""
        return [part for parts in self.parts.values() for part in parts]

    def workers_below(self, u: int) -> Terms:
        """Workers on the nodes below a vertex."""
        nodes = below(self.problem, u, self.problem.tree.max_depth)
        return [t for n in nodes for part in self.parts.get(n, []) for t in part.workers()]

    def allows(self, part: Part, levels: Sequence[int]) -> BoolArray:
        """(levels) whether a performance level allows the least count of a class (and so all but for fabrics)."""
        at = list(levels)
        allowed: BoolArray = self.link_allowed[at, self.problem.link_of[part.vertex], part.low]
        n = part.vertex - self.problem.tree.node_vertex
        return allowed & (self.node_cap[at, self.problem.hardware_of[n]] >= part.low) if n >= 0 else allowed


def add_rows(frame: Frame, rows: Rows) -> None:
    """All rows of the block."""
    rows.add(((tails[0], 1.0) for tails in frame.tails.values()), upper=1.0)
    for tails in frame.tails.values():
        for earlier, later in pairwise(tails):
            rows.add([(later, 1.0), (earlier, -1.0)], upper=0.0)
    for part in frame.all_parts():
        if part.steps >= 0:
            rows.add([(part.steps, 1.0), (part.part, -float(part.low // part.step))], lower=0.0)
            rows.add([(part.steps, 1.0), (part.part, -float(part.high // part.step))], upper=0.0)
    start = frame.problem.tree.start
    for depth in frame.depths[:-1]:
        for u in range(int(start[depth]), int(start[depth + 1])):
            _add_gang_rows(frame, rows, u)
            _add_least_rows(frame, rows, u)
    for u in frame.parts:
        rows.add(
            _part(frame, u) + _scaled(_home(frame, frame.parent[u]) + _part(frame, frame.parent[u]), -1.0), upper=0.0
        )
        _add_level_rows(frame, rows, u)
    for home in frame.homes.values():
        _add_support_rows(frame, rows, home)


def _add_gang_rows(frame: Frame, rows: Rows, u: int) -> None:
    """Row 2."""
    inside = frame.workers_below(u)
    homes = [(frame.tails[home.vertex][0], -float(frame.kind.k)) for home in frame.homes_within(u)]
    if not inside and not homes:
        return
    parts = frame.parts.get(u, [])
    ranged = [p for p in parts if p.steps < 0 and p.high > p.low]
    exact = [term for p in parts if p not in ranged for term in p.workers()]
    if not ranged:
        rows.add(inside + homes + _scaled(exact, -1.0), lower=0.0, upper=0.0)
        return
    least = exact + [(p.part, float(p.low)) for p in ranged]
    most = exact + [(p.part, float(p.high)) for p in ranged]
    rows.add(inside + homes + _scaled(least, -1.0), lower=0.0)
    rows.add(inside + homes + _scaled(most, -1.0), upper=0.0)


def _add_least_rows(frame: Frame, rows: Rows, u: int) -> None:
    """Row 5."""
    depth = frame.problem.tree.depth
    for d in frame.depths:
        if d <= depth[u]:
            continue
        homes = [home for home in frame.homes_within(u) if depth[home.vertex] < d]
        needed = [(frame.tails[home.vertex][0], -float(_least(frame, home, d))) for home in homes]
        needed += _scaled(_part(frame, u), -1.0)
        if needed:
            rows.add([t for w in below(frame.problem, u, d) for t in _part(frame, w)] + needed, lower=0.0)


def _least(frame: Frame, home: Home, depth: int) -> int:
    deeper = [d for d in frame.depths if d > frame.problem.tree.depth[home.vertex]]
    return home.least[deeper.index(depth)]


def _add_level_rows(frame: Frame, rows: Rows, u: int) -> None:
    """Rows 6 and 7."""
    above = frame.homes_above(u)
    for part in frame.parts[u]:
        fits = [frame.allows(part, home.levels) for home in above]
        if not all(fit.all() for fit in fits):
            allowed: Terms = []
            for home, fit in zip(above, fits, strict=True):
                allowed += _levels(frame, home, fit.astype(np.int64))
            rows.add([(part.part, 1.0), *_scaled(allowed, -1.0)], upper=0.0)
    n = u - frame.problem.tree.node_vertex
    if n < 0:
        return
    highest = max(part.high for part in frame.parts[u])
    caps = [np.minimum(frame.node_cap[list(home.levels), frame.problem.hardware_of[n]], highest) for home in above]
    if any(((cap > 0) & (cap < highest)).any() for cap in caps):
        limits: Terms = []
        for home, cap in zip(above, caps, strict=True):
            limits += _levels(frame, home, cap)
        rows.add([t for part in frame.parts[u] for t in part.workers()] + _scaled(limits, -1.0), upper=0.0)


def _add_support_rows(frame: Frame, rows: Rows, home: Home) -> None:
    """Row 8."""
    nodes = below(frame.problem, home.vertex, frame.problem.tree.max_depth)
    parts = [part for n in nodes for part in frame.parts.get(n, [])]
    allowed = np.array([frame.allows(part, home.levels) for part in parts]).T
    # Row i: the classes that any of the levels up to the i-th allows.
    so_far = np.logical_or.accumulate(allowed, axis=0)
    tails = frame.tails[home.vertex]
    for i in range(len(tails)):
        is_last = i + 1 == len(tails) or not np.array_equal(so_far[i], so_far[i + 1])
        if is_last and not so_far[i].all():
            inside = [t for part, fits in zip(parts, so_far[i], strict=True) if fits for t in part.workers()]
            levels = [(tails[0], -float(frame.kind.k))]
            if i + 1 < len(tails):
                levels.append((tails[i + 1], float(frame.kind.k)))
            rows.add(inside + levels, lower=0.0)


def _levels(frame: Frame, home: Home, weights: IntArray) -> Terms:
    """Σ weight·level over the levels of a home, in terms of its tails."""
    steps = np.diff(weights, prepend=0)
    return [(column, float(step)) for column, step in zip(frame.tails[home.vertex], steps, strict=True) if step]


def _home(frame: Frame, v: int) -> Terms:
    return [(frame.tails[v][0], 1.0)] if v in frame.tails else []


def _part(frame: Frame, u: int) -> Terms:
    return [(part.part, 1.0) for part in frame.parts.get(u, [])]


def _scaled(terms: Terms, factor: float) -> Terms:
    return [(column, factor * coefficient) for column, coefficient in terms]
