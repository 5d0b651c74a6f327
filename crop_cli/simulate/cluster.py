"""The cluster while it is simulated: what is free, down or slow, what uplinks carry, how fast jobs run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.problem import BoolArray, Counts, FloatArray, IntArray, Problem, reserved_gbps
from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.settings import Sharing

OVER = 1e-9
"""Share by which more may be reserved on an uplink than it has before its jobs slow down: rounding."""


@dataclass(slots=True)
class SimCluster:
    """State of the cluster.

    Attributes
    ----------
    problem
        Compiled with all jobs of the trace and, twice, all hardware: as it is and slow.
    free
        (N, R) that nobody holds, whether the node is up or not.
    up, slow
        (N) whether a node can run anything, and whether it is slow now.
    limits, reserved
        (V) Gbit/s that may be reserved on every uplink, and that are: by running jobs and by those that stay for good.
    users
        Running jobs that cut an uplink with a limit.
    """

    problem: Problem
    sharing: Sharing
    free: FloatArray
    up: BoolArray
    slow: BoolArray
    limits: FloatArray
    reserved: FloatArray
    down_count: IntArray
    users: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    running: dict[int, SimJob] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, sharing: Sharing) -> SimCluster:
        """Empty, all nodes as the instance has them."""
        n = problem.n_nodes
        limits = problem.instance.cluster.oversubscription * problem.tree.uplink_gbps
        limited = np.isfinite(limits)
        return cls(
            problem=problem,
            sharing=sharing,
            free=problem.free.copy(),
            up=problem.up.copy(),
            slow=np.zeros(n, dtype=bool),
            limits=limits,
            reserved=np.subtract(limits, problem.uplink_free, out=np.zeros_like(limits), where=limited),
            down_count=np.zeros(n, dtype=np.int64),
        )

    @property
    def hardware_of(self) -> IntArray:
        """(N) hardware class of every node as it is now."""
        half = len(self.problem.hardware.gpu_type) // 2
        return np.where(self.slow, self.problem.hardware_of + half, self.problem.hardware_of)

    def start(self, job: SimJob, counts: Counts) -> set[int]:
        """Give a job its place; the jobs whose rate may change, itself included."""
        self._hold(job, counts, 1.0)
        job.counts = counts
        self.running[job.index] = job
        self._measure(job)
        return self._touched(job)

    def stop(self, job: SimJob) -> set[int]:
        """Take a job's place away; the jobs whose rate may change."""
        touched = self._touched(job)
        self._hold(job, job.counts, -1.0)
        del self.running[job.index]
        touched.discard(job.index)
        return touched

    def fail(self, node: int) -> bool:
        """A node goes down; whether it was up."""
        self.down_count[node] += 1
        was, self.up[node] = bool(self.up[node]), False
        return was

    def repair(self, node: int) -> bool:
        """One of a node's faults ends; whether it is up again."""
        self.down_count[node] -= 1
        if self.down_count[node] > 0:
            return False
        self.down_count[node] = 0
        self.up[node] = bool(self.problem.up[node])
        return bool(self.up[node])

    def set_slow(self, node: int, slow: bool) -> set[int]:
        """A node becomes slow or recovers; the jobs whose rate may change."""
        self.slow[node] = slow
        touched = set()
        for job in self.jobs_on(node):
            self._measure(job)
            touched.add(job.index)
        return touched

    def jobs_on(self, node: int) -> list[SimJob]:
        """Running jobs with a worker on a node, by index."""
        return [job for _, job in sorted(self.running.items()) if node in job.counts]

    def rates(self, jobs: set[int]) -> dict[int, float]:
        """Work per second of running jobs, as the uplinks are shared now."""
        if self.sharing == "max-min":
            from crop_cli.simulate.fairness import max_min_rates  # noqa: PLC0415 (only if asked for)

            return max_min_rates(self)
        return {j: self._rate(self.running[j]) for j in sorted(jobs)}

    def waiting_share(self, job: SimJob, rate: float) -> float:
        """Share of a job's time in which it waits for the network, at a rate of work."""
        return 1.0 - job.compute_s * rate / job.best_s

    def alone(self, job: SimJob) -> float:
        """Work per second of a job if it had its uplinks for itself."""
        links = 0.0 if job.link_s is None or not len(job.link_s) else float(job.link_s.max())
        return job.best_s / self._iteration(job, links)

    def _rate(self, job: SimJob) -> float:
        links = 0.0
        if job.vertices is not None and job.link_s is not None and len(job.link_s):
            load = self.reserved[job.vertices] / self.limits[job.vertices]
            links = float((job.link_s * np.where(load > 1.0 + OVER, load, 1.0)).max())
        return job.best_s / self._iteration(job, links)

    def _iteration(self, job: SimJob, links: float) -> float:
        comm = max(job.inside_s, links)
        return job.compute_s + max(0.0, comm - job.overlap * job.compute_s)

    def _measure(self, job: SimJob) -> None:
        """The times of a job where it is, on the nodes as they are."""
        kind, hardware = self.problem.kind(job.index), self.hardware_of
        nodes = np.fromiter(job.counts.keys(), dtype=np.int64, count=len(job.counts))
        workers = np.fromiter(job.counts.values(), dtype=np.int64, count=len(job.counts))
        job.compute_s = float(kind.compute_s[hardware[nodes]].max())
        job.inside_s = float(kind.node_comm(workers, hardware[nodes]).max())

    def _hold(self, job: SimJob, counts: Counts, sign: float) -> None:
        """Take or give back nodes' resources and uplinks' bandwidth."""
        problem = self.problem
        nodes = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
        workers = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
        self.free[nodes] -= sign * workers[:, None] * problem.kind(job.index).demand
        if sign > 0:
            vertices, rates = reserved_gbps(problem, job.index, counts)
            limited = np.isfinite(self.limits[vertices])
            job.vertices, job.reserved = vertices[limited], rates[limited]
            job.link_s = _link_seconds(problem, job, counts, job.vertices)
        assert job.vertices is not None and job.reserved is not None
        self.reserved[job.vertices] += sign * job.reserved
        for v in job.vertices.tolist():
            if sign > 0:
                self.users[v].add(job.index)
            else:
                self.users[v].discard(job.index)

    def _touched(self, job: SimJob) -> set[int]:
        """The job, and those that share an uplink with it that is overbooked with it."""
        found = {job.index}
        assert job.vertices is not None
        over = self.reserved[job.vertices] > self.limits[job.vertices] * (1.0 + OVER)
        for v in job.vertices[over].tolist():
            found |= self.users[v]
        return found


def _link_seconds(problem: Problem, job: SimJob, counts: Counts, vertices: IntArray) -> FloatArray:
    """Seconds per iteration on each of these uplinks, when nobody else is there."""
    kind, tree = problem.kind(job.index), problem.tree
    below = np.zeros(problem.n_nodes, dtype=np.int64)
    for n, x in counts.items():
        below[n] = x
    prefix = np.concatenate([[0], np.cumsum(below)])
    at = prefix[tree.end_node[vertices]] - prefix[tree.first_node[vertices]]
    seconds: FloatArray = kind.link_time[problem.link_of[vertices], at]
    return seconds
