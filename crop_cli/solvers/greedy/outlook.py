"""What a kind of job can reach at best: exact inside one node, an upper bound across nodes (model.md, section 9).

Nothing here depends on what other open jobs take; only on the cluster with the pinned jobs in it. The bounds let the
greedy skip oracle calls that cannot pay, and certify how good an arrangement is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import BoolArray, FloatArray, IntArray, Problem

TOLERANCE = 1e-9
"""Utilities closer than this, relative to the job's weight times GPUs, count as equal."""


@dataclass(frozen=True)
class Outlook:
    """Tables over the K kinds of a problem; D is the depth of the nodes, H the hardware classes.

    Attributes
    ----------
    k, weight, best, overlap
        (K) workers, w_j, best_j, o_j.
    demand, need
        (K, R) of every resource per worker, and of the whole job.
    alone
        (K, H) w·k·efficiency of the whole job in one node of a hardware class; −inf where types or shape forbid it.
    compute
        (K, H) seconds of computation on a hardware class; infinite where not allowed.
    across_comm, across_cost
        (K, D) least communication time, and least cost of cuts and failures in U, when the lowest vertex that holds the
        whole job has depth d < D; infinite where that cannot be.
    failure_cost
        (K) what one failure per day of a used node takes off U.
    step
        (K) arrays over 0..k: the largest count ≤ c that one node may hold of a job that spans nodes.
    """

    k: IntArray
    weight: FloatArray
    best: FloatArray
    overlap: FloatArray
    demand: FloatArray
    need: FloatArray
    alone: FloatArray
    compute: FloatArray
    across_comm: FloatArray
    across_cost: FloatArray
    failure_cost: FloatArray
    step: tuple[IntArray, ...]

    @cached_property
    def scale(self) -> FloatArray:
        """(K) w·k: the utility of perfect work, by which tolerances are measured."""
        return self.weight * self.k

    @cached_property
    def usable(self) -> BoolArray:
        """(K, H) whether a worker may run on a hardware class."""
        return np.isfinite(self.compute)

    @cached_property
    def across(self) -> FloatArray:
        """(K, D) upper bound of U, moves aside, by the depth of the lowest vertex that holds the whole job; −inf where
        that cannot be."""
        bounds = np.full(self.across_comm.shape, -np.inf)
        fastest = self.compute.min(axis=1, initial=np.inf)
        for kind, depth in np.argwhere(np.isfinite(self.across_comm)):
            bounds[kind, depth] = self._reach(int(kind), int(depth), float(fastest[kind]))
        return bounds

    def across_nodes(self, kind: int, depth: int, compute: float) -> float:
        """Upper bound of U, moves aside, across nodes below a vertex of a depth when the slowest worker takes at least
        `compute` seconds; −inf where that cannot be."""
        depths = range(depth, self.across_comm.shape[1])
        return max((self._reach(kind, d, compute) for d in depths), default=-np.inf)

    def _reach(self, kind: int, depth: int, compute: float) -> float:
        comm = float(self.across_comm[kind, depth])
        if not np.isfinite(comm + compute):
            return -np.inf
        iteration = compute + max(0.0, comm - float(self.overlap[kind]) * compute)
        return float(self.scale[kind] * self.best[kind] / iteration - self.across_cost[kind, depth])

    def room(
        self, problem: Problem, free: FloatArray, nodes: slice, kinds: slice = slice(None)
    ) -> tuple[BoolArray, FloatArray]:
        """What each of n nodes could hold of each kind, shape within nodes aside.

        Returns
        -------
        fits
            (K, n) whether the resources suffice for the whole job.
        caps
            (K, n) most workers, at most k; 0 where the type is not allowed.
        """
        room = free[nodes] + problem.node_slack[nodes]
        fits = np.all(self.need[kinds, None, :] <= room, axis=2)
        demand = self.demand[kinds, None]
        caps = np.floor(np.where(demand > 0, room / np.where(demand > 0, demand, 1.0), np.inf).min(axis=2))
        caps = np.clip(caps, 0, self.k[kinds, None])
        return fits, np.where(self.usable[kinds, problem.hardware_of[nodes]], caps, 0.0)

    def has_room(self, problem: Problem, free: FloatArray, nodes: slice) -> BoolArray:
        """(K) whether some nodes together could hold a job of each kind, by a test that errs to yes."""
        fits, caps = self.room(problem, free, nodes)
        alone = fits & (self.alone[:, problem.hardware_of[nodes]] > -np.inf)
        enough: BoolArray = alone.any(axis=1) | (caps.sum(axis=1) >= self.k)
        return enough


