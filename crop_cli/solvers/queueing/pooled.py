"""Kueue's way down the tree: domains of a level are pooled over their parents, the last one is the tightest that fits.

Source: Kueue, pkg/cache/scheduler/tas_flavor_snapshot.go, and keps/2724-topology-aware-scheduling. Where domains are
equal the first of the file is taken, where Kueue takes the first by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.capacity import Capacity

IntArray = NDArray[np.int64]

Consume = Callable[[Capacity, IntArray, int], dict[int, int]]
"""Workers by vertex: spreads a total over vertices of one depth that have room for it together."""


def largest_first(capacity: Capacity, vertices: IntArray) -> IntArray:
    """Vertices with room in Kueue's order: most room first, then fewest free pods, then the file's order."""
    vertices = vertices[capacity.room[vertices] > 0]
    return vertices[np.lexsort((vertices, capacity.pods[vertices], -capacity.room[vertices]))]


def best_fit(capacity: Capacity, vertices: IntArray, total: int) -> dict[int, int]:
    """Largest domains first; as soon as one can finish, the smallest that can takes what is left."""
    order = largest_first(capacity, vertices)
    room = capacity.room[order]
    taken: dict[int, int] = {}
    for i, v in enumerate(order.tolist()):
        if room[i] >= total:
            smallest = room[room >= total][-1]
            last = i + int(np.argmax(room[i:] == smallest))
            return {**taken, int(order[last]): total}
        taken[v] = int(room[i])
        total -= taken[v]
    raise ValueError(f"no room for {total} workers")


def descend_pooled(capacity: Capacity, chosen: Mapping[int, int], depth: int, consume: Consume) -> Counts:
    """From domains of a depth to nodes, level by level.

    Parameters
    ----------
    chosen
        Workers by vertex of the depth.
    consume
        Called with the children of all chosen domains; from a level with a segment or spread constraint on, with
        the children of each.

    Returns
    -------
    Counts
        Workers by node index.
    """
    # Constraints above the start need no care: whoever chose kept them.
    at, bound = dict(chosen), capacity.bound_from(depth)
    while depth < capacity.tree.max_depth:
        below = {v: capacity.below(v, depth + 1) for v in at}
        if depth < bound:
            at = consume(capacity, np.concatenate(list(below.values())), sum(at.values()))
        else:
            at = {u: x for v, count in at.items() for u, x in consume(capacity, below[v], count).items()}
        depth += 1
    return capacity.on_nodes(at)


def place_best_fit(capacity: Capacity) -> Counts:
    """Kueue's BestFit for a job that fits: required inside the domain of its level, else preferred next to the nodes.

    The preferred level is the one just above the nodes; from there the search climbs until one domain holds the gang.
    """
    depth = capacity.within or preferred_depth(capacity)
    lowest = capacity.within or 1
    while depth > lowest and capacity.room[capacity.at(depth)].max() < capacity.k:
        depth -= 1
    return descend_pooled(capacity, best_fit(capacity, capacity.at(depth), capacity.k), depth, best_fit)


def preferred_depth(capacity: Capacity) -> int:
    """Depth of the level just above the nodes; of the nodes themselves if there is no other."""
    return max(1, capacity.tree.max_depth - 1)
