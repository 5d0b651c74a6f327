"""The figures reported beside F, from the definitions (model.md, section 5)."""

from __future__ import annotations

from collections import defaultdict

from crop_cli.model.instance import Instance, Job
from crop_cli.model.load import LinkTraffic
from crop_cli.model.outcome import JobOutcome, reservation_gbps
from crop_cli.model.rules import exceeds
from crop_cli.model.solution import LevelTraffic, Metrics
from crop_cli.model.stranded import UplinkFits, stranded_gpus
from crop_cli.model.topology import Topology, Vertex


def metrics_of(
    instance: Instance,
    topology: Topology,
    jobs: dict[str, JobOutcome],
    free: dict[str, dict[str, float]],
    reserved: dict[Vertex, LinkTraffic],
) -> Metrics:
    placed = [(job, jobs[job.name]) for job in instance.jobs if job.name in jobs]
    up = [node for node in instance.cluster.nodes if node.state == "up"]
    gpus_total = sum(node.gpus for node in up)
    gpus_free = round(sum(free[node.name]["gpus"] for node in up))
    workers = sum(job.gpus for job, _ in placed)
    waiting = sum(job.gpus * (out.iteration_s - out.compute_s) / out.iteration_s for job, out in placed)
    busy = {name for _, out in placed for name in out.nodes}
    node_blast, switch_blast = _blast(topology, placed)
    worst_node, worst_node_blast = _worst(node_blast)
    worst_switch, worst_switch_blast = _worst(switch_blast)
    unplaced = [job for job in instance.jobs if job.name not in jobs]
    return Metrics(
        weighted_goodput=sum(job.weight * out.goodput for job, out in placed),
        gpus_total=gpus_total,
        gpus_used=gpus_total - gpus_free,
        gpus_free=gpus_free,
        gpus_stranded=stranded_gpus(topology, unplaced, free, _bandwidth_test(instance, topology, reserved)),
        jobs_total=len(instance.jobs),
        jobs_placed=len(placed),
        jobs_moved=sum(out.moved for _, out in placed),
        communication_overhead=waiting / workers if workers else 0.0,
        traffic=[_level_traffic(instance, topology, reserved, level) for level in instance.cluster.levels],
        throughput=sum(job.gpus / out.iteration_s for job, out in placed),
        failures_per_day=sum(topology.nodes[name].failures_per_day for name in sorted(busy)),
        worst_node=worst_node,
        worst_node_blast=worst_node_blast,
        worst_switch=worst_switch,
        worst_switch_blast=worst_switch_blast,
    )


def _bandwidth_test(instance: Instance, topology: Topology, reserved: dict[Vertex, LinkTraffic]) -> UplinkFits:
    """Whether what an uplink has left takes a job's reservation."""

    def fits(job: Job, vertex: Vertex, x: int) -> bool:
        bandwidth = topology.uplink_gbps[vertex]
        if bandwidth is None:
            return True
        taken = reserved[vertex].gbps if vertex in reserved else 0.0
        return not exceeds(
            taken + reservation_gbps(topology, job, x, bandwidth), instance.cluster.oversubscription * bandwidth
        )

    return fits


def _blast(topology: Topology, placed: list[tuple[Job, JobOutcome]]) -> tuple[dict[str, float], dict[str, float]]:
    """Weighted goodput of the jobs that touch every node, and every switch."""
    nodes: dict[str, float] = defaultdict(float)
    switches: dict[str, float] = defaultdict(float)
    for job, out in placed:
        for vertex in topology.counts_below(out.nodes):
            kind = nodes if vertex.level == topology.levels[-1] else switches
            kind[vertex.name] += job.weight * out.goodput
    return nodes, switches


def _worst(blast: dict[str, float]) -> tuple[str | None, float]:
    """The largest, ties to the first name."""
    if not blast:
        return None, 0.0
    name = min(blast, key=lambda v: (-blast[v], v))
    return name, blast[name]


def _level_traffic(
    instance: Instance, topology: Topology, reserved: dict[Vertex, LinkTraffic], level: str
) -> LevelTraffic:
    links = {v: link for v, link in reserved.items() if v.level == level}
    loads = {}
    for vertex in topology.vertices(level):
        bandwidth = topology.uplink_gbps[vertex]
        if bandwidth is not None:
            gbps = reserved[vertex].gbps if vertex in reserved else 0.0
            loads[vertex.name] = gbps / (instance.cluster.oversubscription * bandwidth)
    highest = min(loads, key=lambda name: (-loads[name], name)) if loads else None
    return LevelTraffic(
        level=level,
        cuts=sum(link.cuts for link in links.values()),
        gb_per_iteration=sum(link.gigabytes for link in links.values()),
        reserved_gbps=sum(link.gbps for link in links.values()),
        highest_load=None if highest is None else loads[highest],
        highest_loaded_uplink=highest,
    )
