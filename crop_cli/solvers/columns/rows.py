"""Capacity rows of the master LP: one per class of nodes and resource, and per class of uplinks, at three resolutions.

Adding up the capacity rows of a class relaxes the LP, and the price of the sum, given to every member, is a price in
the closed form of the dual value: coarse classes give a valid bound from a small LP, fine ones a tighter bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import BoolArray, FloatArray, IntArray, Problem
from crop_cli.solvers.columns.column import Column
from crop_cli.solvers.dual import capacity_with_slack, uplink_with_slack
from crop_cli.solvers.oracle import Prices


@dataclass(frozen=True)
class Rows:
    """n capacity rows.

    Attributes
    ----------
    of_node
        (N, R) row of every node's resource; −1 where it has none, because it cannot run short.
    of_uplink
        (V) row of every uplink; −1 likewise.
    capacity
        (n) sum of what the members offer, units or Gbit/s, with the evaluator's slack.
    """

    of_node: IntArray
    of_uplink: IntArray
    capacity: FloatArray

    def __len__(self) -> int:
        return len(self.capacity)

    def prices(self, y: FloatArray) -> Prices:
        """The row's price for every member; 0 where there is no row."""
        padded = np.append(y, 0.0)
        return Prices(node=padded[self.of_node], uplink=padded[self.of_uplink])

    def means(self, prices: Prices) -> FloatArray:
        """(n) mean price of every row's members."""
        rows = np.concatenate([self.of_node.ravel(), self.of_uplink])
        listed = rows >= 0
        price = np.concatenate([prices.node.ravel(), prices.uplink])
        total = np.bincount(rows[listed], weights=price[listed], minlength=len(self))
        return total / np.bincount(rows[listed], minlength=len(self))

    def usage(self, column: Column, demand: FloatArray) -> tuple[IntArray, FloatArray]:
        """Rows that a column loads, ascending, and by how much; `demand` is (R) per worker."""
        per_node = self.of_node[column.nodes]
        load = column.workers[:, None] * demand
        rows = np.concatenate([per_node.ravel(), self.of_uplink[column.vertices]])
        amount = np.concatenate([load.ravel(), column.gbps])
        listed = (rows >= 0) & (amount > 0)
        found, position = np.unique(rows[listed], return_inverse=True)
        total = np.bincount(position, weights=amount[listed], minlength=len(found))
        return found.astype(np.int64), total.astype(np.float64)


def resolutions(problem: Problem) -> list[Rows]:
    """Rows of ever finer classes, each a refinement of the one before.

    1. Nodes with equally many free GPUs of the same hardware; uplinks of the same depth.
    2. These apart by how many whole nodes stand beside them (the next vertex up is the same): large jobs look for
       several. Few rows, and most of what there is to gain where jobs have to stay in a domain (measured).
    3. Orbits: what a symmetry of the whole tree can swap. Here aggregation loses nothing: averaging an LP solution over
       the symmetries gives one that uses all members of a class alike.
    """
    binds = _node_can_bind(problem), _uplink_can_bind(problem)
    found: list[Rows] = []
    for node_class, uplink_class in (_rough(problem), _beside_whole_nodes(problem), _orbits(problem)):
        rows = _rows(problem, node_class, uplink_class, *binds)
        if not found or not _same(rows, found[-1]):
            found.append(rows)
    return found


def node_by_node(problem: Problem) -> Rows:
    """A row for every node's resource and every uplink: no classes. Nothing is averaged, whole columns fit."""
    nodes, vertices = np.arange(problem.n_nodes), np.arange(problem.tree.n_vertices)
    return _rows(problem, nodes, vertices, _node_can_bind(problem), _uplink_can_bind(problem))


def _same(a: Rows, b: Rows) -> bool:
    """Whether two sets of rows have the same members. Fine ones may be as many, where some cannot bind any more."""
    pairs = np.column_stack([np.append(a.of_node, a.of_uplink), np.append(b.of_node, b.of_uplink)])
    distinct = np.unique(pairs, axis=0)
    return len(distinct) == len(np.unique(distinct[:, 0])) == len(np.unique(distinct[:, 1]))


def _rows(
    problem: Problem, node_class: IntArray, uplink_class: IntArray, node_binds: BoolArray, uplink_binds: BoolArray
) -> Rows:
    """Number the classes with a member that can bind. A class's row counts all members, the others' loads included."""
    n_resources = node_binds.shape[1]
    key = node_class[:, None] * n_resources + np.arange(n_resources)
    some = np.zeros(key.max(initial=-1) + 1, dtype=bool)
    some[key[node_binds]] = True
    number = np.cumsum(some) - 1
    of_node = np.where(some[key], number[key], -1)
    some_uplink = np.zeros(uplink_class.max(initial=-1) + 1, dtype=bool)
    some_uplink[uplink_class[uplink_binds]] = True
    finite = np.isfinite(problem.uplink_free)
    some_uplink[uplink_class[~finite]] = False
    of_uplink = np.where(some_uplink[uplink_class], int(some.sum()) + np.cumsum(some_uplink)[uplink_class] - 1, -1)
    capacity = np.zeros(int(some.sum()) + int(some_uplink.sum()))
    np.add.at(capacity, of_node[of_node >= 0], capacity_with_slack(problem)[of_node >= 0])
    np.add.at(capacity, of_uplink[of_uplink >= 0], uplink_with_slack(problem)[of_uplink >= 0])
    # Rounding in what pinned jobs hold must not make the empty LP infeasible.
    return Rows(of_node=of_node, of_uplink=of_uplink, capacity=np.maximum(capacity, 0.0))


