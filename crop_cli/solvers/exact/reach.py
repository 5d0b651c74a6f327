"""What a kind of job can do on this cluster: counts per vertex, homes, and the performance levels that a home has.

The *home* of a placement is the lowest vertex that holds all workers. A placement is either *whole* (its home is a
node) or *split* (its home is an inner vertex). A vertex is a *part* of a split placement when some but not all workers
are below it; its uplink is then cut. Everything here is a sound filter: it drops only what no feasible placement has.

Sets of counts are Python integers used as bit sets: bit c is set when the count c is in the set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crop_cli.model import count_sets
from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Problem

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Home:
    """An inner vertex that can be the home of a split placement.

    Attributes
    ----------
    vertex
        The vertex.
    levels
        Performance levels (indices of `Kind.levels`, best first) that a split placement with this home can have.
    least
        Least number of parts of every depth of `Reach.depths` that is deeper than the vertex.
    """

    vertex: int
    levels: tuple[int, ...]
    least: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """Sound limits of the placements of one kind.

    Attributes
    ----------
    depths
        Depths whose vertices matter to the kind, ascending; the root's 0 first and the nodes' last. A depth in between
        is left out when its uplinks are neither limited nor charged for and no constraint names it.
    whole
        Nodes that can hold all workers.
    own
        (V) bit set of the counts 1..k−1 that the vertex's own constraint and uplink allow.
    parts
        (V) bit set of the counts 1..k−1 that can be below the vertex in a split placement.
    homes
        Homes of split placements.
    """

    depths: tuple[int, ...]
    whole: IntArray
    own: list[int]
    parts: list[int]
    homes: tuple[Home, ...]


def reach(problem: Problem, kind: Kind) -> Reach:
    """Counts, homes and levels of one kind on what is free (model.md, sections 3, 4 and 6)."""
    k, tree = kind.k, problem.tree
    allowed = _allowed_counts(problem, kind)
    depths = _depths(problem, kind)
    whole = np.flatnonzero(allowed[tree.node_vertex :, k])
    partial = allowed.copy()
    partial[:, [0, k]] = False
    partial[0] = False
    own = _bit_sets(partial)
    parts = _fold(problem, depths, k, own)
    homes = _homes(problem, kind, depths, allowed[:, k], partial, own, parts) if k >= 2 else ()
    return Reach(depths=depths, whole=whole, own=own, parts=parts, homes=homes)


def below(problem: Problem, vertex: int, depth: int) -> range:
    """Vertices of a depth below a vertex (itself, if it has that depth)."""
    tree = problem.tree
    first = last = vertex
    for _ in range(depth - int(tree.depth[vertex])):
        first, last = int(tree.first_child[first]), int(tree.end_child[last]) - 1
        if last < first:
            return range(0)
    return range(first, last + 1)


def _allowed_counts(problem: Problem, kind: Kind) -> BoolArray:
    """(V, k+1) counts that a vertex alone allows: constraint, uplink, and for nodes type and free resources."""
    k, tree = kind.k, problem.tree
    counts = np.arange(k + 1)
    limit = problem.uplink_free + problem.uplink_slack
    allowed: BoolArray = kind.allowed[tree.depth] & (kind.link_rate[problem.link_of] <= limit[:, None])
    # A vertex can hold the whole job only if every vertex above may.
    for vertex in range(1, tree.n_vertices):
        allowed[vertex, k] &= allowed[tree.parent[vertex], k]
    needs = kind.demand > 0
    slack = problem.node_slack[:, needs]
    fits = np.floor((problem.free[:, needs] + slack) / kind.demand[needs]).min(axis=1)
    usable = np.isfinite(kind.compute_s[problem.hardware_of])
    most = np.where(usable & problem.up, np.minimum(fits, problem.free_gpus), 0)
    allowed[tree.node_vertex :] &= counts[None, :] <= most[:, None]
    return allowed


def _depths(problem: Problem, kind: Kind) -> tuple[int, ...]:
    tree = problem.tree
    if problem.instance.objective.cut_penalty > 0:
        return tuple(range(tree.max_depth + 1))
    limited = kind.link_time.max(axis=1) > 0
    inner = [
        d
        for d in range(1, tree.max_depth)
        if not kind.allowed[d].all() or limited[problem.link_of[tree.start[d] : tree.start[d + 1]]].any()
    ]
    return (0, *inner, tree.max_depth)


def _bit_sets(rows: BoolArray) -> list[int]:
    """Bit set of every row; equal rows are converted once."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    known: dict[bytes, int] = {}
    sets = []
    for row in packed:
        key = row.tobytes()
        if key not in known:
            known[key] = int.from_bytes(key, "little")
        sets.append(known[key])
    return sets


