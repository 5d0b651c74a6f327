"""Waiting gangs as jobs: their GPUs, the shape constraints that keep pods whole, GPU types, resources."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain

from crop_cli.model.instance import Job, Segment, Spread
from crop_cli.model.limits import MOST_GPUS_OF_A_JOB
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.kubernetes.cluster import Cluster
from crop_cli.sources.kubernetes.gangs import PodSet
from crop_cli.sources.kubernetes.grouping import Gang
from crop_cli.sources.kubernetes.notes import Notes
from crop_cli.sources.kubernetes.shape import Shape, Topology, one_per_node
from crop_cli.sources.kubernetes.tolerations import Toleration
from crop_cli.sources.kubernetes.topology import NODE_LEVEL
from crop_cli.sources.kubernetes.usage import UNITS


@dataclass(slots=True)
class Constraints:
    """Of a job, as its fields."""

    within: str | None = None
    segment: Segment | None = None
    spread: Spread | None = None
    gpus_per_node: int | None = None


@dataclass(slots=True)
class Wish:
    """A gang's pods put together.

    Attributes
    ----------
    resource
        By which all of them ask for GPUs.
    gpus
        Of all pods.
    pods
        Different numbers of GPUs that a pod has.
    """

    name: str
    resource: str
    gpus: int
    pods: tuple[int, ...]
    sets: list[PodSet] = field(default_factory=list)

    @property
    def shapes(self) -> list[Shape]:
        """Of its pods."""
        return [one.shape for one in self.sets]


def wish(name: str, sets: list[PodSet], cluster: Cluster, notes: Notes) -> Wish | None:
    """What the pods of a gang ask for together; None, with the reason noted, if the instance cannot say it."""
    if not sets:
        notes.skip("job", name, "asks for no GPUs")
        return None
    names = set(chain.from_iterable(one.shape.request.gpus for one in sets))
    if len(names) > 1:
        notes.skip("job", name, f"asks for several kinds of GPUs: {', '.join(sorted(names))}")
        return None
    resource = names.pop()
    if not cluster.offers(resource):
        notes.skip("job", name, f"asks for {resource}, which no node offers")
        return None
    counts = [one.shape.request.gpus[resource] for one in sets]
    if any(count != int(count) for count in counts):
        notes.skip("job", name, "asks for a part of a GPU")
        return None
    total = int(sum(count * one.count for count, one in zip(counts, sets, strict=True)))
    if total > MOST_GPUS_OF_A_JOB:
        notes.skip("job", name, f"asks for more than {MOST_GPUS_OF_A_JOB} GPUs")
        return None
    if any(one.shape.request.share < 1 for one in sets):
        notes.warn("ask for a share of a GPU, taken as a whole one", "job", name)
    return Wish(name, resource, total, tuple(sorted({int(count) for count in counts})), sets)


def waiting_job(
    gang: Gang, asked: Wish, cluster: Cluster, extra: frozenset[Toleration], notes: Notes
) -> DraftJob | None:
    """The job of a gang that waits; None, with the reason noted, if no node may take it.

    Parameters
    ----------
    extra
        Tolerations that its pods are given when they start.
    """
    name = asked.name
    allowed = cluster.allowed(asked.resource, asked.shapes, extra)
    if allowed is None:
        notes.skip("job", name, "no node matches its selectors and tolerates its pods")
        return None
    if allowed.lost:
        notes.warn(f"may use fewer nodes than the instance says, for {allowed.lost}", "job", name)
    for text in chain.from_iterable(one.unread for one in asked.shapes):
        notes.warn(f"not kept: {text}", "job", name)
    shape = constraints(gang, asked, cluster, notes)
    bound = sum(bool(pod.node) for pod in gang.pods)
    if gang.described.least > bound + sum(one.count for one in asked.sets):
        notes.warn("its pod group asks for more pods than there are; those that there are count", "job", name)
    if any(one.count and not one.shape.request.gpus for one in gang.described.sets):
        notes.assume("its pods without GPUs (launchers, ...) take no cores or memory", "job", name)
    job = Job(
        name=name,
        gpus=asked.gpus,
        resources_per_gpu=per_gpu(asked, notes),
        within=shape.within,
        segment=shape.segment,
        spread=shape.spread,
        gpus_per_node=shape.gpus_per_node,
    )
    return DraftJob(job, model_text(name, asked.sets), allowed.types)


def model_text(name: str, sets: list[PodSet]) -> str:
    """Where the model's name may be found."""
    return f"{name} {max((one.shape.text for one in sets), key=len, default='')}".strip()


