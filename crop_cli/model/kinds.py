"""Kinds of jobs: tables shared by all jobs with the same data (model.md, sections 2, 4 and 6).

A kind knows, for every count of its workers, what it costs on every distinct link and on every distinct hardware, and
its performance levels. Nothing here depends on what is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.instance import Job
from crop_cli.model.patterns import SECONDS_PER_MB_AT_1_GBPS, traffic_mb
from crop_cli.model.tree import Tree

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

TIME_SLACK = 1.0 + 1e-12
"""Two times that differ by less than this factor are the same performance level."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The H distinct (GPU type, slowdown, GPU link, fabric) of a cluster's nodes; absent bandwidths are infinite."""

    gpu_type: tuple[str, ...]
    slowdown: FloatArray
    gpu_link_gbps: FloatArray
    fabric_gbps: FloatArray


@dataclass(frozen=True, slots=True)
class Levels:
    """Non-dominated performance levels of a kind, best efficiency first (model.md, section 6).

    Under level i a job computes in at most `compute_s[i]`, communicates in at most `comm_s[i]`, and has efficiency
    `efficiency[i]`. A placement's true efficiency is that of the best level that allows it.
    """

    compute_s: FloatArray
    comm_s: FloatArray
    efficiency: FloatArray

    def __len__(self) -> int:
        return len(self.efficiency)


@dataclass(frozen=True)
class Kind:
    """Tables of a job's data. k workers, H hardware classes, B distinct uplink bandwidths, D+1 depths.

    Attributes
    ----------
    k, weight, overlap, best
        Workers, w_j, o_j, best_j (seconds).
    demand
        (R) of every resource per worker; GPUs first, 1.
    compute_s
        (H) seconds of computation on every hardware class, slowdown included; infinite where not allowed.
    link_time, link_rate
        (B, k+1) seconds on, and Gbit/s reserved of, an uplink of each bandwidth by the count below it.
    worker_mb
        b¹: megabytes that one worker's own GPU link carries per iteration; 0 when k = 1.
    gpu_link_time, fabric_time_per_worker
        (H) seconds on a GPU's link; seconds on the node's fabric per worker on it.
    allowed
        (D+1, k+1) counts that the shape constraints allow for a vertex of each depth (root: 0 and k).
    days_lost_per_failure
        (restart + checkpoint/2) / 1440.
    """

    k: int
    weight: float
    overlap: float
    best: float
    demand: FloatArray
    compute_s: FloatArray
    link_time: FloatArray
    link_rate: FloatArray
    worker_mb: float
    gpu_link_time: FloatArray
    fabric_time_per_worker: FloatArray
    allowed: BoolArray
    days_lost_per_failure: float

    def iteration_s(self, compute: float, comm: float) -> float:
        """T = comp + max(0, comm − o·comp)."""
        return compute + max(0.0, comm - self.overlap * compute)

    def node_comm(self, workers: IntArray, hardware: IntArray) -> FloatArray:
        """Seconds on GPU links and fabric of nodes of the given hardware that hold `workers` each (same shape)."""
        on_fabric = workers * self.fabric_time_per_worker[hardware]
        return np.where(workers > 0, np.maximum(self.gpu_link_time[hardware], on_fabric), 0.0)

    def efficiency(self, compute: float, comm: float) -> float:
        """e = best / T."""
        return self.best / self.iteration_s(compute, comm)

    @cached_property
    def levels(self) -> Levels:
        """All non-dominated performance levels that this cluster can produce, best first."""
        return _levels(self)

    def node_cap(self, level: int) -> IntArray:
        """(H) most workers that a node of each hardware may hold under a performance level; 0: may not be used."""
        compute, comm = self.levels.compute_s[level], self.levels.comm_s[level] * TIME_SLACK
        with np.errstate(divide="ignore", invalid="ignore"):
            by_fabric = np.floor(comm / self.fabric_time_per_worker * TIME_SLACK)
        cap = np.where(self.fabric_time_per_worker > 0, np.minimum(by_fabric, self.k), self.k)
        usable = (self.compute_s <= compute * TIME_SLACK) & (self.gpu_link_time <= comm)
        return np.where(usable, cap, 0).astype(np.int64)

    def link_allowed(self, level: int) -> BoolArray:
        """(B, k+1) whether a count below an uplink of each bandwidth is allowed under a performance level."""
        allowed: BoolArray = self.link_time <= self.levels.comm_s[level] * TIME_SLACK
        return allowed


def kind_key(job: Job) -> object:
    """Equal for two jobs exactly when all their data but name and running state agree."""
    compute = tuple(sorted(job.compute_s.items())) if isinstance(job.compute_s, dict) else job.compute_s
    return (
        job.gpus,
        job.weight,
        compute,
        job.message_mb,
        job.pattern,
        job.overlap,
        tuple(sorted(job.resources_per_gpu.items())),
        job.restart_minutes + job.checkpoint_minutes / 2,
        job.within,
        job.segment and (job.segment.gpus, job.segment.level),
        job.spread and (job.spread.level, job.spread.max_gpus),
        job.gpus_per_node,
    )


