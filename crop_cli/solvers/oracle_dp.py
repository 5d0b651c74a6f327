"""The oracle's kernel: cheapest way to put 0..k workers under every vertex, by (min,+) merging (model.md, section 7).

Tables have shape (workers + 1, columns, queries): the long axes last, so that one numpy operation serves all columns
and queries. A query is one kind of job under one of its performance levels; all queries of a call have the same k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Counts, Problem
from crop_cli.solvers.oracle_forest import Forest, Layer

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

BROADCAST_ELEMENTS = 1 << 16
"""Up to this size the sums of one merge are formed all at once, beyond it row by row."""

BLOCK_ELEMENTS = 1 << 15
"""Elements of one row-wise block: its three operands stay in the cache."""


@dataclass(frozen=True, slots=True)
class Query:
    """A kind of job and the performance level that its placement has to keep."""

    kind: Kind
    level: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Results of one pass.

    Attributes
    ----------
    cost
        (Q) least cost of all k workers; infinite where they cannot be placed.
    steps
        By layer above the nodes, by round: the merged tables, for tracing back.
    nodes
        The nodes' own table.
    """

    forest: Forest
    k: int
    cost: FloatArray
    nodes: FloatArray
    steps: list[list[FloatArray]]


def cheapest(problem: Problem, forest: Forest, queries: list[Query]) -> Tables:
    """Least cost of placing all k workers under the forest's top vertex, for every query.

    The cost is w·δ per cut uplink, w·k·ρ·loss per node used, and the forest's prices.
    """
    k = queries[0].kind.k
    top = forest.layers[-1]
    table = nodes = _node_table(problem, forest, queries, k)
    steps: list[list[FloatArray]] = []
    for layer in forest.layers[1:]:
        merged = [table]
        for step in layer.rounds:
            pairs = min_plus(merged[-1][:, step.left], merged[-1][:, step.right], min(k, step.width) + 1)
            merged.append(_join(pairs, merged[-1][:, step.carried]))
        steps.append(merged)
        table = _assemble(layer, merged, k)
        if layer is not top:
            table += _charges(problem, forest, layer, queries, len(table))
    shut = np.array([not query.kind.allowed[: top.depth + 1, k].all() for query in queries])
    cost = table[k, 0] if len(table) > k else np.full(len(queries), np.inf)
    return Tables(forest=forest, k=k, cost=np.where(shut, np.inf, cost), nodes=nodes, steps=steps)


def trace(tables: Tables, tree_node_vertex: int, query: int) -> Counts:
    """Workers per node of a placement that has the least cost of a query; the cost has to be finite."""
    layers = tables.forest.layers
    counts: Counts = {}
    stack = [(len(layers) - 1, 0, tables.k)]
    while stack:
        height, vertex, workers = stack.pop()
        layer = layers[height]
        if height == 0:
            counts[int(layer.vertices[vertex]) - tree_node_vertex] = workers
            continue
        merged = tables.steps[height - 1]
        columns = [layer.member_column, *(step.column for step in layer.rounds)]
        items = [(int(layer.round_of[vertex]), int(layer.item_of[vertex]), workers)]
        while items:
            done, item, count = items.pop()
            if done == 0:
                stack.append((height - 1, int(layer.members[item]), count))
                continue
            step = layer.rounds[done - 1]
            first, second = int(step.first[item]), int(step.second[item])
            if second < 0:
                items.append((done - 1, first, count))
                continue
            before = merged[done - 1]
            at_first = before[: count + 1, columns[done - 1][first], query]
            at_second = before[: count + 1, columns[done - 1][second], query]
            low = count + 1 - len(at_second)
            share = low + int(np.argmin(at_first[low:] + at_second[::-1][: len(at_first) - low]))
            if share > 0:
                items.append((done - 1, first, share))
            if share < count:
                items.append((done - 1, second, count - share))
    return dict(sorted(counts.items()))


