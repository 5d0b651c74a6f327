"""What placed jobs take of nodes and uplinks, from the definitions (model.md, sections 3 and 4)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from crop_cli.model.instance import Instance
from crop_cli.model.outcome import JobOutcome, megabytes, reservation_gbps
from crop_cli.model.topology import Topology, Vertex


@dataclass(frozen=True, slots=True)
class LinkTraffic:
    """One uplink: jobs that cut it, gigabytes per iteration (one of each job) and reserved Gbit/s, one direction."""

    cuts: int
    gigabytes: float
    gbps: float


def uplink_traffic(instance: Instance, topology: Topology, jobs: dict[str, JobOutcome]) -> dict[Vertex, LinkTraffic]:
    """Cuts, gigabytes per iteration and reserved Gbit/s of every uplink that some job cuts."""
    cuts: dict[Vertex, int] = defaultdict(int)
    gigabytes: dict[Vertex, float] = defaultdict(float)
    gbps: dict[Vertex, float] = defaultdict(float)
    for job in instance.jobs:
        if job.name not in jobs:
            continue
        for vertex, x in jobs[job.name].cuts.items():
            cuts[vertex] += 1
            gigabytes[vertex] += megabytes(job.pattern, job.message_mb, job.gpus, x) / 1000
            gbps[vertex] += reservation_gbps(topology, job, x, topology.uplink_gbps[vertex])
    return {v: LinkTraffic(cuts[v], gigabytes[v], gbps[v]) for v in cuts}


def free_resources(instance: Instance, jobs: dict[str, JobOutcome]) -> dict[str, dict[str, float]]:
    """What is left of every resource of every node; below 0 where too much was placed."""
    asked = sorted({r for job in instance.jobs for r in job.resources_per_gpu} - {"gpus"})
    free = {}
    for node in instance.cluster.nodes:
        free[node.name] = {"gpus": node.gpus - node.used.get("gpus", 0.0)}
        for r in asked:
            free[node.name][r] = node.resources.get(r, 0.0) - node.used.get(r, 0.0)
    for job in instance.jobs:
        if job.name in jobs:
            for name, x in jobs[job.name].nodes.items():
                free[name]["gpus"] -= x
                for r, amount in job.resources_per_gpu.items():
                    if r != "gpus":
                        free[name][r] -= amount * x
    return free
