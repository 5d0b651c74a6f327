"""FGD: every gang where it lowers the expected fragmentation most (fragmentation gradient descent).

The fragmentation of a node, seen by a job, is its idle GPUs if the job's share of the node does not fit there, else
none; the expected one is the mean over the typical jobs, by how often each occurs (pkg/utils/frag.go). The typical
jobs are the instance's own, the most frequent ones that make up 95 %. The source's pods ask for GPUs of one node; here
a job's share of a node is its whole gang, at most what the node has, or its `gpus_per_node`. Whole GPUs only, so that
no idle GPU is too small by itself. A gang that fits on some node is one pod, on the node of the steepest descent; any
other is placed worker by worker. The network is not looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts, Placement, Problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.queueing.baseline import Queue, whole_queue
from crop_cli.solvers.queueing.domains import holders
from crop_cli.solvers.queueing.scratch import one_by_one
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.queueing.workers import FloatArray, IntArray, worker_by_worker

TYPICAL = 0.95
"""Share of the jobs that the typical ones stand for."""


@whole_queue(source="Q. Weng et al., Beware of Fragmentation, USENIX ATC 2023 (pkg/utils/frag.go, plugin/fgd_score.go)")
def place(queue: Queue, view: View, budget: Budget) -> Placement:
    """Jobs in queue order, each on the node of the steepest descent, or worker by worker where no node holds it."""
    return one_by_one(queue, view, budget, partial(_steepest, Typical.of(view.problem)))


def _steepest(typical: Typical, job: int, view: View) -> Counts | None:
    kind, sets = view.problem.kind(job), view.sets(job)

    def score(nodes: IntArray, held: IntArray, workers: int = 1) -> FloatArray:
        before = view.state.free[nodes] - held[:, None] * kind.demand
        after = before - workers * kind.demand
        # Sums of the same shares in another order must not decide between equal nodes.
        return np.round(typical.fragmentation(nodes, before) - typical.fragmentation(nodes, after), 9)

    tree = view.problem.tree
    whole = np.array(holders(view, job, sets, tree.max_depth), dtype=np.int64) - tree.node_vertex
    if len(whole):
        return {int(whole[score(whole, np.zeros_like(whole), kind.k).argmax()]): kind.k}
    return worker_by_worker(view, job, score, sets)


@dataclass(frozen=True, slots=True)
class Typical:
    """The typical jobs of an instance: M of them, on N nodes with R resources.

    Attributes
    ----------
    popularity
        (M) share of each, adding up to 1.
    needs
        (M, N, R) what a job's share of a node takes there; infinite where the node's GPU type is not allowed.
    slack
        (N, R) what a load may exceed the capacity by.
    """

    popularity: FloatArray
    needs: NDArray[np.float64]
    slack: FloatArray

    @classmethod
    def of(cls, problem: Problem) -> Typical:
        """The most frequent demands of the instance's jobs, running ones included."""
        often: Counter[tuple[int, bytes, bytes]] = Counter()
        kind_of: dict[tuple[int, bytes, bytes], int] = {}
        for job, number in enumerate(problem.kind_of.tolist()):
            kind = problem.kinds[number]
            share = problem.instance.jobs[job].gpus_per_node or kind.k
            key = (share, kind.demand.tobytes(), np.isfinite(kind.compute_s).tobytes())
            kind_of.setdefault(key, number)
            often[key] += 1
        chosen, jobs = [], 0
        for key, times in often.most_common():
            if jobs >= TYPICAL * problem.n_jobs:
                break
            chosen.append(key)
            jobs += times
        popularity = np.array([often[key] for key in chosen], dtype=np.float64)
        needs = np.zeros((len(chosen), *problem.capacity.shape))
        for m, key in enumerate(chosen):
            kind = problem.kinds[kind_of[key]]
            share_of_node = np.clip(problem.capacity[:, 0], 1.0, float(key[0]))
            needs[m] = share_of_node[:, None] * kind.demand
            needs[m, ~np.isfinite(kind.compute_s[problem.hardware_of])] = np.inf
        return cls(popularity / max(1, jobs), needs, problem.node_slack)

    def fragmentation(self, nodes: IntArray, free: FloatArray) -> FloatArray:
        """(n) expected fragmentation, in GPUs, of n nodes with so much free (n, R)."""
        fits = (self.needs[:, nodes] <= free + self.slack[nodes]).all(axis=2)
        expected: FloatArray = free[:, 0] * (self.popularity @ ~fits)
        return expected
