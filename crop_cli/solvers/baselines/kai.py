"""NVIDIA KAI: tightest of the deepest domains that hold the gang, its loosest sub-domains first.

`within` is KAI's required level, `segment` its sub-groups; other jobs prefer the level just above the nodes and may
climb to the whole cluster. The score of a node's sub-domain has eleven steps only, so that many tie, and bin packing
over tied ones scatters the gang.
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

STEPS = 10
"""Highest step of a sub-domain's score."""


@job_by_job(
    source="NVIDIA KAI-Scheduler, pkg/scheduler/plugins/topology/{job_filtering,node_scoring,topology_utils}.go,"
    " pkg/scheduler/plugins/nodeplacement/pack.go, docs/topology"
)
def place(job: int, view: View) -> Counts | None:
    """The first candidate domain that holds the gang, filled by node score."""
    capacity = Capacity.of(view, job)
    if not capacity.fits:
        return None
    rank = tight_first(view, job)
    preferred = None if capacity.within else capacity.tree.max_depth - 1
    domain = _candidate(capacity, rank, preferred)
    score = np.zeros(capacity.tree.n_nodes, dtype=np.int64)
    if preferred is not None:
        score = steps(capacity, domain, preferred, rank)
    return fill(capacity, domain, capacity.k, partial(_tightest, rank), partial(_packed, view, score))


def tight_first(view: View, job: int) -> IntArray:
    """(V) position of every vertex in its level: siblings with the highest ratio of request to free resources first.

    The tree is read level by level: children of an earlier parent come before those of a later one.
    """
    problem, tree = view.problem, view.problem.tree
    ratio = _ratio(view, job)
    rank = np.zeros(tree.n_vertices, dtype=np.int64)
    for depth in range(1, tree.max_depth):
        vertices = np.arange(tree.start[depth], tree.start[depth + 1])
        order = np.lexsort((vertices, -ratio[vertices], rank[problem.tree.parent[vertices]]))
        rank[vertices[order]] = np.arange(len(vertices))
    return rank


def steps(capacity: Capacity, domain: int, depth: int, rank: IntArray) -> IntArray:
    """(N) score of nodes: that of their sub-domain, floor(10·(i+1)/n) for the i-th of n in tight-first order."""
    tree = capacity.tree
    inside = capacity.below(domain, depth)
    score = np.zeros(tree.n_nodes, dtype=np.int64)
    for i, v in enumerate(inside[np.argsort(rank[inside])].tolist()):
        score[tree.first_node[v] : tree.end_node[v]] = STEPS * (i + 1) // len(inside)
    return score


def _ratio(view: View, job: int) -> FloatArray:
    """(V) highest share of what is free below a vertex, over the resources that the gang asks for."""
    problem, kind = view.problem, view.problem.kind(job)
    needed = kind.demand > 0
    usable = np.isfinite(kind.compute_s[problem.hardware_of])[:, None]
    free = np.where(usable, np.maximum(view.state.free[:, needed], 0.0), 0.0)
    below = np.asarray(problem.tree.sum_below(free.T), dtype=np.float64)
    request = kind.k * kind.demand[needed][:, None]
    ratio = np.divide(request, below, out=np.full_like(below, np.inf), where=below > 0).max(axis=0)
    # Sums of equal parts in another order are the same ratio.
    tightness: FloatArray = np.round(ratio, 9)
    return tightness


def _candidate(capacity: Capacity, rank: IntArray, preferred: int | None) -> int:
    """The first domain with room: levels from the preferred one up, tightest first; or of the required level only."""
    depths = [capacity.within] if preferred is None else range(preferred, -1, -1)
    for depth in depths:
        vertices = capacity.at(depth)
        fitting = vertices[capacity.room[vertices] >= capacity.k]
        if len(fitting):
            return int(_tightest(rank, fitting)[0])
    raise ValueError("the job has no place")


def _tightest(rank: IntArray, vertices: IntArray) -> IntArray:
    return vertices[np.argsort(rank[vertices], kind="stable")]


def _packed(view: View, score: IntArray, vertices: IntArray) -> IntArray:
    """Nodes by score, then fewest free GPUs: a pod makes its node fuller, so that the next one goes there too."""
    nodes = vertices - view.problem.tree.node_vertex
    return vertices[np.lexsort((nodes, view.free_gpus[nodes], -score[nodes]))]
