"""Splitting a gang over vertices in an order of preference, so that every constraint of the job is kept.

Sets of counts are integers whose bit x stands for x workers (`crop_cli.model.count_sets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crop_cli.model import count_sets
from crop_cli.model.problem import Counts
from crop_cli.model.tree import Tree

Order = Callable[[list[int]], list[int]]
"""Puts the vertices below one parent in the order in which they are filled."""


def most(counts: int) -> int:
    """Largest count of a set."""
    return counts.bit_length() - 1


def holds(sets: dict[int, int], vertex: int, total: int) -> bool:
    """Whether a vertex can hold exactly so many workers."""
    return bool(sets.get(vertex, 1) >> total & 1)


def split(total: int, sets: Sequence[int]) -> list[int] | None:
    """One count of each set, in order, that add up to the total: as many as can be in the first, then in the second.

    None if no counts add up.
    """
    if total == 0:
        return [0] * len(sets)
    mask = count_sets.up_to(total)
    rest = [1] * (len(sets) + 1)
    for i in range(len(sets) - 1, -1, -1):
        rest[i] = count_sets.add(sets[i] & mask, rest[i + 1], mask)
    if not rest[0] >> total & 1:
        return None
    counts, left = [], total
    for i, options in enumerate(sets):
        count = min(left, most(options))
        while not (options >> count & 1 and rest[i + 1] >> (left - count) & 1):
            count -= 1
        counts.append(count)
        left -= count
    return counts


def descend(tree: Tree, sets: dict[int, int], vertex: int, total: int, order: Order) -> Counts:
    """Place a total below a vertex that can hold it: at every vertex the children are filled in the given order.

    Parameters
    ----------
    sets
        Counts that every vertex can hold (`View.sets`).
    vertex, total
        The total has to be in the vertex's set.
    order
        Called with the children that can hold any worker.

    Returns
    -------
    Counts
        Workers by node index.

    Raises
    ------
    ValueError
        If the vertex cannot hold the total.
    """
    if vertex >= tree.node_vertex:
        if not holds(sets, vertex, total):
            raise ValueError(f"{tree.names[vertex]} cannot hold {total}")
        return {vertex - tree.node_vertex: total}
    children = order([v for v in range(int(tree.first_child[vertex]), int(tree.end_child[vertex])) if v in sets])
    counts = split(total, [sets[v] for v in children])
    if counts is None:
        raise ValueError(f"{tree.names[vertex]} cannot hold {total}")
    found: Counts = {}
    for child, count in zip(children, counts, strict=True):
        if count:
            found.update(descend(tree, sets, child, count, order))
    return found
