"""How many of a job's workers fit below every vertex, as the numbers that Kubernetes schedulers count with.

These schedulers know one number per domain, "this many more pods". A job's shape constraints fit into such numbers: a
vertex of depth d then holds every multiple of `unit[d]` up to its `room`, and nothing else. Unlike `View.sets` the
numbers go beyond the gang's size, as best fit compares what would be left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.instance import Job
from crop_cli.model.tree import Tree
from crop_cli.solvers.queueing.view import View

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Capacity:
    """Room for one job. V vertices, depths 0..D.

    Attributes
    ----------
    tree, k
        The cluster's tree; workers of the gang.
    pods
        (V) workers that free resources and GPU types allow, constraints aside.
    room
        (V) workers under all shape constraints, a multiple of the depth's unit. Domains of the level that the job has
        to stay inside have none if the whole gang does not fit.
    unit
        (D+1) counts at a depth are multiples of this.
    within
        Depth of the domain that the job has to stay inside; 0 where it may span the cluster.
    bounds
        Depths of switches with a segment or spread constraint, ascending: below one of these every domain has to keep
        its own count.
    """

    tree: Tree
    k: int
    pods: IntArray
    room: IntArray
    unit: tuple[int, ...]
    within: int
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, view: View, job: int, *, per_node: int | None = None) -> Capacity:
        """What is free for a job.

        Parameters
        ----------
        per_node
            Most workers to count on one node, for schedulers that stop counting there; a multiple of the unit.
        """
        tree, data = view.problem.tree, view.problem.instance.jobs[job]
        on_nodes = _pods(view, job)
        pods = np.asarray(tree.sum_below(on_nodes), dtype=np.int64)
        units = _units(data, tree)
        bounds = {tree.depth_of(rule.level) for rule in (data.segment, data.spread) if rule is not None}
        if data.gpus_per_node is not None:
            on_nodes = np.where(on_nodes >= data.gpus_per_node, data.gpus_per_node, 0)
        if per_node is not None:
            on_nodes = np.minimum(on_nodes, per_node)
        within = view.within_depth(job)
        room = _room(data, tree, on_nodes, units, within)
        return cls(tree, data.gpus, pods, room, units, within, tuple(sorted(bounds - {tree.max_depth})))

    @property
    def fits(self) -> bool:
        """Whether the job has a place."""
        return self.k % self.unit[0] == 0 and int(self.room[0]) >= self.k

    def bound_from(self, depth: int) -> int:
        """First depth, this one or deeper, where a segment or spread constraint binds switches; else the nodes'."""
        return next((d for d in self.bounds if d >= depth), self.tree.max_depth)

    def at(self, depth: int) -> IntArray:
        """Vertices of a depth."""
        return np.arange(self.tree.start[depth], self.tree.start[depth + 1], dtype=np.int64)

    def below(self, vertex: int, depth: int) -> IntArray:
        """Vertices of a depth that are below a vertex, or the vertex itself."""
        low, high = vertex, vertex + 1
        for _ in range(depth - int(self.tree.depth[vertex])):
            low, high = int(self.tree.first_child[low]), int(self.tree.end_child[high - 1])
        return np.arange(low, high, dtype=np.int64)

    def in_order(self, vertices: Iterable[int], total: int) -> dict[int, int]:
        """As many workers as each vertex has room for, in order, until all are placed.

        The total has to fit, in multiples of the unit.
        """
        taken: dict[int, int] = {}
        for v in vertices:
            if total == 0:
                break
            count = min(total, int(self.room[v]))
            if count:
                taken[v] = count
                total -= count
        return taken

    def on_nodes(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Counts of node vertices as counts of node indices."""
        return {v - self.tree.node_vertex: count for v, count in counts.items()}


def _pods(view: View, job: int) -> IntArray:
    """(N) workers that each node has resources for, as many as there are, whatever the size of the gang."""
    problem, kind = view.problem, view.problem.kind(job)
    needed = kind.demand > 0
    room = np.maximum(view.state.free[:, needed], 0.0) + problem.node_slack[:, needed]
    pods = np.floor(room / kind.demand[needed]).min(axis=1).astype(np.int64)
    return np.where(np.isfinite(kind.compute_s[problem.hardware_of]) & problem.up, pods, 0)


def _units(data: Job, tree: Tree) -> tuple[int, ...]:
    """What counts are multiples of at every depth: of the segment down to its level, of a node's share everywhere."""
    units = [data.gpus_per_node or 1] * (tree.max_depth + 1)
    if data.segment is not None:
        for depth in range(tree.depth_of(data.segment.level) + 1):
            units[depth] = lcm(units[depth], data.segment.gpus)
    return tuple(units)


def _room(data: Job, tree: Tree, on_nodes: IntArray, units: tuple[int, ...], within: int) -> IntArray:
    """(V) room under all constraints, from the nodes up."""
    room = np.zeros(tree.n_vertices, dtype=np.int64)
    spread = tree.max_depth + 1 if data.spread is None else tree.depth_of(data.spread.level)
    for depth in range(tree.max_depth, -1, -1):
        here = slice(int(tree.start[depth]), int(tree.start[depth + 1]))
        if depth == tree.max_depth:
            free = on_nodes
        else:
            below = slice(int(tree.start[depth + 1]), int(tree.start[depth + 2]))
            sums = np.concatenate([[0], np.cumsum(room[below])])
            free = sums[tree.end_child[here] - below.start] - sums[tree.first_child[here] - below.start]
        if data.spread is not None and depth >= spread:
            # Also below the level itself: a domain inside one that may hold m workers holds no more than m.
            free = np.minimum(free, data.spread.max_gpus)
        free = free // units[depth] * units[depth]
        if within and depth == within:
            free = np.where(free >= data.gpus, free, 0)
        room[here] = free
    return room