def per_gpu(asked: Wish, notes: Notes) -> dict[str, float]:
    """Cores and GiB per GPU; the most of any pod where they differ."""
    found: dict[str, float] = {}
    differ = False
    for pod, (own, unit) in UNITS.items():
        amounts = {
            one.shape.request.pooled.get(pod, 0.0) / one.shape.request.gpus[asked.resource] for one in asked.sets
        }
        differ = differ or max(amounts) - min(amounts) > 1e-9 * max(amounts)
        if max(amounts) > 0:
            found[own] = round(max(amounts) / unit, 6)
    if differ:
        notes.assume("its pods ask for different cores or memory per GPU: the most counts for all", "job", asked.name)
    return found


def constraints(gang: Gang, asked: Wish, cluster: Cluster, notes: Notes) -> Constraints:
    """The shape constraints of a gang."""
    found = Constraints()
    _whole_pods(found, asked, notes)
    for label in dict.fromkeys(chain.from_iterable(shape.apart for shape in asked.shapes)):
        level = cluster.level_of(label)
        if level is None:
            notes.warn(f"not kept: anti-affinity over {label}, which names no level", "job", asked.name)
        elif level != NODE_LEVEL:
            found.spread = Spread(level=level, max_gpus=asked.pods[-1])
    wanted = [gang.described.topology, *(shape.topology for shape in asked.shapes)]
    labels = [topology.required for topology in wanted] + list(
        chain.from_iterable(shape.together for shape in asked.shapes)
    )
    levels = [_level(label, asked, cluster, notes) for label in dict.fromkeys(labels) if label]
    levels += [_tier(topology, asked, cluster, notes) for topology in wanted[:1] if _has_tier(topology)]
    # The innermost of several: a domain of it lies in one of every level above.
    known = [cluster.level_names.index(level) for level in levels if level is not None]
    if known:
        found.within = cluster.level_names[max(known)]
        if len(asked.sets) > 1:
            notes.assume(
                "all its pod sets are in one domain of the level that each of them requires", "job", asked.name
            )
    for topology in wanted:
        if topology.preferred:
            notes.assume("a preferred topology is no constraint: crop weighs what crossing it costs", "job", asked.name)
    _slices(found, asked, cluster, notes)
    return found


def _whole_pods(found: Constraints, asked: Wish, notes: Notes) -> None:
    """No pod is divided between nodes, and no node takes two where that is asked for."""
    unit = math.gcd(*asked.pods)
    apart = all(one_per_node(shape) for shape in asked.shapes)
    if apart and len(asked.pods) == 1:
        found.gpus_per_node = unit
    elif unit > 1:
        found.segment = Segment(gpus=unit, level=NODE_LEVEL)
    if len(asked.pods) > 1:
        sizes = ", ".join(map(str, asked.pods))
        notes.warn(
            f"pods of {sizes} GPUs: nodes get multiples of {unit}, which may divide a larger pod", "job", asked.name
        )
    if any(one_per_node(shape) for shape in asked.shapes) and found.gpus_per_node is None:
        notes.warn("not kept: anti-affinity of some of its pods", "job", asked.name)


def _slices(found: Constraints, asked: Wish, cluster: Cluster, notes: Notes) -> None:
    """Slices of pods that share a domain become a segment."""
    wanted = {
        (t.slice_pods, t.slice_label)
        for t in (shape.topology for shape in asked.shapes)
        if t.slice_pods and t.slice_label
    }
    if not wanted:
        return
    pods, label = min(wanted)
    level = _level(label, asked, cluster, notes)
    if level is None:
        return
    if len(wanted) > 1 or len(asked.pods) > 1 or asked.gpus % (pods * asked.pods[0]):
        notes.warn("not kept: slices that differ, or do not divide its pods", "job", asked.name)
        return
    whole = Segment(gpus=pods * asked.pods[0], level=level)
    if level == NODE_LEVEL or asked.pods[0] == 1:
        found.segment = whole
        return
    most = max(part.gpus for node in cluster.nodes.values() for part in node.parts if part.resource == asked.resource)
    if found.gpus_per_node is not None or most < 2 * asked.pods[0]:
        # A node holds one pod at most, so that the segment is free for the slices.
        found.gpus_per_node, found.segment = asked.pods[0], whole
    else:
        notes.warn(f"not kept: slices of {pods} pods per {level}; pods are kept whole instead", "job", asked.name)


def _level(label: str, asked: Wish, cluster: Cluster, notes: Notes) -> str | None:
    level = cluster.level_of(label)
    if level is None:
        notes.warn(f"not kept: topology {label}, which names no level of the instance", "job", asked.name)
    return level


def _has_tier(topology: Topology) -> bool:
    return topology.tier is not None or bool(topology.tier_name)


def _tier(topology: Topology, asked: Wish, cluster: Cluster, notes: Notes) -> str | None:
    level = cluster.level_of_tier(topology.tier, topology.tier_name)
    if level is None:
        tier = topology.tier_name or topology.tier
        notes.warn(f"not kept: highest tier allowed {tier}, which is no level of the instance", "job", asked.name)
    return level
