"""What a kind of job can reach at best: exact inside one node, an upper bound across nodes (model.md, section 9).

Nothing here depends on what other open jobs take; only on the cluster with the pinned jobs in it. The bounds let the
greedy skip oracle calls that cannot pay, and certify how good an arrangement is.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    k, weight
        (K) workers and w_j.
    demand, need
        (K, R) of every resource per worker, and of the whole job.
    alone
        (K, H) w·k·efficiency of the whole job in one node of a hardware class; −inf where types or shape forbid it.
    across
        (K, D) upper bound of U when the lowest vertex that holds the whole job has depth d < D, moves aside; −inf where
        the shape or the largest free node forbids it.
    failure_cost, cut_cost
        (K) what one failure per day of a used node, and one cut uplink, take off U.
    usable
        (K, H) whether a worker may run on a hardware class.
    step
        (K) arrays over 0..k: the largest count ≤ c that one node may hold of a job that spans nodes.
    whole
        (K, D+1) whether the shape lets a vertex of a depth, and all above it, hold all k workers.
    """

    k: IntArray
    weight: FloatArray
    demand: FloatArray
    need: FloatArray
    alone: FloatArray
    across: FloatArray
    failure_cost: FloatArray
    cut_cost: FloatArray
    usable: BoolArray
    step: tuple[IntArray, ...]
    whole: BoolArray

    @property
    def scale(self) -> FloatArray:
        """(K) w·k: the utility of perfect work, by which tolerances are measured."""
        return self.weight * self.k


def build_outlook(problem: Problem) -> Outlook:
    """Tables of all kinds of a problem."""
    kinds, objective = problem.kinds, problem.instance.objective
    k = np.array([kind.k for kind in kinds], dtype=np.int64)
    weight = np.array([kind.weight for kind in kinds], dtype=np.float64)
    demand = np.array([kind.demand for kind in kinds], dtype=np.float64).reshape(len(kinds), len(problem.resources))
    days_lost = np.array([kind.days_lost_per_failure for kind in kinds], dtype=np.float64)
    shapes = [_Shape.of(problem, d) for d in range(problem.tree.max_depth + 1)]
    whole = np.array([np.cumprod(kind.allowed[:, kind.k]) > 0 for kind in kinds], dtype=bool)
    usable = np.array([np.isfinite(kind.compute_s) for kind in kinds], dtype=bool)
    return Outlook(
        k=k,
        weight=weight,
        demand=demand,
        need=k[:, None] * demand,
        alone=np.array([_alone(kind) for kind in kinds], dtype=np.float64).reshape(usable.shape),
        across=np.array([_across(problem, kind, shapes) for kind in kinds], dtype=np.float64).reshape(len(kinds), -1),
        failure_cost=objective.failure_weight * weight * k * days_lost,
        cut_cost=objective.cut_penalty * weight,
        usable=usable,
        step=tuple(_step(kind) for kind in kinds),
        whole=whole,
    )


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


def _across(problem: Problem, kind: Kind, shapes: list[_Shape]) -> list[float]:
    """Upper bound of U, moves aside, by the depth of the lowest vertex that holds all workers.

    Below such a vertex of depth d, every depth e > d has cut vertices: at least two, and enough to hold k. Of c
    vertices that share k workers one holds at least ⌈k/c⌉, so the slowest uplink of depth e takes at least the least
    time of any such count on any of its links.
    """
    depths, k, objective = len(shapes) - 1, kind.k, problem.instance.objective
    usable = np.isfinite(kind.compute_s)
    if k < 2 or not usable.any():
        return [-np.inf] * depths
    on_node = float(np.maximum(kind.gpu_link_time, kind.fabric_time_per_worker)[usable].min())
    compute = float(kind.compute_s[usable].min())
    failures = float(problem.failures.min(initial=np.inf, where=problem.free_gpus > 0))
    bounds = []
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
        loss = objective.failure_weight * kind.days_lost_per_failure * failures * used
        goodput = k * (kind.efficiency(compute, comm) - loss)
        bounds.append(kind.weight * (goodput - objective.cut_penalty * cuts) if possible else -np.inf)
    return bounds


def _step(kind: Kind) -> IntArray:
    """Largest count ≤ c, below k, that the shape lets a node hold."""
    counts = np.arange(kind.k + 1)
    fitting = np.where(kind.allowed[-1] & (counts < kind.k), counts, 0)
    return np.maximum.accumulate(fitting)
