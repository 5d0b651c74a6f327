"""The compiled instance: immutable arrays that every solver works on.

Running jobs that may not move are taken out of the decision here: their GPUs, resources and reserved bandwidth are
subtracted, and their part of F is a constant. What is left to decide are the `open` jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.instance import Instance, Job, Node
from crop_cli.model.kinds import Hardware, Kind, compile_kind, kind_key
from crop_cli.model.tree import Tree, build_tree

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Counts = dict[int, int]
"""Workers of one job per node index; only positive counts."""

Placement = dict[int, Counts]
"""Placed jobs (job index to counts). A job that is not a key is not placed."""

SLACK = 5e-7
"""Relative slack of capacities in solvers; half of what the evaluator allows, so that rounding never decides."""


@dataclass(frozen=True)
class Problem:
    """Arrays of one instance. N nodes, V vertices, J jobs, R resources (0 is GPUs), H hardware classes.

    Attributes
    ----------
    instance
        The structs this was made from.
    tree
        The cluster's tree.
    resources
        Names of the R resources, "gpus" first.
    capacity, free
        (N, R). `free` is what open jobs may take: capacity − used − pinned jobs, and 0 on nodes that are not up.
    hardware, hardware_of
        The distinct (type, slowdown, links) of nodes as arrays over H, and the class of every node (N).
    failures
        Failures per day of every node (N).
    up
        Whether a node takes new work (N).
    link_gbps, link_of
        Distinct uplink bandwidths, and the index of every vertex's in it (V).
    uplink_free
        (V) φ·B minus what pinned jobs reserve, Gbit/s; infinite where unlimited.
    kinds, kind_of
        Distinct job data (names aside) with their tables, and the index of every job's kind (J).
    pinned
        Counts of running jobs that stay exactly where they are.
    current
        Counts of running jobs that may be moved.
    migration_cost
        (J) what a move of the job takes off F.
    must_place
        (J) required or movable: F counts only placements in which these jobs run.
    open_jobs
        Jobs to decide, in file order.
    pinned_value
        Their part of F.
    """

    instance: Instance
    tree: Tree
    resources: tuple[str, ...]
    capacity: FloatArray
    free: FloatArray
    hardware: Hardware
    hardware_of: IntArray
    failures: FloatArray
    up: BoolArray
    link_gbps: FloatArray
    link_of: IntArray
    uplink_free: FloatArray
    kinds: tuple[Kind, ...]
    kind_of: IntArray
    pinned: Placement
    current: Placement
    migration_cost: FloatArray
    must_place: BoolArray
    open_jobs: IntArray
    pinned_value: float

    @property
    def n_jobs(self) -> int:
        """All jobs of the instance, pinned ones included."""
        return len(self.kind_of)

    @property
    def n_nodes(self) -> int:
        """All nodes, whatever their state."""
        return len(self.hardware_of)

    def kind(self, job: int) -> Kind:
        """Tables of a job."""
        return self.kinds[int(self.kind_of[job])]

    @cached_property
    def free_gpus(self) -> IntArray:
        """(N) GPUs that open jobs may take."""
        return np.rint(self.free[:, 0]).astype(np.int64)

    @cached_property
    def node_slack(self) -> FloatArray:
        """(N, R) what a load may exceed the capacity by."""
        return SLACK * np.maximum(1.0, self.capacity)

    @cached_property
    def uplink_slack(self) -> FloatArray:
        """(V) what the reserved Gbit/s may exceed φ·B by; infinite where unlimited."""
        return SLACK * np.maximum(1.0, self.instance.cluster.oversubscription * self.tree.uplink_gbps)

    @cached_property
    def node_class(self) -> IntArray:
        """(N) equal for nodes with the same hardware, uplink bandwidth and failures; capacities may differ."""
        link = self.link_of[self.tree.node_vertex :]
        _, failures = np.unique(self.failures, return_inverse=True)
        key = (self.hardware_of * len(self.link_gbps) + link) * (len(self.failures) + 1) + failures
        classes: IntArray = np.unique(key, return_inverse=True)[1].astype(np.int64)
        return classes

    @cached_property
    def node_names(self) -> list[str]:
        """Name of every node index."""
        return list(self.tree.names[self.tree.node_vertex :])

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Node index of every name."""
        return {name: n for n, name in enumerate(self.node_names)}

    @cached_property
    def job_names(self) -> list[str]:
        """Name of every job index."""
        return [job.name for job in self.instance.jobs]


