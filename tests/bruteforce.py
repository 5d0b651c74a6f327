"""The truth by enumeration: every placement of a tiny instance, judged by the definitions of model.md alone.

Names in, names out. Nothing here uses the compiled arrays, the cut-function table or a solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from crop_cli.model.instance import Instance, Job, Node

TOLERANCE = 5e-7
"""Load may exceed a capacity C by this share of max(1, C)."""

NameCounts = dict[str, int]


@dataclass
class World:
    """What is free: `free[node][resource]` and `uplink_free[vertex]` (Gbit/s), vertices by name without the root.

    A fresh world is the cluster with what `used` and pinned jobs leave; nodes that are not up offer nothing.
    """

    instance: Instance
    paths: dict[str, list[str]] = field(init=False)
    free: dict[str, dict[str, float]] = field(init=False)
    uplink_free: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        cluster = self.instance.cluster
        self.nodes = {node.name: node for node in cluster.nodes}
        self.jobs = {job.name: job for job in self.instance.jobs}
        above = {switch.name: switch.parent for switch in cluster.switches}
        self.paths = {}
        for node in cluster.nodes:
            path, parent = [node.name], node.parent
            while parent is not None:
                path.append(parent)
                parent = above[parent]
            self.paths[node.name] = path
        self.gbps: dict[str, float] = {}
        for vertex in (*cluster.switches, *cluster.nodes):
            self.gbps[vertex.name] = math.inf if vertex.uplink_gbps is None else vertex.uplink_gbps
        self.uplink_capacity = {name: cluster.oversubscription * gbps for name, gbps in self.gbps.items()}
        self.uplink_free = dict(self.uplink_capacity)
        resources = {"gpus"} | {name for job in self.instance.jobs for name in job.resources_per_gpu}
        self.capacity = {node.name: {r: _capacity(node, r) for r in resources} for node in cluster.nodes}
        self.free = {
            node.name: {
                r: self.capacity[node.name][r] - node.used.get(r, 0.0) if node.state == "up" else 0.0 for r in resources
            }
            for node in cluster.nodes
        }
        for job in self.instance.jobs:
            if job.placement is not None and not job.movable:
                self.take(job, job.placement)

    def take(self, job: Job, counts: Mapping[str, int], sign: int = 1) -> None:
        """Occupy (or with sign −1 give back) what the job holds there."""
        for name, x in counts.items():
            for resource, amount in demand(job).items():
                self.free[name][resource] -= sign * amount * x
        for vertex, rate in rates(self, job, counts).items():
            self.uplink_free[vertex] -= sign * rate

    def fits(self, job: Job, counts: Mapping[str, int]) -> bool:
        """Whether free resources and uplinks suffice."""
        for name, x in counts.items():
            for resource, amount in demand(job).items():
                slack = TOLERANCE * max(1.0, self.capacity[name][resource])
                if amount * x > self.free[name][resource] + slack:
                    return False
        return all(
            rate <= self.uplink_free[vertex] + TOLERANCE * max(1.0, self.uplink_capacity[vertex])
            for vertex, rate in rates(self, job, counts).items()
        )


def _capacity(node: Node, resource: str) -> float:
    return float(node.gpus) if resource == "gpus" else node.resources.get(resource, 0.0)


def demand(job: Job) -> dict[str, float]:
    """Resources of one worker."""
    return {**job.resources_per_gpu, "gpus": 1.0}


def compute_s(job: Job, gpu_type: str) -> float:
    """Seconds on a healthy GPU of a type; infinite where the job may not run."""
    return job.compute_s.get(gpu_type, math.inf) if isinstance(job.compute_s, dict) else job.compute_s


def best_s(world: World, job: Job) -> float:
    """best_j: the least compute_s over the types of the cluster's nodes."""
    return min(compute_s(job, node.gpu_type) for node in world.nodes.values())


def megabytes(job: Job, x: int) -> float:
    """b_jv(x) of model.md section 4."""
    k, volume = job.gpus, job.message_mb
    if x in (0, k):
        return 0.0
    return 2 * volume * (k - 1) / k if job.pattern == "allreduce" else volume * x * (k - x) / k


