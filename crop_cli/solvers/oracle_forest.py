"""Which subtrees the oracle's dynamic program merges, and in which order (model.md, section 7).

The program works bottom up: the tables of a vertex's children are merged in pairs until one is left. What is the same
is computed once: nodes that agree in everything that matters share a column of a table, so do pairs of equal
columns, and so do whole subtrees. The plan of all merges depends on what is free and on the prices, but not on
performance levels: one plan serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.tree import Tree

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Round:
    """One round of merging: from a table and a sequence of items over it to the next ones.

    An item stands for one set of sibling subtrees, a column of the table for all items that are equal. Items of one
    parent are neighbours.

    Attributes
    ----------
    left, right
        Columns of the old table that make the first columns of the new one.
    carried
        Columns of the old table that are taken over as the last columns of the new one.
    first, second
        Items of the old sequence that make each item of the new one; `second` is −1 where an item was taken over.
    column
        Column of each item in the new table.
    width
        Most workers under one item of the new sequence.
    """

    left: IntArray
    right: IntArray
    carried: IntArray
    first: IntArray
    second: IntArray
    column: IntArray
    width: int


@dataclass(frozen=True, slots=True)
class Layer:
    """The vertices of one depth that can hold workers, and the rounds that make them from the layer below.

    Attributes
    ----------
    depth
        Depth of the vertices.
    vertices
        The vertices, ascending.
    column
        Column of each vertex in the layer's table.
    sample
        One vertex of every column.
    width
        Most workers under one vertex.
    members
        Vertices of the layer below in the order of the first sequence, as positions in its `vertices`.
    member_column
        Their columns.
    rounds
        The rounds; none for nodes.
    round_of, item_of
        After how many rounds each vertex was one item, and which.
    source_round, source_column
        The same for columns: after how many rounds, and which column of that table.
    """

    depth: int
    vertices: IntArray
    column: IntArray
    sample: IntArray
    width: int
    members: IntArray
    member_column: IntArray
    rounds: tuple[Round, ...]
    round_of: IntArray
    item_of: IntArray
    source_round: IntArray
    source_column: IntArray


@dataclass(frozen=True, slots=True)
class Forest:
    """All layers, nodes first, up to the single vertex that is to hold the job.

    Attributes
    ----------
    layers
        From the nodes up.
    cap
        Most workers on the node of each column of the first layer.
    unit_price
        What a worker costs there.
    room
        (V) free Gbit/s of every uplink, slack included.
    uplink_price
        (V) or None.
    """

    layers: tuple[Layer, ...]
    cap: IntArray
    unit_price: FloatArray
    room: FloatArray
    uplink_price: FloatArray | None


def plan(
    tree: Tree,
    below: int,
    node_class: IntArray,
    cap: IntArray,
    unit_price: FloatArray | None,
    link_of: IntArray,
    room: FloatArray,
    uplink_price: FloatArray | None,
) -> Forest | None:
    """Plan of all merges under vertex `below`; None if no node there can hold a worker.

    Parameters
    ----------
    node_class
        (N) equal for nodes with equal hardware, failures and uplink bandwidth.
    cap, unit_price
        Most workers that each node under `below` can hold, and the cost of one there (None: free).
    link_of, room, uplink_price
        (V) class of bandwidth, free Gbit/s, price per Gbit/s (None: free) of every uplink.
    """
    usable = np.flatnonzero(cap > 0)
    if len(usable) == 0:
        return None
    cap, nodes = cap[usable], int(tree.first_node[below]) + usable
    vertices = tree.node_vertex + nodes
    keys: list[NDArray[np.generic]] = [node_class[nodes] * (int(cap.max()) + 1) + cap, room[vertices]]
    price = np.zeros(len(usable)) if unit_price is None else unit_price[usable]
    if unit_price is not None:
        keys.append(price)
    if uplink_price is not None:
        keys.append(uplink_price[vertices])
    column, sample = _classes(keys)
    none = np.zeros(0, dtype=np.int64)
    node_cap = cap[sample]
    layers = [
        Layer(
            depth=tree.max_depth,
            vertices=vertices,
            column=column,
            sample=vertices[sample],
            width=int(node_cap.max()),
            members=none,
            member_column=none,
            rounds=(),
            round_of=none,
            item_of=none,
            source_round=none,
            source_column=none,
        )
    ]
    capacity = node_cap
    for depth in range(tree.max_depth - 1, int(tree.depth[below]) - 1, -1):
        layer, capacity = _layer_above(tree, layers[-1], capacity, depth, link_of, room, uplink_price)
        layers.append(layer)
    return Forest(layers=tuple(layers), cap=node_cap, unit_price=price[sample], room=room, uplink_price=uplink_price)


def _layer_above(
    tree: Tree,
    below: Layer,
    capacity: IntArray,
    depth: int,
    link_of: IntArray,
    room: FloatArray,
    uplink_price: FloatArray | None,
) -> tuple[Layer, IntArray]:
    """The layer at `depth` over the one below it, whose columns hold `capacity`; and the same of the new columns."""
    parents = tree.parent[below.vertices]
    starts = _run_starts(parents)
    vertices = parents[starts]
    owner = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(parents))))
    # Equal siblings next to each other make equal pairs.
    members = np.argsort(owner * len(capacity) + below.column, kind="stable")
    member_column = below.column[members]
    rounds, capacities, round_of, item_of = _rounds(owner, member_column, capacity)
    columns = [member_column, *(r.column for r in rounds)]
    final = np.empty(len(vertices), dtype=np.int64)
    for r, at in enumerate(columns):
        here = round_of == r
        final[here] = at[item_of[here]]
    keys: list[NDArray[np.generic]] = [
        (round_of * (max(len(c) for c in capacities) + 1) + final) * (int(link_of.max()) + 1) + link_of[vertices],
        room[vertices],
    ]
    if uplink_price is not None:
        keys.append(uplink_price[vertices])
    column, sample = _classes(keys)
    source_round, source_column = round_of[sample], final[sample]
    new_capacity = np.array([capacities[r][c] for r, c in zip(source_round, source_column, strict=True)])
    layer = Layer(
        depth=depth,
        vertices=vertices,
        column=column,
        sample=vertices[sample],
        width=int(new_capacity.max()),
        members=members,
        member_column=member_column,
        rounds=tuple(rounds),
        round_of=round_of,
        item_of=item_of,
        source_round=source_round,
        source_column=source_column,
    )
    return layer, new_capacity


def _rounds(
    owner: IntArray, column: IntArray, capacity: IntArray
) -> tuple[list[Round], list[IntArray], IntArray, IntArray]:
    """Merge neighbours with the same owner until every owner has one item.

    Returns
    -------
    rounds
        The rounds.
    capacities
        Most workers per column, of every table from the first on.
    round_of, item_of
        When and where each owner was finished.
    """
    n_owners = int(owner[-1]) + 1
    round_of, item_of = np.zeros(n_owners, dtype=np.int64), np.zeros(n_owners, dtype=np.int64)
    rounds: list[Round] = []
    capacities = [capacity]
    while True:
        starts = _run_starts(owner)
        sizes = np.diff(np.append(starts, len(owner)))
        alone = starts[sizes == 1]
        round_of[owner[alone]] = len(rounds)
        item_of[owner[alone]] = alone
        if len(alone) == len(starts):
            return rounds, capacities, round_of, item_of
        size = np.repeat(sizes, sizes)
        place = np.arange(len(owner)) - np.repeat(starts, sizes)
        first = np.flatnonzero((place % 2 == 0) & (size > 1))
        paired = place[first] + 1 < size[first]
        pairs = first[paired]
        base = len(capacity)
        pair, pair_column = np.unique(column[pairs] * base + column[pairs + 1], return_inverse=True)
        carried, carried_column = np.unique(column[first[~paired]], return_inverse=True)
        left, right = pair // base, pair % base
        new_column = np.empty(len(first), dtype=np.int64)
        new_column[paired] = pair_column
        new_column[~paired] = len(pair) + carried_column
        capacity = np.concatenate([capacity[left] + capacity[right], capacity[carried]])
        rounds.append(
            Round(
                left=left,
                right=right,
                carried=carried,
                first=first,
                second=np.where(paired, first + 1, -1),
                column=new_column,
                width=int(capacity.max()),
            )
        )
        capacities.append(capacity)
        owner, column = owner[first], new_column


def _run_starts(ascending: IntArray) -> IntArray:
    """Where each run of equal values starts."""
    return np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))


def _classes(keys: list[NDArray[np.generic]]) -> tuple[IntArray, IntArray]:
    """Number rows that agree in all keys alike: the class of every row, and the first row of every class."""
    order = np.lexsort(keys)
    differs = np.zeros(len(order) - 1, dtype=bool)
    for key in keys:
        ranked = key[order]
        differs |= ranked[1:] != ranked[:-1]
    new = np.concatenate([[True], differs])
    column = np.empty(len(order), dtype=np.int64)
    column[order] = np.cumsum(new) - 1
    return column, order[new]
