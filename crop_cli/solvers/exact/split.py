"""The block of one split placement (model.md, section 6): homes with levels, parts with classes, workers per node.

Columns, all integer and nonnegative:

- `level[v, l]` is 1 when the home is v and the performance level l (it carries the goodput);
- `part[u, c]` is 1 when some but not all workers are below u and their number lies in class c (it carries the cut
  penalty of the uplink, for nodes the expected loss by failures, and the reserved rate);
- `steps[n, c]` is the number of workers on node n in units of the class, where the class has more than one count. Inner
  vertices have it only where counts are restricted to multiples.

With h(v) = Σ_l level[v, l] and p(u) = Σ_c part[u, c], the rows are

1. Σ h ≤ 1.
2. Workers below an inner vertex u that belongs to the kind's depths: Σ x_n = k·Σ_{v at or below u} h(v) + q(u), where
   q(u) lies within the class of its part, and is 0 for the root. So every worker of a home's job is below the home.
3. lowest·part ≤ steps ≤ highest·part.
4. p(u) ≤ h(parent) + p(parent): a vertex can be a part only if its parent is the home or a part itself.
5. For a depth d below an inner vertex u: Σ p(w) over w of depth d below u ≥ p(u) + Σ least(v, d)·h(v) over homes v at
   or below u and above d, since the job has one home, and least(v, d) is the fewest parts whose largest counts reach k.
6. part[u, c] ≤ Σ level[v, l] over homes v above u and levels l that allow the class; left out where all do.
7. x_n ≤ Σ cap·level[v, l] over homes v above n, where the cap of the node's fabric depends on the level.
8. k·level[v, l] ≤ Σ x_n over nodes n below v that l allows; left out where l allows all.

4, 5 and 8 are implied for whole numbers; they tighten the relaxation. The level of the best efficiency that a placement
allows is one of its home's (`reach`), so the optimum of the block is the job's true utility.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Problem
from crop_cli.solvers.exact.options import Options
from crop_cli.solvers.exact.reach import Home, below
from crop_cli.solvers.exact.rows import Block, Rows, Terms

IntArray = NDArray[np.int64]


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
        """The number of workers as an expression; only where it is one."""
        return [(self.part, self.low)] if self.steps < 0 else [(self.steps, self.step)]


@dataclass(frozen=True, slots=True)
class Split:
    """The block with the meaning of its columns: what `encode` needs."""

    block: Block
    level: dict[tuple[int, int], int]
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
    return _Builder(problem, options, limiting).build()


class _Builder:
    """Columns first, then rows; kept in one object because all rows look at all columns."""

    def __init__(self, problem: Problem, options: Options, limiting: set[int]) -> None:
        self.problem, self.kind, self.reach, self.limiting = problem, options.kind, options.reach, limiting
        self.homes, self.migration_cost = options.reach.homes, options.migration_cost
        self.depth_index = {d: i for i, d in enumerate(options.reach.depths)}
        self.value: list[float] = []
        self.upper: list[int] = []
        self.rows = Rows()
        self.level: dict[tuple[int, int], int] = {}
        self.parts: dict[int, list[Part]] = {}
        self.rate: list[tuple[int, int, float]] = []
        self.parent = self._parents()

    def build(self) -> Split:
        """All columns and rows."""
        self._add_levels()
        self._add_parts()
        self._add_rows()
        workers = [
            (c, part.vertex - self.problem.tree.node_vertex, w) for part in self._nodes() for c, w in part.workers()
        ]
        block = Block(
            value=np.array(self.value, dtype=np.float64),
            upper=np.array(self.upper, dtype=np.int64),
            rows=self.rows,
            placed=np.array(list(self.level.values()), dtype=np.int64),
            worker_column=np.array([w[0] for w in workers], dtype=np.int64),
            worker_node=np.array([w[1] for w in workers], dtype=np.int64),
            worker_count=np.array([w[2] for w in workers], dtype=np.int64),
            rate_column=np.array([r[0] for r in self.rate], dtype=np.int64),
            rate_vertex=np.array([r[1] for r in self.rate], dtype=np.int64),
            rate=np.array([r[2] for r in self.rate], dtype=np.float64),
        )
        return Split(block=block, level=self.level, parts=self.parts)

    # ---- columns

    def _column(self, value: float, upper: int) -> int:
        self.value.append(value)
        self.upper.append(upper)
        return len(self.value) - 1

    def _add_levels(self) -> None:
        for home in self.homes:
            for level in home.levels:
                goodput = self.kind.weight * self.kind.k * float(self.kind.levels.efficiency[level])
                self.level[home.vertex, level] = self._column(goodput - self.migration_cost, 1)

    def _add_parts(self) -> None:
        """Parts of every vertex strictly below a home, top down."""
        tree, kind, objective = self.problem.tree, self.kind, self.problem.instance.objective
        penalty = kind.weight * objective.cut_penalty
        loss = kind.weight * kind.k * objective.failure_weight * kind.days_lost_per_failure
        home_vertices = {home.vertex for home in self.homes}
        covered: set[int] = set()
        for depth in self.reach.depths[1:]:
            for u in range(int(tree.start[depth]), int(tree.start[depth + 1])):
                parent = self.parent[u]
                if parent not in home_vertices and parent not in covered:
                    continue
                covered.add(u)
                is_node = depth == tree.max_depth
                cost = penalty + (loss * float(self.problem.failures[u - tree.node_vertex]) if is_node else 0.0)
                for low, high, step, rate in self._classes(u):
                    part = self._column(-cost, 1)
                    wants_steps = high > low and (is_node or step > 1)
                    steps = self._column(0.0, high // step) if wants_steps else -1
                    self.parts.setdefault(u, []).append(Part(u, low, high, step, part, steps))
                    if rate > 0:
                        self.rate.append((part, u, rate))

    def _classes(self, u: int) -> list[tuple[int, int, int, float]]:
        """Runs of counts with equal rate and equal levels: (low, high, step, rate)."""
        possible, own = self.reach.parts[u], self.reach.own[u]
        if not possible:
            return []
        lowest, highest = (possible & -possible).bit_length() - 1, possible.bit_length() - 1
        counts = [c for c in range(lowest, highest + 1) if own >> c & 1]
        step = gcd(*counts)
        link = int(self.problem.link_of[u])
        rates = self.kind.link_rate[link]
        allows = np.array([self.kind.link_allowed(level)[link] for _, level in self._levels_above(u)])
        runs: list[list[int]] = []
        previous: tuple[int, float, bytes] | None = None
        for c in counts:
            signature = (c, float(rates[c]) if u in self.limiting else 0.0, allows[:, c].tobytes())
            if previous is not None and previous[0] == c - step and previous[1:] == signature[1:]:
                runs[-1].append(c)
            else:
                runs.append([c])
            previous = signature
        found = []
        for run in runs:
            members = [c for c in run if possible >> c & 1]
            if members:
                rate = float(rates[members[0]]) if u in self.limiting else 0.0
                found.append((members[0], members[-1], step, rate))
        return found

    # ---- rows

    def _add_rows(self) -> None:
        k, tree = self.kind.k, self.problem.tree
        self.rows.add(((c, 1.0) for c in self.level.values()), upper=1.0)
        for part in self._all_parts():
            if part.steps >= 0:
                self.rows.add([(part.steps, 1.0), (part.part, -(part.low // part.step))], lower=0.0)
                self.rows.add([(part.steps, 1.0), (part.part, -(part.high // part.step))], upper=0.0)
        for depth in self.reach.depths[:-1]:
            for u in range(int(tree.start[depth]), int(tree.start[depth + 1])):
                self._add_gang_rows(u, k)
                self._add_least_rows(u)
        for u in self.parts:
            above = self._part(self.parent[u]) + self._home(self.parent[u])
            self.rows.add(self._part(u) + _scaled(above, -1.0), upper=0.0)
            self._add_level_rows(u)
        for home in self.homes:
            self._add_support_rows(home)

    def _add_gang_rows(self, u: int, k: int) -> None:
        """Row 2 of the module's text."""
        inside = self._workers_below(u)
        homes = [(column, -float(k)) for (v, _), column in self.level.items() if self._is_below(v, u)]
        if not inside and not homes:
            return
        parts = self.parts.get(u, [])
        ranged = [p for p in parts if p.steps < 0 and p.high > p.low]
        exact = [term for p in parts if p not in ranged for term in p.workers()]
        low = exact + [(p.part, float(p.low)) for p in ranged]
        high = exact + [(p.part, float(p.high)) for p in ranged]
        if not ranged:
            self.rows.add(inside + homes + _scaled(exact, -1.0), lower=0.0, upper=0.0)
        else:
            self.rows.add(inside + homes + _scaled(low, -1.0), lower=0.0)
            self.rows.add(inside + homes + _scaled(high, -1.0), upper=0.0)

    def _add_least_rows(self, u: int) -> None:
        """Row 5."""
        depths = self.reach.depths
        at = self.depth_index[int(self.problem.tree.depth[u])]
        for i in range(at + 1, len(depths)):
            least = [
                (column, -float(home.least[i - self.depth_index[int(self.problem.tree.depth[home.vertex])] - 1]))
                for home in self.homes
                if self._is_below(home.vertex, u) and self.problem.tree.depth[home.vertex] < depths[i]
                for column in (self.level[home.vertex, level] for level in home.levels)
            ]
            needed = least + _scaled(self._part(u), -1.0)
            parts = [t for w in below(self.problem, u, depths[i]) for t in self._part(w)]
            if needed:
                self.rows.add(parts + needed, lower=0.0)

    def _add_level_rows(self, u: int) -> None:
        """Rows 6 and 7."""
        tree, kind = self.problem.tree, self.kind
        above = self._levels_above(u)
        link = int(self.problem.link_of[u])
        is_node = u >= tree.node_vertex
        caps = None
        if is_node:
            hardware = self.problem.hardware_of[u - tree.node_vertex]
            caps = [int(kind.node_cap(level)[hardware]) for _, level in above]
        for part in self.parts[u]:
            fits = [bool(kind.link_allowed(level)[link, part.low]) for _, level in above]
            if caps is not None:
                fits = [fit and cap >= part.low for fit, cap in zip(fits, caps, strict=True)]
            if not all(fits):
                allowed = [(self.level[key], -1.0) for key, fit in zip(above, fits, strict=True) if fit]
                self.rows.add([(part.part, 1.0), *allowed], upper=0.0)
        if caps is not None:
            highest = max(part.high for part in self.parts[u])
            if any(0 < cap < highest for cap in caps):
                limits = [(self.level[key], -float(min(cap, highest))) for key, cap in zip(above, caps, strict=True)]
                self.rows.add([t for part in self.parts[u] for t in part.workers()] + limits, upper=0.0)

    def _add_support_rows(self, home: Home) -> None:
        """Row 8."""
        tree = self.problem.tree
        nodes = [u for u in below(self.problem, home.vertex, tree.max_depth) if u in self.parts]
        for level in home.levels:
            caps = self.kind.node_cap(level)[self.problem.hardware_of[np.array(nodes) - tree.node_vertex]]
            links = self.kind.link_allowed(level)[self.problem.link_of[np.array(nodes)]]
            terms, all_allowed = Terms(), True
            for u, cap, link in zip(nodes, caps, links, strict=True):
                for part in self.parts[u]:
                    if cap >= part.low and link[part.low]:
                        terms += part.workers()
                    else:
                        all_allowed = False
            if not all_allowed:
                self.rows.add([*terms, (self.level[home.vertex, level], -float(self.kind.k))], lower=0.0)

    # ---- expressions

    def _parents(self) -> dict[int, int]:
        """The nearest vertex above of a depth of the kind."""
        depths = self.reach.depths
        return {
            u: v
            for upper, lower in pairwise(depths)
            for v in range(int(self.problem.tree.start[upper]), int(self.problem.tree.start[upper + 1]))
            for u in below(self.problem, v, lower)
        }

    def _is_below(self, vertex: int, ancestor: int) -> bool:
        """Whether a vertex is the other one or below it."""
        while vertex > ancestor:
            vertex = self.parent[vertex]
        return vertex == ancestor

    def _levels_above(self, u: int) -> list[tuple[int, int]]:
        """(home, level) of every home strictly above a vertex."""
        return [key for key in self.level if key[0] != u and self._is_below(u, key[0])]

    def _home(self, v: int) -> Terms:
        return [(column, 1.0) for (vertex, _), column in self.level.items() if vertex == v]

    def _part(self, u: int) -> Terms:
        return [(part.part, 1.0) for part in self.parts.get(u, [])]

    def _all_parts(self) -> list[Part]:
        return [part for parts in self.parts.values() for part in parts]

    def _nodes(self) -> list[Part]:
        return [part for part in self._all_parts() if part.vertex >= self.problem.tree.node_vertex]

    def _workers_below(self, u: int) -> Terms:
        nodes = below(self.problem, u, self.problem.tree.max_depth)
        return [t for n in nodes for part in self.parts.get(n, []) for t in part.workers()]


def _scaled(terms: Terms, factor: float) -> Terms:
    return [(column, factor * coefficient) for column, coefficient in terms]