def counts_by_vertex(world: World, counts: Mapping[str, int]) -> dict[str, int]:
    """Workers below every vertex that holds some, the root excepted."""
    below: dict[str, int] = {}
    for name, x in counts.items():
        for vertex in world.paths[name]:
            below[vertex] = below.get(vertex, 0) + x
    return below


def cut_vertices(world: World, job: Job, counts: Mapping[str, int]) -> dict[str, int]:
    """Vertices that hold some but not all workers."""
    return {v: x for v, x in counts_by_vertex(world, counts).items() if 0 < x < job.gpus}


def rates(world: World, job: Job, counts: Mapping[str, int]) -> dict[str, float]:
    """r_jv of every cut uplink, Gbit/s."""
    best, reserved = best_s(world, job), {}
    for vertex, x in cut_vertices(world, job, counts).items():
        seconds_at_1 = 8e-3 * megabytes(job, x)
        reserved[vertex] = seconds_at_1 / (best + max(0.0, seconds_at_1 / world.gbps[vertex] - job.overlap * best))
    return reserved


def job_times(world: World, job: Job, counts: Mapping[str, int]) -> tuple[float, float, float]:
    """comp_j, comm_j and T_j, seconds."""
    used = [(world.nodes[name], x) for name, x in counts.items() if x > 0]
    comp = max(compute_s(job, node.gpu_type) * node.slowdown for node, _ in used)
    times = [0.0]
    for vertex, x in cut_vertices(world, job, counts).items():
        times.append(8e-3 * megabytes(job, x) / world.gbps[vertex])
    if job.gpus >= 2:
        own = megabytes(job, 1)
        for node, x in used:
            times.append(8e-3 * own / (node.gpu_link_gbps or math.inf))
            times.append(8e-3 * own * x / (node.fabric_gbps or math.inf))
    comm = max(times)
    return comp, comm, comp + max(0.0, comm - job.overlap * comp)


def job_utility(world: World, job: Job, counts: Mapping[str, int]) -> float:
    """U_j: what the job adds to F, a move included; −inf on a GPU type that it may not use."""
    comp, _, iteration = job_times(world, job, counts)
    if math.isinf(comp):
        return -math.inf
    objective = world.instance.objective
    loss = sum(
        world.nodes[name].failures_per_day * (job.restart_minutes + job.checkpoint_minutes / 2) / 1440
        for name in counts
    )
    goodput = job.gpus * (best_s(world, job) / iteration - objective.failure_weight * loss)
    value = job.weight * (goodput - objective.cut_penalty * len(cut_vertices(world, job, counts)))
    if job.placement is not None and {n: x for n, x in job.placement.items() if x > 0} != dict(counts):
        value -= job.weight * job.gpus * job.migration_minutes / objective.horizon_minutes
    return value


def shape_allowed(world: World, job: Job, counts: Mapping[str, int]) -> bool:
    """Whether within, segment, spread and gpus_per_node hold."""
    levels = world.instance.cluster.levels
    per_level: dict[str, dict[str, int]] = {level: {} for level in levels}
    for name, x in counts.items():
        for level, vertex in zip(reversed(levels), world.paths[name], strict=True):
            per_level[level][vertex] = per_level[level].get(vertex, 0) + x
    if job.within is not None and len(per_level[job.within]) != 1:
        return False
    if job.segment is not None and any(x % job.segment.gpus for x in per_level[job.segment.level].values()):
        return False
    if job.spread is not None and any(x > job.spread.max_gpus for x in per_level[job.spread.level].values()):
        return False
    return job.gpus_per_node is None or all(x == job.gpus_per_node for x in counts.values())


