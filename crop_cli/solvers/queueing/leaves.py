"""Nodes as batch schedulers ask for them: so many, with so many workers each; and whether a choice keeps the shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model import count_sets
from crop_cli.model.problem import Counts
from crop_cli.solvers.fits import Room
from crop_cli.solvers.queueing.counts import Order, descend, holds, most
from crop_cli.solvers.queueing.view import View

IntArray = NDArray[np.int64]

Sets = dict[int, int]
"""Counts that every vertex can hold (`View.sets`)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request by nodes: so many, each with room for at least so many workers."""

    nodes: int
    least: int


def whole_slots(view: View, job: int) -> IntArray:
    """(N) most workers of the job that every node could hold if it were empty, by its own constraints."""
    kind = view.problem.kind(job)
    caps = Room.whole(view.problem).usable(kind)
    largest = np.maximum.accumulate(np.where(kind.allowed[-1], np.arange(kind.k + 1), 0))
    return np.asarray(largest[caps], dtype=np.int64)


def ask_for(workers: int, largest: int) -> Ask:
    """The fewest nodes that could hold a gang or a part of one, evenly loaded.

    Parameters
    ----------
    workers
        How many there are.
    largest
        Most of them on one node, at least 1: what an empty node holds, or the job's `gpus_per_node`.
    """
    nodes = -(-workers // largest)
    return Ask(nodes, -(-workers // nodes))


def slots_of(view: View, sets: Sets) -> IntArray:
    """(N) most workers of the job on every node now."""
    slots = np.zeros(view.problem.n_nodes, dtype=np.int64)
    first = view.problem.tree.node_vertex
    for vertex, counts in sets.items():
        if vertex >= first:
            slots[vertex - first] = most(counts)
    return slots


def below(view: View, per_node: NDArray[np.generic]) -> list[int]:
    """Sum of a quantity of nodes below every vertex."""
    sums: list[int] = view.problem.tree.sum_below(per_node.astype(np.int64)).tolist()
    return sums


def gpus_in_use(view: View) -> IntArray:
    """(N) GPUs that somebody holds, on nodes that are up."""
    capacity = np.where(view.problem.up, view.problem.capacity[:, 0], 0.0)
    return np.rint(capacity).astype(np.int64) - view.free_gpus


def leaf_switches(view: View) -> list[int]:
    """Vertices just above the nodes; the root where there are only nodes."""
    return list(view.domains(view.problem.tree.max_depth - 1))


def deal(view: View, sets: Sets, nodes: Sequence[int], workers: int) -> Counts | None:
    """Workers for each of some nodes, in order: as many as it can hold, but one is left for each of the others.

    None if no such counts make up the workers.
    """
    first, counts, left = view.problem.tree.node_vertex, Counts(), workers
    for behind, n in zip(range(len(nodes) - 1, -1, -1), nodes, strict=True):
        count = most(sets.get(first + n, 1) & count_sets.up_to(max(0, left - behind)))
        if count <= 0:
            return None
        counts[n] = count
        left -= count
    return counts if left == 0 else None


def gather(view: View, sets: Sets, nodes: Sequence[int], workers: int) -> Counts | None:
    """Workers for some nodes, in order: as many as each can hold, until there are enough. None if there are not."""
    first, counts, left = view.problem.tree.node_vertex, Counts(), workers
    for n in nodes:
        count = most(sets.get(first + n, 1) & count_sets.up_to(left))
        if count > 0:
            counts[n] = count
            left -= count
        if left == 0:
            return counts
    return None


def keeps_shape(view: View, job: int, counts: Counts) -> bool:
    """Whether a placement of a whole gang has only counts that the job's constraints allow, at every level."""
    tree, allowed = view.problem.tree, view.problem.kind(job).allowed
    at = {tree.node_vertex + n: count for n, count in counts.items()}
    for depth in range(tree.max_depth, 0, -1):
        above: dict[int, int] = {}
        for vertex, count in at.items():
            if not allowed[depth, count]:
                return False
            parent = int(tree.parent[vertex])
            above[parent] = above.get(parent, 0) + count
        at = above
    return True


def smallest_domain(view: View, counts: Counts) -> int:
    """Deepest vertex that has all nodes of a placement below it."""
    tree = view.problem.tree
    low, high = min(counts), max(counts)
    vertex = tree.node_vertex + low
    while not int(tree.first_node[vertex]) <= high < int(tree.end_node[vertex]):
        vertex = int(tree.parent[vertex])
    return vertex


def houses(view: View, sets: Sets, vertex: int, workers: int) -> bool:
    """Whether a whole gang can be below a vertex: the constraints of the levels above it allow it, too."""
    return holds(sets, 0, workers) and all(holds(sets, v, workers) for v in view.problem.tree.ancestors(vertex))


def in_shape(view: View, job: int, sets: Sets, counts: Counts, order: Order) -> Counts:
    """A rule's choice, or, where it breaks a constraint of the job, another in the smallest domain around it that can.

    The root has to hold the gang.
    """
    if keeps_shape(view, job, counts):
        return counts
    tree, k = view.problem.tree, view.problem.kind(job).k
    domain = smallest_domain(view, counts)
    while not houses(view, sets, domain, k):
        domain = int(tree.parent[domain])
    return descend(tree, sets, domain, k, order)


def fullest_first(view: View, sets: Sets) -> Order:
    """Switches by how much they can hold, most first; nodes as they are."""
    first = view.problem.tree.node_vertex

    def order(children: list[int]) -> list[int]:
        if children and children[0] >= first:
            return children
        return sorted(children, key=lambda v: -most(sets[v]))

    return order
