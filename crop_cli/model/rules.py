"""The rules of a feasible placement, each with a sentence for its violation (model.md, sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crop_cli.model.instance import Instance, Job
from crop_cli.model.load import LinkTraffic
from crop_cli.model.outcome import running_on
from crop_cli.model.topology import Topology, Vertex

TOLERANCE = 1e-6
"""A load may exceed a capacity by this much of max(1, capacity): floats only, no whole GPU."""

UPLINK = "uplink"
"""Kind of the violation that fair sharing can make up for."""

ByName = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: a word for the rule, and a sentence with names and numbers."""

    kind: str
    message: str


def exceeds(load: float, capacity: float) -> bool:
    """Whether a load is above a capacity by more than the tolerance."""
    return load > capacity + TOLERANCE * max(1.0, capacity)


def unknown_jobs(instance: Instance, placement: ByName) -> list[Violation]:
    """Every placed job is one of the instance."""
    known = {job.name for job in instance.jobs}
    return [
        Violation("unknown job", f"the instance has no job {name!r}")
        for name in sorted(set(placement).difference(known))
    ]


def presence(job: Job, nodes: Mapping[str, int] | None) -> list[Violation]:
    """Required jobs are placed, running jobs stay placed, pinned ones exactly where they are."""
    if nodes is None:
        if job.placement is not None:
            return [Violation("running job stopped", f"job {job.name!r} runs now and may not be stopped")]
        if job.required:
            return [Violation("required job missing", f"job {job.name!r} is required and has no place")]
        return []
    if job.placement is not None and not job.movable and dict(nodes) != running_on(job.placement):
        return [Violation("pinned job moved", f"job {job.name!r} runs on {dict(job.placement)} and may not move")]
    return []


def gang(job: Job, nodes: Mapping[str, int], topology: Topology) -> list[Violation]:
    """Known nodes that are up and of an allowed type, positive whole counts, all workers or none."""
    found = []
    for name, count in nodes.items():
        node = topology.nodes.get(name)
        if node is None:
            found.append(Violation("unknown node", f"job {job.name!r}: the cluster has no node {name!r}"))
        elif isinstance(count, bool) or not isinstance(count, int) or count < 1:
            found.append(Violation("bad count", f"job {job.name!r} has {count!r} workers on node {name!r}"))
        elif node.state != "up":
            found.append(Violation("node not up", f"job {job.name!r} uses node {name!r}, which is {node.state}"))
        elif isinstance(job.compute_s, dict) and node.gpu_type not in job.compute_s:
            found.append(
                Violation("type not allowed", f"job {job.name!r} may not run on {node.gpu_type} (node {name!r})")
            )
    if not found and sum(nodes.values()) != job.gpus:
        found.append(Violation("gang", f"job {job.name!r} has {sum(nodes.values())} of {job.gpus} workers"))
    return found


def shape(job: Job, nodes: Mapping[str, int], topology: Topology) -> list[Violation]:
    """The four shape constraints (model.md, section 2), each on the domains of its level."""
    found = []
    if job.within is not None:
        domains = topology.counts_at(nodes, job.within)
        if len(domains) > 1:
            found.append(
                Violation("within", f"job {job.name!r} spans {len(domains)} domains of level {job.within}, not one")
            )
    if job.segment is not None:
        for domain, count in topology.counts_at(nodes, job.segment.level).items():
            if count % job.segment.gpus:
                text = f"job {job.name!r} has {count} workers in {domain}, not a multiple of {job.segment.gpus}"
                found.append(Violation("segment", text))
    if job.spread is not None:
        for domain, count in topology.counts_at(nodes, job.spread.level).items():
            if count > job.spread.max_gpus:
                text = f"job {job.name!r} has {count} workers in {domain}, more than {job.spread.max_gpus}"
                found.append(Violation("spread", text))
    if job.gpus_per_node is not None:
        for name, count in nodes.items():
            if count != job.gpus_per_node:
                text = f"job {job.name!r} has {count} workers on {name}, not {job.gpus_per_node}"
                found.append(Violation("gpus_per_node", text))
    return found


def overfull(topology: Topology, free: dict[str, dict[str, float]]) -> list[Violation]:
    """No resource of a node is given out twice."""
    found = []
    for name, resources in free.items():
        node = topology.nodes[name]
        for r, left in resources.items():
            capacity = node.gpus if r == "gpus" else node.resources.get(r, 0.0)
            if exceeds(capacity - left, capacity):
                text = f"node {name!r} is asked for {capacity - left:g} {r} and has {capacity:g}"
                found.append(Violation("capacity", text))
    return found


def overbooked(instance: Instance, topology: Topology, reserved: dict[Vertex, LinkTraffic]) -> list[Violation]:
    """No uplink is overbooked."""
    found = []
    for vertex in overloads(instance, topology, reserved):
        limit = instance.cluster.oversubscription * (topology.uplink_gbps[vertex] or 0.0)
        gbps = reserved[vertex].gbps
        text = f"uplink of {vertex.name!r} ({vertex.level}) has {gbps:g} Gbit/s reserved of {limit:g}"
        found.append(Violation(UPLINK, text))
    return found


def overloads(instance: Instance, topology: Topology, reserved: dict[Vertex, LinkTraffic]) -> dict[Vertex, float]:
    """Overbooked uplinks, and what is reserved on each over φ·B (above 1)."""
    found = {}
    for vertex, link in reserved.items():
        bandwidth = topology.uplink_gbps[vertex]
        if bandwidth is None:
            continue
        limit = instance.cluster.oversubscription * bandwidth
        if exceeds(link.gbps, limit):
            found[vertex] = link.gbps / limit
    return found
