"""Spread: every worker on the emptiest node (Kubernetes NodeResourcesFit with LeastAllocated).

A node is scored by the mean, over its resources, of the share that stays free once the worker is there
(pkg/scheduler/framework/plugins/noderesources/least_allocated.go). Resources that a node has none of do not count. The
source rounds scores to whole percents and draws among equals; here they are not rounded and the first of equals wins.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.queueing.workers import FloatArray, IntArray, worker_by_worker


@job_by_job(source="Kubernetes scheduler, NodeResourcesFit with LeastAllocated (noderesources/least_allocated.go)")
def place(job: int, view: View) -> Counts | None:
    """The emptiest node for each worker in turn."""
    problem, demand = view.problem, view.problem.kind(job).demand

    def score(nodes: IntArray, held: IntArray) -> FloatArray:
        capacity = problem.capacity[nodes]
        left = view.state.free[nodes] - (held[:, None] + 1) * demand
        has = capacity > 0
        share = np.divide(left, capacity, out=np.zeros_like(left), where=has)
        mean: FloatArray = share.sum(axis=1) / has.sum(axis=1)
        return mean

    return worker_by_worker(view, job, score)
