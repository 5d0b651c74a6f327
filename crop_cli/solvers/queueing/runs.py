"""Runs: a gang on consecutive nodes in tree order, and the hops between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Counts
from crop_cli.model.tree import Tree
from crop_cli.solvers.queueing.counts import most
from crop_cli.solvers.queueing.view import View

IntArray = NDArray[np.int64]


def runs(view: View, job: int) -> Iterator[Counts]:
    """The run from every node that can hold a worker: it and the next such nodes, each filled, up to the whole gang.

    A node takes as many as it and the domains above it may hold. Runs that break a constraint all the same are left
    out: the job has to wait for one that does not.
    """
    sets, kind, tree = view.sets(job), view.problem.kind(job), view.problem.tree
    first = tree.node_vertex
    usable = np.array(sorted(v - first for v in sets if v >= first), dtype=np.int64)
    slots = np.array([most(sets[first + n]) for n in usable.tolist()], dtype=np.int64)
    plain = bool(kind.allowed[1:].all())
    chains = [tree.ancestors(first + n) for n in usable.tolist()]
    for i in range(len(usable)):
        counts = _filled(usable[i:], slots[i:], kind.k) if plain else _shaped(tree, sets, chains[i:], kind)
        if counts is not None:
            yield counts


def hop_cost(tree: Tree, counts: Counts) -> float:
    """C = (1/n)·Σ_i Σ_{m≠i} h_im over the n nodes: h is 2 hops below one switch, 4 below one a level up, and so on."""
    n, total = len(counts), 0
    if n == 1:
        return 0.0
    vertices = tree.node_vertex + np.fromiter(counts, dtype=np.int64, count=n)
    for _ in range(tree.max_depth):
        # Two more hops for each pair of nodes that are apart at this depth.
        _, together = np.unique(vertices, return_counts=True)
        total += 2 * int(n * n - (together**2).sum())
        vertices = tree.parent[vertices]
    return total / n


def _filled(nodes: IntArray, slots: IntArray, k: int) -> Counts | None:
    """As many as fit on every node in turn; None if the nodes end before the gang does."""
    end, left = 0, k
    while left > 0 and end < len(nodes):
        left -= int(slots[end])
        end += 1
    if left > 0:
        return None
    counts = dict(zip(nodes[:end].tolist(), slots[:end].tolist(), strict=True))
    counts[int(nodes[end - 1])] += left
    return counts


def _shaped(tree: Tree, sets: dict[int, int], chains: list[list[int]], kind: Kind) -> Counts | None:
    """As `_filled`, within what every domain above may hold; None if a constraint is broken in the end.

    `chains` are the nodes in turn, each with the domains above it.
    """
    limit = [int(np.flatnonzero(row)[-1]) for row in kind.allowed]
    depth = tree.depth
    held: dict[int, int] = {}
    counts: Counts = {}
    left = kind.k
    for above in chains:
        room = min(left, *(limit[depth[v]] - held.get(v, 0) for v in above))
        count = most(sets[above[0]] & ((1 << max(room, 0) + 1) - 1))
        if count > 0:
            counts[above[0] - tree.node_vertex] = count
            left -= count
            held.update({v: held.get(v, 0) + count for v in above})
        if left == 0:
            return counts if all(kind.allowed[depth[v], x] for v, x in held.items()) else None
    return None