def times(problem: Problem, kind: Kind, counts: Counts) -> tuple[float, float, int]:
    """comp_j and comm_j (seconds) and cuts_j of a job of this kind placed so (model.md, sections 4 and 5).

    comp_j is infinite where a node's type is not allowed.
    """
    tree = problem.tree
    nodes = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
    workers = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    hardware = problem.hardware_of[nodes]
    compute = float(kind.compute_s[hardware].max())
    comm = float(kind.node_comm(workers, hardware).max())
    cuts = 0
    vertices, at = tree.node_vertex + nodes, workers
    while True:
        cut = at < kind.k
        if not cut.any():
            return compute, comm, cuts
        cuts += int(cut.sum())
        comm = max(comm, float(kind.link_time[problem.link_of[vertices[cut]], at[cut]].max()))
        if tree.depth[vertices[0]] <= 1:
            return compute, comm, cuts
        vertices, inverse = np.unique(tree.parent[vertices], return_inverse=True)
        at = np.bincount(inverse, weights=at).astype(np.int64)


def utility(problem: Problem, job: int, counts: Counts) -> float:
    """U_j: the part of F that a job adds when placed so, a move included (model.md, section 5).

    Says nothing about feasibility beyond the job's own node types: −inf where a node's type is not allowed.
    """
    kind = problem.kind(job)
    compute, comm, cuts = times(problem, kind, counts)
    if not np.isfinite(compute):
        return -np.inf
    efficiency = kind.best / kind.iteration_s(compute, comm)
    loss = sum(float(problem.failures[n]) for n in counts) * kind.days_lost_per_failure
    objective = problem.instance.objective
    value = kind.weight * (kind.k * (efficiency - objective.failure_weight * loss) - objective.cut_penalty * cuts)
    if job in problem.current and problem.current[job] != counts:
        value -= float(problem.migration_cost[job])
    return value


def reserved_gbps(problem: Problem, job: int, counts: Counts) -> tuple[IntArray, FloatArray]:
    """Vertices whose uplink a placement cuts, and the Gbit/s it reserves there (model.md, section 4)."""
    kind, tree = problem.kind(job), problem.tree
    vertices = tree.node_vertex + np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
    at = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    found_vertices, found_rates = [], []
    while True:
        cut = at < kind.k
        found_vertices.append(vertices[cut])
        found_rates.append(kind.link_rate[problem.link_of[vertices[cut]], at[cut]])
        if tree.depth[vertices[0]] <= 1:
            return np.concatenate(found_vertices), np.concatenate(found_rates)
        vertices, inverse = np.unique(tree.parent[vertices], return_inverse=True)
        at = np.bincount(inverse, weights=at).astype(np.int64)


def named(problem: Problem, placement: Placement) -> dict[str, dict[str, int]]:
    """A placement by names, pinned jobs included: what the evaluator reads."""
    names, jobs = problem.node_names, problem.job_names
    everything = {**problem.pinned, **placement}
    return {jobs[j]: {names[n]: x for n, x in sorted(everything[j].items())} for j in sorted(everything)}


def compile_problem(instance: Instance, slowdowns: Sequence[float] = ()) -> Problem:
    """Arrays of a valid instance. Call `validate` first: this does not check.

    Parameters
    ----------
    slowdowns
        Factors by which nodes may become slower later: for each of them the H hardware classes are repeated after those
        in use, h + i·H being class h slowed down by `slowdowns[i − 1]`. No node is of these classes.

    Returns
    -------
    Problem
        Immutable; its arrays are not to be written to.
    """
    tree, order = build_tree(instance.cluster)
    nodes = [instance.cluster.nodes[i] for i in order]
    resources = _resources(instance)
    capacity, used = _node_resources(nodes, resources)
    up = np.array([node.state == "up" for node in nodes], dtype=bool)
    hardware, hardware_of = _hardware(nodes)
    hardware = _slower(hardware, slowdowns)
    link_gbps, link_of = np.unique(tree.uplink_gbps, return_inverse=True)

    keys: dict[object, int] = {}
    kinds: list[Kind] = []
    kind_of = np.zeros(len(instance.jobs), dtype=np.int64)
    for j, job in enumerate(instance.jobs):
        key = kind_key(job)
        if key not in keys:
            keys[key] = len(kinds)
            kinds.append(compile_kind(job, tree, hardware, link_gbps, resources))
        kind_of[j] = keys[key]

    index = {node.name: n for n, node in enumerate(nodes)}
    running = {
        j: {index[name]: x for name, x in job.placement.items() if x > 0}
        for j, job in enumerate(instance.jobs)
        if job.placement is not None
    }
    pinned = {j: counts for j, counts in running.items() if not instance.jobs[j].movable}
    objective = instance.objective
    problem = Problem(
        instance=instance,
        tree=tree,
        resources=resources,
        capacity=capacity,
        free=np.where(up[:, None], capacity - used, 0.0),
        hardware=hardware,
        hardware_of=hardware_of,
        failures=np.array([node.failures_per_day for node in nodes], dtype=np.float64),
        up=up,
        link_gbps=link_gbps,
        link_of=link_of.astype(np.int64),
        uplink_free=instance.cluster.oversubscription * tree.uplink_gbps,
        kinds=tuple(kinds),
        kind_of=kind_of,
        pinned=pinned,
        current={j: counts for j, counts in running.items() if instance.jobs[j].movable},
        migration_cost=np.array(
            [job.weight * job.gpus * job.migration_minutes / objective.horizon_minutes for job in instance.jobs],
            dtype=np.float64,
        ),
        must_place=np.array([_must_place(job) for job in instance.jobs], dtype=bool),
        open_jobs=np.array([j for j in range(len(instance.jobs)) if j not in pinned], dtype=np.int64),
        pinned_value=0.0,
    )
    return _take_pinned(problem)


