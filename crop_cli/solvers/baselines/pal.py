"""PAL: the cell of least locality penalty times device variability that has enough GPUs.

A cell is a locality, inside one node (1) or across nodes (`penalty`), and a bound on how slow a GPU may be for the job.
Cells are tried by the product of both. Inside a node the node of the fastest GPUs is taken; across nodes, and for
single GPUs and gangs larger than any node, the fastest GPUs first ("PM-First"), nodes with a number of them nearest to
the gang's before others. A GPU's variability is the job's compute time on it, slowdown included, over that on the
median class; classes are the distinct times, which the source finds by clustering measurements. Its first step, to let
jobs that suffer most from variability choose first, needs its measured classes of jobs and is left out.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.domains import holders, sets_on
from crop_cli.solvers.queueing.options import factor
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.queueing.workers import FloatArray, IntArray, worker_by_worker

ACROSS = 1.7
"""Locality penalty across nodes: the constant that the source's code names."""


@job_by_job(
    source="PAL: A Variability-Aware Policy for Cluster Scheduling in GPU-Rich HPC Systems, arXiv 2408.11919",
    knows=("penalty",),
)
def place(job: int, view: View) -> Counts | None:
    """The first cell that holds the gang."""
    penalty, kind = factor(view.options, "penalty", ACROSS), view.problem.kind(job)
    sets, first = view.sets(job), view.problem.tree.node_vertex
    if not sets:
        return None
    slowness = kind.compute_s[view.problem.hardware_of]
    if kind.k == 1 or kind.k > view.problem.capacity[:, 0].max():
        return _fastest(job, view, slowness, np.inf)
    usable = np.array(sorted(v - first for v in sets if v >= first), dtype=np.int64)
    classes = np.unique(slowness[usable]).tolist()
    cells = sorted((slow * (penalty if across else 1.0), across, slow) for slow in classes for across in (False, True))
    whole = [v - first for v in holders(view, job, sets, view.problem.tree.max_depth)]
    for _, across, slow in cells:
        if not across:
            nodes = [n for n in whole if slowness[n] <= slow]
            if nodes:
                return {min(nodes, key=lambda n: (slowness[n], n)): kind.k}
        else:
            found = _fastest(job, view, slowness, slow)
            if found is not None:
                return found
    return None


def _fastest(job: int, view: View, slowness: FloatArray, slowest: float) -> Counts | None:
    """PM-First on the nodes that are no slower than so: fastest first, then those with nearest to k free slots."""
    sets = sets_on(view, job, slowness <= slowest)
    k = view.problem.kind(job).k
    slots = Capacity.of(view, job).pods[view.problem.tree.node_vertex :]

    def score(nodes: IntArray, held: IntArray) -> FloatArray:
        return ranks[nodes]

    ranks = np.zeros(view.problem.n_nodes)
    ranks[np.lexsort((abs(slots - k), slowness))] = -np.arange(view.problem.n_nodes)
    return worker_by_worker(view, job, score, sets)
