"""Checks of jobs that run now: each where it is, and all of them together (model.md, sections 3 and 4)."""

from __future__ import annotations

from collections import defaultdict

from crop_cli.model.findings import Findings, key_path, named, number, one_of, quoted, some
from crop_cli.model.instance import Instance, Job
from crop_cli.model.outcome import reservation_gbps
from crop_cli.model.rules import exceeds
from crop_cli.model.topology import Topology, Vertex
from crop_cli.model.validate_cluster import LEVELS, NODES, SWITCHES, names_readable
from crop_cli.model.validate_jobs import JOBS

_SHAPES = ("within", "segment", "spread", "gpus_per_node")


def check_running(findings: Findings, instance: Instance) -> None:
    """Placements of running jobs: each by itself, then together on nodes and uplinks.

    Parameters
    ----------
    findings
        What the checks of the cluster and of the jobs found; grows. No check is made on a value that has a defect.
    instance
        The decoded file.
    """
    running = {j: job for j, job in enumerate(instance.jobs) if job.placement}
    if not running:
        return
    for j, job in running.items():
        if findings.sound(f"{JOBS}[{j}].placement"):
            _check_total(findings, f"{JOBS}[{j}]", job)
    _check_places(findings, instance, running)
    if findings.sound(LEVELS) and findings.sound(SWITCHES) and findings.sound(NODES):
        topology = Topology.of(instance.cluster)
        for j, job in running.items():
            if findings.sound(f"{JOBS}[{j}]", "gpus", "placement", *_SHAPES):
                _check_shape(findings, f"{JOBS}[{j}].placement", job, topology)
        pinned = [job for j, job in running.items() if not job.movable and findings.sound(f"{JOBS}[{j}]")]
        if findings.sound("$.cluster"):
            _check_uplinks(findings, instance, topology, pinned)
    whole = {j: job for j, job in running.items() if findings.sound(f"{JOBS}[{j}]", "placement", "resources_per_gpu")}
    _check_nodes(findings, instance, whole)


def _check_total(findings: Findings, path: str, job: Job) -> None:
    total = sum((job.placement or {}).values())
    if total != job.gpus and findings.sound(f"{path}.gpus"):
        found = f"{total} GPUs in all{named('job', job.name)}"
        findings.add(f"{path}.placement", found, f"{job.gpus}, the job's gpus")


def _check_places(findings: Findings, instance: Instance, running: dict[int, Job]) -> None:
    """Running jobs are on nodes of the cluster that are up and of an allowed type."""
    nodes = {node.name: (i, node) for i, node in enumerate(instance.cluster.nodes)}
    all_known = bool(nodes) and names_readable(findings, NODES, len(instance.cluster.nodes))
    for j, job in running.items():
        owner = named("job", job.name)
        for name in job.placement or {}:
            at = key_path(f"{JOBS}[{j}].placement", name)
            if name not in nodes:
                if all_known:
                    findings.add(at, f"unknown node {quoted(name)}{owner}", "a node of the cluster")
                continue
            i, node = nodes[name]
            if node.state != "up":
                findings.add(at, f"node {quoted(name)}, which is {node.state}{owner}", "a node that is up")
            elif (
                isinstance(job.compute_s, dict)
                and node.gpu_type not in job.compute_s
                and findings.sound(f"{NODES}[{i}].gpu_type")
                and findings.sound(f"{JOBS}[{j}].compute_s")
            ):
                found = f"node {quoted(name)} of GPU type {quoted(node.gpu_type)}{owner}"
                findings.add(at, found, f"a node of type {one_of(job.compute_s)}, as compute_s says")