def compile_kind(job: Job, tree: Tree, hardware: Hardware, link_gbps: FloatArray, resources: tuple[str, ...]) -> Kind:
    """Tables of one job's data.

    Parameters
    ----------
    job
        A valid job.
    tree, hardware, link_gbps
        The cluster: its tree, its H hardware classes, its B distinct uplink bandwidths (infinite: unlimited).
    resources
        The R resource names, "gpus" first.
    """
    k = job.gpus
    base = np.array([_compute_s(job, gpu_type) for gpu_type in hardware.gpu_type], dtype=np.float64)
    best = float(base.min()) if np.isfinite(base).any() else _least(job)
    megabytes = traffic_mb(job.pattern, job.message_mb, k, np.arange(k + 1))
    worker_mb = float(megabytes[1]) if k >= 2 else 0.0
    seconds = SECONDS_PER_MB_AT_1_GBPS * megabytes
    link_time = seconds[None, :] / link_gbps[:, None]
    link_rate = seconds[None, :] / (best + np.maximum(0.0, link_time - job.overlap * best))
    return Kind(
        k=k,
        weight=job.weight,
        overlap=job.overlap,
        best=best,
        demand=np.array([1.0, *(job.resources_per_gpu.get(name, 0.0) for name in resources[1:])], dtype=np.float64),
        compute_s=base * hardware.slowdown,
        link_time=link_time,
        link_rate=link_rate,
        worker_mb=worker_mb,
        gpu_link_time=SECONDS_PER_MB_AT_1_GBPS * worker_mb / hardware.gpu_link_gbps,
        fabric_time_per_worker=SECONDS_PER_MB_AT_1_GBPS * worker_mb / hardware.fabric_gbps,
        allowed=allowed_counts(job, tree),
        days_lost_per_failure=(job.restart_minutes + job.checkpoint_minutes / 2) / 1440.0,
    )


def _compute_s(job: Job, gpu_type: str) -> float:
    return job.compute_s.get(gpu_type, np.inf) if isinstance(job.compute_s, dict) else job.compute_s


def _least(job: Job) -> float:
    """best_j of a job that no node of the cluster may run: it is never placed, the value only keeps formulas finite."""
    return min(job.compute_s.values()) if isinstance(job.compute_s, dict) else job.compute_s


def allowed_counts(job: Job, tree: Tree) -> BoolArray:
    """A_j of every depth, from the four shape constraints; a multiple of all that name the same level."""
    k, depths = job.gpus, tree.max_depth + 1
    counts = np.arange(k + 1)
    allowed = np.ones((depths, k + 1), dtype=bool)
    if job.within is not None:
        allowed[tree.depth_of(job.within)] &= (counts == 0) | (counts == k)
    if job.segment is not None:
        allowed[tree.depth_of(job.segment.level)] &= counts % job.segment.gpus == 0
    if job.spread is not None:
        allowed[tree.depth_of(job.spread.level)] &= counts <= job.spread.max_gpus
    if job.gpus_per_node is not None:
        allowed[-1] &= (counts == 0) | (counts == job.gpus_per_node)
    allowed[0] = (counts == 0) | (counts == k)
    return allowed


def _levels(kind: Kind) -> Levels:
    """Pareto front of (computation limit, communication limit, iteration time).

    A computation limit is some hardware's time. Under it, communication up to o·comp is free, so that is the first
    communication limit; each longer time that a link, GPU link or fabric can take is another.
    """
    compute = np.unique(kind.compute_s[np.isfinite(kind.compute_s)])
    workers = np.arange(1, kind.k + 1)
    times = np.concatenate(
        [
            kind.link_time.ravel(),
            kind.gpu_link_time,
            (workers[:, None] * np.unique(kind.fabric_time_per_worker)[None, :]).ravel(),
        ]
    )
    times = _distinct(np.unique(times))
    hidden = kind.overlap * compute
    rows_compute, rows_comm = [compute], [hidden]
    for c, free in zip(compute, hidden, strict=True):
        longer = times[times > free * TIME_SLACK]
        rows_compute.append(np.full(len(longer), c))
        rows_comm.append(longer)
    comp, comm = np.concatenate(rows_compute), np.concatenate(rows_comm)
    iteration = comp + np.maximum(0.0, comm - kind.overlap * comp)
    # Fastest first; among equals the one that allows most. A later row is dominated if an earlier one allows as much.
    order = np.lexsort((-comm, -comp, iteration))
    comp, comm, iteration = comp[order], comm[order], iteration[order]
    keep = np.ones(len(comp), dtype=bool)
    for c in compute:
        longest = np.maximum.accumulate(np.where(comp >= c, comm, -np.inf))
        keep[1:] &= (comp[1:] != c) | (comm[1:] > longest[:-1])
    return Levels(compute_s=comp[keep], comm_s=comm[keep], efficiency=kind.best / iteration[keep])


def _distinct(ascending: FloatArray) -> FloatArray:
    """Drop values equal to the next larger one up to rounding, so that the larger one stands for both."""
    if len(ascending) < 2:
        return ascending
    close = ascending[1:] <= ascending[:-1] * TIME_SLACK
    distinct: FloatArray = ascending[np.append(~close, True)]
    return distinct