def min_plus(a: FloatArray, b: FloatArray, length: int) -> FloatArray:
    """c[t] = min over i of a[i] + b[t−i], elementwise over all other axes, for t < length.

    Parameters
    ----------
    a, b
        (n, ...) nonnegative or infinite, of the same shape.
    length
        How far c is wanted.
    """
    shape = a.shape[1:]
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    columns = a.shape[1]
    rows = np.flatnonzero(np.isfinite(a).any(axis=1))
    if len(rows) * length * columns <= BROADCAST_ELEMENTS:
        padded = np.full((len(a) - 1 + max(length, len(b)), columns), np.inf)
        padded[len(a) - 1 : len(a) - 1 + len(b)] = b
        # Row r of the window over (row, t) is b shifted down by r.
        window = padded[(len(a) - 1 - rows)[:, None] + np.arange(length)[None, :]]
        window += a[rows][:, None]
        c: FloatArray = window.min(axis=0, initial=np.inf)
        return c.reshape(length, *shape)
    c = np.full((length, columns), np.inf)
    block = max(64, BLOCK_ELEMENTS // len(b))
    scratch = np.empty((len(b), min(block, columns)))
    for start in range(0, columns, block):
        part_a, part_b, part_c = (x[:, start : start + block] for x in (a, b, c))
        for i in rows.tolist():
            n = min(len(b), length - i)
            sums = np.add(part_a[i], part_b[:n], out=scratch[:n, : part_b.shape[1]])
            np.minimum(part_c[i : i + n], sums, out=part_c[i : i + n])
    return c.reshape(length, *shape)


def _join(pairs: FloatArray, carried: FloatArray) -> FloatArray:
    """Both side by side; what one of them is shorter by is infinite."""
    if carried.shape[1] == 0:
        return pairs
    length = max(len(pairs), len(carried))
    joined = np.full((length, pairs.shape[1] + carried.shape[1], pairs.shape[2]), np.inf)
    joined[: len(pairs), : pairs.shape[1]] = pairs
    joined[: len(carried), pairs.shape[1] :] = carried
    return joined


def _assemble(layer: Layer, merged: list[FloatArray], k: int) -> FloatArray:
    """Table of a layer's columns from the rounds that finished them."""
    length = min(k, layer.width) + 1
    if (layer.source_round == len(merged) - 1).all():
        return merged[-1][:length, layer.source_column]
    table = np.full((length, len(layer.source_round), merged[0].shape[2]), np.inf)
    for r, source in enumerate(merged):
        here = layer.source_round == r
        n = min(length, len(source))
        table[:n, here] = source[:n, layer.source_column[here]]
    return table


def _node_table(problem: Problem, forest: Forest, queries: list[Query], k: int) -> FloatArray:
    """Cost of 0..width workers on a node of every column, its uplink included; infinite where not allowed."""
    layer = forest.layers[0]
    length = min(k, layer.width) + 1
    nodes = layer.sample - problem.tree.node_vertex
    table = _charges(problem, forest, layer, queries, length)
    workers = np.arange(length)
    caps = np.stack([query.kind.node_cap(query.level) for query in queries], axis=-1)
    cap = np.minimum(caps[problem.hardware_of[nodes]], forest.cap[:, None])
    rho = problem.instance.objective.failure_weight
    per_failure = np.array([q.kind.weight * k * rho * q.kind.days_lost_per_failure for q in queries])
    table[1:] += problem.failures[nodes][:, None] * per_failure
    table += (workers[:, None] * forest.unit_price)[:, :, None]
    table[workers[:, None, None] > cap] = np.inf
    return table


def _charges(problem: Problem, forest: Forest, layer: Layer, queries: list[Query], length: int) -> FloatArray:
    """What 0..length−1 workers under a vertex cost on its uplink; infinite where shape, time or bandwidth forbid it."""
    vertices = layer.sample
    link = problem.link_of[vertices]
    rate = np.stack([query.kind.link_rate[:, :length].T for query in queries], axis=-1)
    allowed = np.stack(
        [(q.kind.link_allowed(q.level)[:, :length] & q.kind.allowed[layer.depth, :length]).T for q in queries], axis=-1
    )
    workers = np.arange(length)
    cut = (workers > 0) & (workers < queries[0].kind.k)
    delta = problem.instance.objective.cut_penalty * np.array([query.kind.weight for query in queries])
    fixed = np.where(allowed, (cut[:, None] * delta)[:, None, :], np.inf)
    reserved = rate[:, link]
    charge = fixed[:, link]
    if forest.uplink_price is not None:
        charge += forest.uplink_price[vertices][:, None] * reserved
    charge[reserved > forest.room[vertices][:, None]] = np.inf
    return charge