def _node_can_bind(problem: Problem) -> BoolArray:
    """(N, R) whether a resource can run short before the node's GPUs do."""
    most = np.zeros(len(problem.resources))
    for kind in _open_kinds(problem):
        most = np.maximum(most, problem.kinds[kind].demand)
    gpus = problem.free_gpus[:, None]
    binds: BoolArray = most * gpus > problem.free
    binds[:, 0] = problem.free_gpus > 0
    return binds


def _uplink_can_bind(problem: Problem) -> BoolArray:
    """(V) whether jobs on all free GPUs below an uplink could reserve more than it has."""
    per_worker = np.zeros(len(problem.link_gbps))
    for q in _open_kinds(problem):
        kind = problem.kinds[q]
        if kind.k > 1:
            per_worker = np.maximum(per_worker, (kind.link_rate[:, 1:] / np.arange(1, kind.k + 1)).max(axis=1))
    below = problem.tree.sum_below(problem.free_gpus).astype(np.int64)
    binds: BoolArray = below * per_worker[problem.link_of] > problem.uplink_free
    return binds & (problem.tree.depth > 0)


def _open_kinds(problem: Problem) -> list[int]:
    kinds: list[int] = np.unique(problem.kind_of[problem.open_jobs]).tolist()
    return kinds


def _rough(problem: Problem) -> tuple[IntArray, IntArray]:
    node = _ranks([problem.free_gpus, problem.hardware_of])
    return node, _ranks([problem.tree.depth, np.isfinite(problem.uplink_free)])


def _beside_whole_nodes(problem: Problem) -> tuple[IntArray, IntArray]:
    """Classes of `_rough`, apart by the number of whole nodes: those with the most free GPUs of their hardware."""
    tree, free = problem.tree, problem.free_gpus
    most = np.zeros(int(problem.hardware_of.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, problem.hardware_of, free)
    whole = (free > 0) & (free == most[problem.hardware_of])
    above = tree.parent[tree.node_vertex :]
    beside = np.bincount(above, weights=whole, minlength=tree.n_vertices)
    node, uplink = _rough(problem)
    node = _ranks([node, beside[above]])
    beside[tree.node_vertex :] = node
    return node, _ranks([uplink, beside])


def _orbits(problem: Problem) -> tuple[IntArray, IntArray]:
    """Vertices are in one class when an isomorphism of the tree with all its data maps one to the other."""
    tree = problem.tree
    shape = np.zeros(tree.n_vertices, dtype=np.int64)
    nodes = slice(tree.node_vertex, tree.n_vertices)
    columns = [*problem.free.T, problem.hardware_of, problem.failures, problem.uplink_free[nodes], _running(problem)]
    shape[nodes] = _ranks([*columns, problem.link_of[nodes]])
    for depth in range(tree.max_depth - 1, -1, -1):
        known: dict[object, int] = {}
        for v in range(int(tree.start[depth]), int(tree.start[depth + 1])):
            below = tuple(np.sort(shape[tree.first_child[v] : tree.end_child[v]]).tolist())
            key = (float(problem.uplink_free[v]), int(problem.link_of[v]), below)
            shape[v] = known.setdefault(key, len(known))
    orbit = np.zeros(tree.n_vertices, dtype=np.int64)
    for depth in range(1, tree.max_depth + 1):
        here = slice(int(tree.start[depth]), int(tree.start[depth + 1]))
        orbit[here] = _ranks([orbit[tree.parent[here]], shape[here]])
    return _ranks([orbit[nodes]]), _ranks([tree.depth, orbit])


def _running(problem: Problem) -> IntArray:
    """(N) equal for nodes that hold the same workers of the same movable jobs: staying put is a placement too."""
    held: dict[int, list[tuple[int, int]]] = {}
    for job, counts in sorted(problem.current.items()):
        for node, workers in counts.items():
            held.setdefault(node, []).append((job, workers))
    number: dict[tuple[tuple[int, int], ...], int] = {}
    running = np.zeros(problem.n_nodes, dtype=np.int64)
    for node, jobs in sorted(held.items()):
        running[node] = number.setdefault(tuple(jobs), len(number) + 1)
    return running


def _ranks(columns: list[np.typing.NDArray[np.generic]]) -> IntArray:
    """Number the distinct rows of a table given by columns."""
    table = np.column_stack([column.astype(np.float64) for column in columns])
    return np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
