"""Gangs of which all pods are bound, as running jobs; or why their pods count as used instead."""

from __future__ import annotations

from collections import defaultdict

from crop_cli.model.instance import Job
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.kubernetes.cluster import Cluster
from crop_cli.sources.kubernetes.gangs import PodSet
from crop_cli.sources.kubernetes.grouping import Gang
from crop_cli.sources.kubernetes.notes import Notes
from crop_cli.sources.kubernetes.pods import Pod
from crop_cli.sources.kubernetes.usage import UNITS, Usage
from crop_cli.sources.kubernetes.waiting import Constraints, Wish, constraints, model_text


def why_used(gang: Gang, pods: list[Pod], cluster: Cluster, overfull: set[str]) -> str:
    """Why bound pods of a gang are no running job of the instance; empty if they are."""
    resources = {resource for pod in pods for resource in pod.shape.request.gpus}
    if len(resources) > 1:
        return "use several kinds of GPUs"
    resource = resources.pop()
    if any(pod.shape.request.share < 1 or pod.shape.request.gpus[resource] % 1 for pod in pods):
        return "use shares of GPUs"
    parts = [cluster.part(pod.node, resource) for pod in pods]
    where = ""
    if any(part is None for part in parts):
        where = "are on nodes that do not offer their GPUs any more, or are not in the files"
    elif any(part.name in overfull for part in parts if part is not None):
        where = "are on nodes of which more is taken than they offer"
    elif any(cluster.nodes[pod.node].state != "up" for pod in pods):
        where = "are on nodes that are drained or down"
    if where or gang.described.finished:
        return where or "are left over from a job that has ended"
    expected = sum(one.count for one in gang.sets)
    return "are a part of their gang: others wait or have ended" if len(pods) < expected else ""


def running_job(
    name: str, gang: Gang, pods: list[Pod], cluster: Cluster, usage: Usage, movable: bool, notes: Notes
) -> DraftJob:
    """The job of a gang that runs; what it has is no longer used by others.

    Parameters
    ----------
    pods
        Of the gang, all bound, for which `why_used` has no reason.
    movable
        Whether it may be moved. Its constraints then hold for where it goes; one that does not hold where it is now is
        dropped.
    """
    resource = next(iter(pods[0].shape.request.gpus))
    placement: dict[str, int] = defaultdict(int)
    places: dict[tuple[str, ...], int] = defaultdict(int)
    now = set()
    pooled: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for pod in pods:
        part = cluster.part(pod.node, resource)
        assert part is not None
        placement[part.name] += pod.gpus
        places[cluster.place(pod.node, part)] += pod.gpus
        now.add(part.gpu_type)
        for kind, amount in pod.shape.request.pooled.items():
            pooled[part.name][kind] += amount
    per_gpu = _uniform(pods, resource)
    if per_gpu is None and movable:
        notes.assume("not movable: its pods differ in cores or memory per GPU", "job", name)
        movable = False
    for part_name, count in placement.items():
        usage.give_back(part_name, count, pooled[part_name] if per_gpu is not None else {})
    sets = [PodSet(1, pod.shape) for pod in pods]
    sizes = tuple(sorted({pod.gpus for pod in pods}))
    asked = Wish(name, resource, sum(placement.values()), sizes, sets)
    shape, types = Constraints(), None
    if movable:
        shape = _held(constraints(gang, asked, cluster, Notes()), asked, places, cluster, notes)
        types = _types(asked, now, cluster, notes)
    job = Job(
        name=name,
        gpus=asked.gpus,
        resources_per_gpu=per_gpu or {},
        placement=dict(placement),
        movable=movable,
        within=shape.within,
        segment=shape.segment,
        spread=shape.spread,
        gpus_per_node=shape.gpus_per_node,
    )
    return DraftJob(job, model_text(name, sets), types)


def _uniform(pods: list[Pod], resource: str) -> dict[str, float] | None:
    """Cores and GiB per GPU if they are the same for all pods."""
    found = {}
    for kind, (own, unit) in UNITS.items():
        amounts = [pod.shape.request.pooled.get(kind, 0.0) / pod.shape.request.gpus[resource] for pod in pods]
        if max(amounts) - min(amounts) > 1e-9 * max(amounts):
            return None
        if amounts[0] > 0:
            found[own] = round(amounts[0] / unit, 6)
    return found


def _held(
    shape: Constraints, asked: Wish, places: dict[tuple[str, ...], int], cluster: Cluster, notes: Notes
) -> Constraints:
    """The constraints without those that do not hold where the job is."""
    domains = _domains(places, cluster)
    dropped = []
    if shape.within is not None and len(domains[shape.within]) > 1:
        dropped.append(f"within one {shape.within}")
        shape.within = None
    if shape.segment is not None and any(x % shape.segment.gpus for x in domains[shape.segment.level].values()):
        dropped.append(f"multiples of {shape.segment.gpus} GPUs per {shape.segment.level}")
        shape.segment = None
    if shape.spread is not None and any(x > shape.spread.max_gpus for x in domains[shape.spread.level].values()):
        dropped.append(f"at most {shape.spread.max_gpus} GPUs per {shape.spread.level}")
        shape.spread = None
    if shape.gpus_per_node is not None and any(x != shape.gpus_per_node for x in places.values()):
        dropped.append(f"{shape.gpus_per_node} GPUs per node")
        shape.gpus_per_node = None
    for text in dropped:
        notes.warn(f"not kept, for it does not hold where the job runs: {text}", "job", asked.name)
    return shape


def _domains(places: dict[tuple[str, ...], int], cluster: Cluster) -> dict[str, dict[tuple[str, ...], int]]:
    """GPUs by domain, for every level."""
    found: dict[str, dict[tuple[str, ...], int]] = {name: defaultdict(int) for name in cluster.level_names}
    for path, count in places.items():
        for depth, level in enumerate(cluster.level_names, start=1):
            found[level][path[:depth]] += count
    return found


def _types(asked: Wish, now: set[str], cluster: Cluster, notes: Notes) -> tuple[str, ...] | None:
    """GPU types to which it may move, those that it runs on among them."""
    allowed = cluster.allowed(asked.resource, asked.shapes, frozenset())
    if allowed is None:
        return tuple(sorted(now))
    if allowed.lost:
        notes.warn(f"may use fewer nodes than the instance says, for {allowed.lost}", "job", asked.name)
    return None if allowed.types is None else tuple(sorted(now.union(allowed.types)))