def _take_pinned(problem: Problem) -> Problem:
    """Subtract what pinned jobs hold and add up their part of F."""
    value = 0.0
    for j, counts in problem.pinned.items():
        value += utility(problem, j, counts)
        for n, x in counts.items():
            problem.free[n] -= x * problem.kind(j).demand
        vertices, rates = reserved_gbps(problem, j, counts)
        problem.uplink_free[vertices] -= rates
    np.maximum(problem.free, 0.0, out=problem.free)
    object.__setattr__(problem, "pinned_value", value)
    for array in (problem.free, problem.uplink_free, problem.capacity):
        array.setflags(write=False)
    return problem


def _must_place(job: Job) -> bool:
    return job.required or (job.placement is not None and job.movable)


def _resources(instance: Instance) -> tuple[str, ...]:
    """Every resource that some job asks for, GPUs first; what nobody asks for cannot bind."""
    asked = {name for job in instance.jobs for name, amount in job.resources_per_gpu.items() if amount > 0}
    return ("gpus", *sorted(asked - {"gpus"}))


def _node_resources(nodes: list[Node], resources: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    capacity = np.array([[n.gpus, *(n.resources.get(r, 0.0) for r in resources[1:])] for n in nodes], dtype=np.float64)
    used = np.array([[n.used.get(r, 0.0) for r in resources] for n in nodes], dtype=np.float64)
    return capacity.reshape(len(nodes), len(resources)), used.reshape(len(nodes), len(resources))


def _hardware(nodes: list[Node]) -> tuple[Hardware, IntArray]:
    """Distinct (type, slowdown, GPU link, fabric), numbered by first appearance."""
    classes: dict[tuple[str, float, float, float], int] = {}
    hardware_of = np.zeros(len(nodes), dtype=np.int64)
    for n, node in enumerate(nodes):
        link = np.inf if node.gpu_link_gbps is None else node.gpu_link_gbps
        fabric = np.inf if node.fabric_gbps is None else node.fabric_gbps
        key = (node.gpu_type, node.slowdown, link, fabric)
        hardware_of[n] = classes.setdefault(key, len(classes))
    rows = list(classes)
    return (
        Hardware(
            gpu_type=tuple(row[0] for row in rows),
            slowdown=np.array([row[1] for row in rows], dtype=np.float64),
            gpu_link_gbps=np.array([row[2] for row in rows], dtype=np.float64),
            fabric_gbps=np.array([row[3] for row in rows], dtype=np.float64),
        ),
        hardware_of,
    )


def _slower(hardware: Hardware, slowdowns: Sequence[float]) -> Hardware:
    """The classes, and each of them again for every factor."""
    factors = np.concatenate([[1.0], np.asarray(slowdowns, dtype=np.float64)])
    return Hardware(
        gpu_type=hardware.gpu_type * len(factors),
        slowdown=np.concatenate([factor * hardware.slowdown for factor in factors]),
        gpu_link_gbps=np.tile(hardware.gpu_link_gbps, len(factors)),
        fabric_gbps=np.tile(hardware.fabric_gbps, len(factors)),
    )