def _check_shape(findings: Findings, path: str, job: Job, topology: Topology) -> None:
    placement, owner = job.placement or {}, named("job", job.name)
    if job.within is not None:
        domains = list(topology.counts_at(placement, job.within))
        if len(domains) > 1:
            found = f"GPUs in {len(domains)} domains of level {quoted(job.within)}: {some(domains)}{owner}"
            findings.add(path, found, "all in one, as within says")
    if job.segment is not None:
        for domain, x in topology.counts_at(placement, job.segment.level).items():
            if x % job.segment.gpus:
                found = f"{x} GPUs in {job.segment.level} {quoted(domain)}{owner}"
                findings.add(path, found, f"a multiple of {job.segment.gpus}, as segment says")
    if job.spread is not None:
        for domain, x in topology.counts_at(placement, job.spread.level).items():
            if x > job.spread.max_gpus:
                found = f"{x} GPUs in {job.spread.level} {quoted(domain)}{owner}"
                findings.add(path, found, f"at most {job.spread.max_gpus}, as spread says")
    if job.gpus_per_node is not None:
        for name, x in placement.items():
            if x != job.gpus_per_node:
                findings.add(key_path(path, name), f"{x}{owner}", f"{job.gpus_per_node}, as gpus_per_node says")


def _check_nodes(findings: Findings, instance: Instance, running: dict[int, Job]) -> None:
    """All running jobs together, movable ones too, are within what every node has."""
    load: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    jobs_on: dict[str, list[int]] = defaultdict(list)
    for j, job in running.items():
        for name, x in (job.placement or {}).items():
            jobs_on[name].append(j)
            load[name]["gpus"] += x
            for resource, amount in job.resources_per_gpu.items():
                load[name][resource] += amount * x
    for i, node in enumerate(instance.cluster.nodes):
        for resource, amount in load.get(node.name, {}).items():
            has: float = node.gpus if resource == "gpus" else node.resources.get(resource, 0.0)
            used = node.used.get(resource, 0.0)
            if amount == 0 or not exceeds(used + amount, has) or not findings.sound(f"{NODES}[{i}]"):
                continue
            what = f"{number(amount)} {'GPUs' if resource == 'gpus' else resource}"
            taken = f", {number(used)} of it used by others" if used else ""
            expected = f"at most {number(has - used)}: the node has {number(has)}{taken}"
            owners = jobs_on[node.name]
            if len(owners) == 1:
                at = key_path(f"{JOBS}[{owners[0]}].placement", node.name)
                job = running[owners[0]]
                found = f"{what} on node {quoted(node.name)}{named('job', job.name)}"
            else:
                at = f"{NODES}[{i}].gpus" if resource == "gpus" else key_path(f"{NODES}[{i}].resources", resource)
                found = f"{what} taken by running jobs {some([running[j].name for j in owners])}"
                found += named("node", node.name)
            findings.add(at, found, expected)


def _check_uplinks(findings: Findings, instance: Instance, topology: Topology, pinned: list[Job]) -> None:
    """Pinned jobs together leave no uplink overbooked; movable ones may move away."""
    reserved: dict[Vertex, float] = defaultdict(float)
    jobs_on: dict[Vertex, list[str]] = defaultdict(list)
    for job in pinned:
        for vertex, x in topology.counts_below(job.placement or {}).items():
            if x < job.gpus and topology.uplink_gbps[vertex] is not None:
                reserved[vertex] += reservation_gbps(topology, job, x, topology.uplink_gbps[vertex])
                jobs_on[vertex].append(job.name)
    where = {
        Vertex(switch.level, switch.name): f"{SWITCHES}[{i}]" for i, switch in enumerate(instance.cluster.switches)
    }
    nodes_level = instance.cluster.levels[-1]
    where |= {Vertex(nodes_level, node.name): f"{NODES}[{i}]" for i, node in enumerate(instance.cluster.nodes)}
    for vertex, gbps in reserved.items():
        limit = instance.cluster.oversubscription * (topology.uplink_gbps[vertex] or 0.0)
        if exceeds(gbps, limit):
            jobs = some(jobs_on[vertex])
            found = f"{number(gbps)} Gbit/s reserved by running jobs {jobs}{named(vertex.level, vertex.name)}"
            findings.add(
                f"{where[vertex]}.uplink_gbps", found, f"at most {number(limit)}, the bandwidth times oversubscription"
            )