def build_outlook(problem: Problem) -> Outlook:
    """Tables of all kinds of a problem."""
    kinds, objective = problem.kinds, problem.instance.objective
    shapes = [_Shape.of(problem, d) for d in range(problem.tree.max_depth + 1)]
    k = np.array([kind.k for kind in kinds], dtype=np.int64)
    weight = np.array([kind.weight for kind in kinds], dtype=np.float64)
    demand = _table([kind.demand for kind in kinds], len(problem.resources))
    across = [_across(problem, kind, shapes) for kind in kinds]
    hardware = len(problem.hardware.gpu_type)
    return Outlook(
        k=k,
        weight=weight,
        best=np.array([kind.best for kind in kinds], dtype=np.float64),
        overlap=np.array([kind.overlap for kind in kinds], dtype=np.float64),
        demand=demand,
        need=k[:, None] * demand,
        alone=_table([_alone(kind) for kind in kinds], hardware),
        compute=_table([kind.compute_s for kind in kinds], hardware),
        across_comm=_table([comm for comm, _ in across], problem.tree.max_depth),
        across_cost=_table([cost for _, cost in across], problem.tree.max_depth),
        failure_cost=objective.failure_weight
        * weight
        * k
        * np.array([kind.days_lost_per_failure for kind in kinds], dtype=np.float64),
        step=tuple(_step(kind) for kind in kinds),
    )


def _table(rows: Sequence[FloatArray | list[float]], columns: int) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns)


@dataclass(frozen=True, slots=True)
class _Shape:
    """One depth: its distinct uplinks, the most vertices of it below one of each depth above, GPUs of the largest."""

    links: IntArray
    fan_out: tuple[int, ...]
    most_gpus: int

    @classmethod
    def of(cls, problem: Problem, depth: int) -> _Shape:
        tree = problem.tree
        vertices = slice(int(tree.start[depth]), int(tree.start[depth + 1]))
        gpus = tree.sum_below(problem.free_gpus)[vertices].astype(np.int64)
        in_use = gpus > 0
        links = np.unique(problem.link_of[vertices][in_use])
        fan_out = []
        at = np.arange(vertices.start, vertices.stop)[in_use]
        for _ in range(depth):
            at = tree.parent[at]
            fan_out.append(int(np.bincount(at).max()) if len(at) else 0)
        return cls(links, tuple(reversed(fan_out)), int(gpus.max(initial=0)))


def _alone(kind: Kind) -> FloatArray:
    """(H) w·k·efficiency in one node."""
    value = np.full(len(kind.compute_s), -np.inf)
    if kind.allowed[:, kind.k].all():
        h = np.flatnonzero(np.isfinite(kind.compute_s))
        compute, comm = kind.compute_s[h], kind.node_comm(np.full(len(h), kind.k), h)
        value[h] = kind.weight * kind.k * kind.best / (compute + np.maximum(0.0, comm - kind.overlap * compute))
    return value


def _across(problem: Problem, kind: Kind, shapes: list[_Shape]) -> tuple[list[float], list[float]]:
    """Least comm_j, and least cost of cuts and failures in U, by the depth of the lowest vertex that holds all workers.

    Below such a vertex of depth d, every depth e > d has cut vertices: at least two, and enough to hold k. Of c
    vertices that share k workers one holds at least ⌈k/c⌉, so the slowest uplink of depth e takes at least the least
    time of any such count on any of its links. Infinite where shape or the largest free vertex forbids it.
    """
    depths, k, objective = len(shapes) - 1, kind.k, problem.instance.objective
    usable = np.isfinite(kind.compute_s)
    if k < 2 or not usable.any():
        return [np.inf] * depths, [np.inf] * depths
    on_node = float(np.maximum(kind.gpu_link_time, kind.fabric_time_per_worker)[usable].min())
    failures = float(problem.failures.min(initial=np.inf, where=problem.free_gpus > 0))
    times, costs = [], []
    for d in range(depths):
        comm, cuts, used = on_node, 0, 0
        possible = bool(kind.allowed[: d + 1, k].all())
        for e in range(d + 1, depths + 1):
            shape = shapes[e]
            low = -(-k // max(1, shape.fan_out[d]))
            high = min(k - 1, shape.most_gpus)
            if high < low or not kind.allowed[e, 1:k].any():
                possible = False
                break
            comm = max(comm, float(kind.link_time[shape.links, low : high + 1].min()))
            used = max(2, -(-k // shape.most_gpus))
            cuts += used
        loss = k * objective.failure_weight * kind.days_lost_per_failure * failures * used
        times.append(comm if possible else np.inf)
        costs.append(kind.weight * (loss + objective.cut_penalty * cuts) if possible else np.inf)
    return times, costs


def _step(kind: Kind) -> IntArray:
    """Largest count ≤ c, below k, that the shape lets a node hold."""
    counts = np.arange(kind.k + 1)
    fitting = np.where(kind.allowed[-1] & (counts < kind.k), counts, 0)
    return np.maximum.accumulate(fitting)
