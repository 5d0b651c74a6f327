"""Volcano HyperNodes: fullest switch of the lowest tier with room, else near the first worker.

A switch is a HyperNode, those just above the nodes are tier 1. `within` is Volcano's hard mode with the tier of that
level as the highest allowed, `segment` its sub-jobs. Other jobs are in soft mode: the first worker takes the first node
with room, and every other one the node whose lowest common HyperNode with those placed has the lowest tier. Volcano
breaks ties at random; with ties to the first node of the file, soft mode is first fit.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.filling import fill
from crop_cli.solvers.queueing.view import View

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@job_by_job(
    source="Volcano, pkg/scheduler/plugins/network-topology-aware/network_topology_aware.go,"
    " docs/design/Network Topology Aware Scheduling.md"
)
def place(job: int, view: View) -> Counts | None:
    """Hard mode where the job has to stay inside a domain, soft mode elsewhere."""
    capacity = Capacity.of(view, job)
    if not capacity.fits:
        return None
    domain = _hyper_node(capacity, view, job) if capacity.within else 0
    return fill(capacity, domain, capacity.k, partial(_fullest, capacity, view, job), partial(_nearest, capacity))


def used_share(view: View, job: int, workers: int) -> FloatArray:
    """(V) share of the resources below a vertex in use once so many workers are there: mean over those they ask for."""
    problem, kind = view.problem, view.problem.kind(job)
    needed = kind.demand > 0
    capacity = np.where(problem.up[:, None], problem.capacity, 0.0)[:, needed]
    used = capacity - np.maximum(view.state.free[:, needed], 0.0)
    total = np.asarray(problem.tree.sum_below(capacity.T), dtype=np.float64)
    load = np.asarray(problem.tree.sum_below(used.T), dtype=np.float64) + workers * kind.demand[needed][:, None]
    share = np.divide(load, total, out=np.zeros_like(load), where=total > 0)
    # Sums of equal parts in another order are the same share.
    mean: FloatArray = np.round(share.mean(axis=0), 9)
    return mean


def _hyper_node(capacity: Capacity, view: View, job: int) -> int:
    """The fullest switch with room of the lowest tier that has one, up to the level allowed."""
    share = used_share(view, job, capacity.k)
    for depth in range(max(capacity.within, capacity.tree.max_depth - 1), capacity.within - 1, -1):
        vertices = capacity.at(depth)
        fitting = vertices[capacity.room[vertices] >= capacity.k]
        if len(fitting):
            return int(fitting[np.argmax(share[fitting])])
    raise ValueError("the job has no place")


def _fullest(capacity: Capacity, view: View, job: int, vertices: IntArray) -> IntArray:
    """Domains in the order in which sub-jobs take them, of the smallest size that the domains may hold."""
    unit = capacity.unit[int(capacity.tree.depth[vertices[0]])]
    return vertices[np.argsort(-used_share(view, job, unit)[vertices], kind="stable")]


def _nearest(capacity: Capacity, vertices: IntArray) -> IntArray:
    """Nodes by the tier of the switch that they share with the first one that has room, then in the file's order.

    A switch is full before the next one is begun: among nodes of equal tier, the share of the job's workers that are
    already below a node's switch decides.
    """
    tree = capacity.tree
    open_nodes = vertices[capacity.room[vertices] > 0]
    shared = np.zeros(tree.n_nodes, dtype=np.int64)
    for v in reversed(tree.ancestors(int(tree.parent[open_nodes[0]]))):
        shared[tree.first_node[v] : tree.end_node[v]] = tree.depth[v]
    return open_nodes[np.argsort(-shared[open_nodes - tree.node_vertex], kind="stable")]