def _fold(problem: Problem, depths: tuple[int, ...], k: int, own: list[int]) -> list[int]:
    """Counts that can be below every vertex when none below it holds all: sums of the children's, within its own."""
    sets = [0] * problem.tree.n_vertices
    for vertex in range(problem.tree.node_vertex, problem.tree.n_vertices):
        sets[vertex] = own[vertex]
    memo: dict[tuple[int, ...], int] = {}
    for depth, child_depth in reversed(list(pairwise(depths[1:]))):
        for vertex in range(int(problem.tree.start[depth]), int(problem.tree.start[depth + 1])):
            sets[vertex] = own[vertex] & _sum_set((sets[c] for c in below(problem, vertex, child_depth)), k, memo)
    return sets


def _sum_set(sets: Iterable[int], k: int, memo: dict[tuple[int, ...], int]) -> int:
    """Sums up to k of one element of each set, where 0 is always an element."""
    key = tuple(sorted(sets))
    if key not in memo:
        memo[key] = count_sets.total((counts | 1 for counts in key), count_sets.up_to(k))
    return memo[key]


def _homes(
    problem: Problem,
    kind: Kind,
    depths: tuple[int, ...],
    holds_all: BoolArray,
    partial: BoolArray,
    own: list[int],
    parts: list[int],
) -> tuple[Home, ...]:
    """Inner vertices below which k workers can be split, with the levels of such splits."""
    k, memo = kind.k, dict[tuple[int, ...], int]()
    child_depth = dict(pairwise(depths))

    def splits(vertex: int, sets: list[int]) -> bool:
        children = below(problem, vertex, child_depth[int(problem.tree.depth[vertex])])
        return bool(_sum_set((sets[c] for c in children), k, memo) >> k & 1)

    candidates = [
        v
        for d in depths[:-1]
        for v in range(int(problem.tree.start[d]), int(problem.tree.start[d + 1]))
        if holds_all[v] and splits(v, parts)
    ]
    levels = {v: list[int]() for v in candidates}
    seen = {v: set[tuple[int, ...]]() for v in candidates}
    undecided = set(candidates)
    for level in range(len(kind.levels)):
        if not undecided:
            break
        sets = _fold(problem, depths, k, _own_at_level(problem, kind, level, partial, own))
        for v in sorted(undecided):
            deeper = [d for d in depths if d > problem.tree.depth[v]]
            signature = tuple(sets[u] for d in deeper for u in below(problem, v, d))
            if signature in seen[v] or not splits(v, sets):
                continue
            seen[v].add(signature)
            levels[v].append(level)
            if signature == tuple(parts[u] for d in deeper for u in below(problem, v, d)):
                undecided.discard(v)
    return tuple(Home(v, tuple(levels[v]), _least(problem, k, depths, v, parts)) for v in candidates)


def _own_at_level(problem: Problem, kind: Kind, level: int, partial: BoolArray, own: list[int]) -> list[int]:
    """`own` under the limits of a performance level."""
    tree = problem.tree
    counts = np.arange(kind.k + 1)
    within = partial & kind.link_allowed(level)[problem.link_of]
    caps = kind.node_cap(level)[problem.hardware_of]
    within[tree.node_vertex :] &= counts[None, :] <= caps[:, None]
    return own if np.array_equal(within, partial) else _bit_sets(within)


def _least(problem: Problem, k: int, depths: tuple[int, ...], home: int, parts: list[int]) -> tuple[int, ...]:
    """Fewest parts per deeper depth: the largest first until k workers have a place."""
    result = []
    for d in depths:
        if d > problem.tree.depth[home]:
            most = sorted((parts[u].bit_length() - 1 for u in below(problem, home, d) if parts[u]), reverse=True)
            covered = np.cumsum(most)
            result.append(max(2, int(np.searchsorted(covered, k)) + 1))
    return tuple(result)
