"""What one placed job gets: its times, goodput and part of F, from the definitions (model.md, sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from crop_cli.model.instance import Instance, Job, Node
from crop_cli.model.patterns import SECONDS_PER_MB_AT_1_GBPS, traffic_mb
from crop_cli.model.topology import Topology, Vertex


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What a placed job gets: the lowest level whose one domain holds it, seconds per iteration, and its part of F."""

    level: str
    nodes: dict[str, int]
    compute_s: float
    comm_s: float
    iteration_s: float
    efficiency: float
    loss: float
    goodput: float
    cuts: dict[Vertex, int]
    moved: bool
    utility: float


def outcome_of(
    instance: Instance,
    topology: Topology,
    job: Job,
    nodes: Mapping[str, int],
    load: Mapping[Vertex, float] | None = None,
) -> JobOutcome:
    """Section 4 for one job: the slowest worker, the slowest link, and what failures and cuts cost.

    `load` is the factor by which an uplink is overbooked: the job's time on it is stretched by that (model.sharing).
    """
    k = job.gpus
    compute = max(_compute_s(job, topology.nodes[name]) for name in nodes)
    cuts = {v: x for v, x in topology.counts_below(nodes).items() if x < k}
    times = [0.0]
    for vertex, x in cuts.items():
        bandwidth = topology.uplink_gbps[vertex]
        if bandwidth is not None:
            times.append(_link_time(job, x, bandwidth) * (load or {}).get(vertex, 1.0))
    if k >= 2:
        per_worker = SECONDS_PER_MB_AT_1_GBPS * megabytes(job.pattern, job.message_mb, k, 1)
        for name, x in nodes.items():
            node = topology.nodes[name]
            if node.gpu_link_gbps is not None:
                times.append(per_worker / node.gpu_link_gbps)
            if node.fabric_gbps is not None:
                times.append(x * per_worker / node.fabric_gbps)
    comm = max(times)
    iteration = compute + max(0.0, comm - job.overlap * compute)
    efficiency = _best(topology, job) / iteration
    minutes = job.restart_minutes + job.checkpoint_minutes / 2
    loss = sum(topology.nodes[name].failures_per_day for name in nodes) * minutes / 1440
    objective = instance.objective
    goodput = k * (efficiency - objective.failure_weight * loss)
    moved = job.placement is not None and running_on(job.placement) != dict(nodes)
    migration = job.weight * k * job.migration_minutes / objective.horizon_minutes if moved else 0.0
    return JobOutcome(
        level=topology.lowest_level(nodes),
        nodes=dict(nodes),
        compute_s=compute,
        comm_s=comm,
        iteration_s=iteration,
        efficiency=efficiency,
        loss=loss,
        goodput=goodput,
        cuts=cuts,
        moved=moved,
        utility=job.weight * (goodput - objective.cut_penalty * len(cuts)) - migration,
    )


def reservation_gbps(topology: Topology, job: Job, x: int, bandwidth: float | None) -> float:
    """r_jv (Gbit/s): the traffic of an iteration over the iteration's time if this link is its slowest."""
    best = _best(topology, job)
    waiting = 0.0 if bandwidth is None else max(0.0, _link_time(job, x, bandwidth) - job.overlap * best)
    return SECONDS_PER_MB_AT_1_GBPS * megabytes(job.pattern, job.message_mb, job.gpus, x) / (best + waiting)


def _best(topology: Topology, job: Job) -> float:
    """best_j: the least compute_s over the GPU types of the cluster's nodes, whatever their state or slowdown."""
    if not isinstance(job.compute_s, dict):
        return job.compute_s
    return min(job.compute_s[t] for t in topology.gpu_types if t in job.compute_s)


def _compute_s(job: Job, node: Node) -> float:
    base = job.compute_s[node.gpu_type] if isinstance(job.compute_s, dict) else job.compute_s
    return base * node.slowdown


def _link_time(job: Job, x: int, bandwidth: float) -> float:
    """t_jv: seconds per iteration on an uplink below which x of the workers are."""
    return SECONDS_PER_MB_AT_1_GBPS * megabytes(job.pattern, job.message_mb, job.gpus, x) / bandwidth


def running_on(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: x for name, x in counts.items() if x > 0}


@lru_cache(maxsize=65536)
def megabytes(pattern: str, message_mb: float, k: int, x: int) -> float:
    return float(traffic_mb(pattern, message_mb, k, x))