def enumerate_job(world: World, job: Job) -> Iterator[NameCounts]:
    """Every placement of one job that its shape, GPU types, and what is free allow."""
    names = list(world.nodes)
    room = [
        min(job.gpus, int(world.free[n]["gpus"] + 0.5)) if math.isfinite(compute_s(job, world.nodes[n].gpu_type)) else 0
        for n in names
    ]

    def fill(i: int, left: int, chosen: NameCounts) -> Iterator[NameCounts]:
        if left == 0:
            yield dict(chosen)
            return
        if left > sum(room[i:]):
            return
        for x in range(min(left, room[i]), 0, -1):
            chosen[names[i]] = x
            yield from fill(i + 1, left - x, chosen)
            del chosen[names[i]]
        yield from fill(i + 1, left, chosen)

    for counts in fill(0, job.gpus, {}):
        if shape_allowed(world, job, counts) and world.fits(job, counts):
            yield counts


def cost(
    world: World,
    job: Job,
    counts: Mapping[str, int],
    node_prices: Mapping[str, Mapping[str, float]],
    uplink_prices: Mapping[str, float],
) -> float:
    """What a placement pays: per unit of every resource of every node, and per Gbit/s reserved on every uplink."""
    total = sum(node_prices[n][r] * amount * x for n, x in counts.items() for r, amount in demand(job).items())
    return total + sum(uplink_prices[v] * rate for v, rate in rates(world, job, counts).items())


def best_single(
    world: World,
    job: Job,
    node_prices: Mapping[str, Mapping[str, float]] | None = None,
    uplink_prices: Mapping[str, float] | None = None,
    below: str | None = None,
) -> tuple[float, NameCounts] | None:
    """Largest utility minus cost over all placements in what is free, and one that has it; None if there is none.

    `below` names a vertex that has to hold all workers.
    """
    best: tuple[float, NameCounts] | None = None
    for counts in enumerate_job(world, job):
        if below is not None and counts_by_vertex(world, counts).get(below, 0) != job.gpus:
            continue
        value = job_utility(world, job, counts)
        if node_prices is not None and uplink_prices is not None:
            value -= cost(world, job, counts, node_prices, uplink_prices)
        if best is None or value > best[0]:
            best = value, counts
    return best


def must_place(job: Job) -> bool:
    """Required jobs, and running ones: those may at most be moved."""
    return job.required or job.placement is not None


def optimum(instance: Instance) -> tuple[float | None, dict[str, NameCounts]]:
    """Largest F over all placements of all jobs, and one placement that has it; (None, {}) if there is no feasible one.

    Depth first over the jobs; a branch ends when the remaining jobs, each at its own best, cannot beat the best known.
    """
    world = World(instance)
    fixed = {job.name: dict(job.placement) for job in instance.jobs if job.placement is not None and not job.movable}
    base = sum(job_utility(world, world.jobs[name], counts) for name, counts in fixed.items())
    jobs, options = [], []
    for job in instance.jobs:
        if job.name in fixed:
            continue
        ranked = sorted(((job_utility(world, job, c), c) for c in enumerate_job(world, job)), key=lambda uc: -uc[0])
        if must_place(job) and not ranked:
            return None, {}
        jobs.append(job)
        options.append(ranked if must_place(job) else [(u, c) for u, c in ranked if u > 0])
    rest = [0.0] * (len(jobs) + 1)
    for i in reversed(range(len(jobs))):
        rest[i] = rest[i + 1] + (options[i][0][0] if options[i] else 0.0)

    best_value, best_placement = -math.inf, {}
    chosen: dict[str, NameCounts] = {}

    def search(i: int, value: float) -> None:
        nonlocal best_value, best_placement
        if i == len(jobs):
            if value > best_value:
                best_value, best_placement = value, {name: dict(counts) for name, counts in chosen.items()}
            return
        job = jobs[i]
        for gain, counts in options[i]:
            if value + gain + rest[i + 1] <= best_value:
                break
            if world.fits(job, counts):
                world.take(job, counts)
                chosen[job.name] = counts
                search(i + 1, value + gain)
                del chosen[job.name]
                world.take(job, counts, -1)
        if not must_place(job) and value + rest[i + 1] > best_value:
            search(i + 1, value)

    search(0, base)
    if math.isinf(best_value):
        return None, {}
    return best_value, {**fixed, **best_placement}
