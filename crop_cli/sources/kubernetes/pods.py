"""Pods: where they are, what they take, and which gang they are part of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crop_cli.sources.kubernetes.documents import Key, Thing
from crop_cli.sources.kubernetes.gangs import (
    COSCHEDULING,
    JOBSET,
    KAI,
    KUBEFLOW,
    KUEUE_GROUP,
    LWS,
    RAY,
    VOLCANO,
    VOLCANO_BATCH,
    is_gang,
)
from crop_cli.sources.kubernetes.shape import Shape, read_shape

PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")

_SETS = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")
"""Owners whose pods are servers, each for itself."""


@dataclass(slots=True)
class Pod:
    """A pod that has not ended.

    Attributes
    ----------
    node
        It is bound to; empty while it waits.
    going
        Whether it is being deleted: it takes what it has until it is gone, and is no part of its gang any more.
    groups
        Gangs and parts of gangs that it belongs to, by owner references, labels and annotations.
    """

    key: Key
    node: str
    shape: Shape
    groups: tuple[Key, ...]
    going: bool = False

    @property
    def gpus(self) -> int:
        """Its GPUs, whole ones or shares."""
        return self.shape.request.gpu_count


def read_pod(thing: Thing, servers: frozenset[Key]) -> Pod | None:
    """The pod, or None if it has ended.

    Parameters
    ----------
    servers
        Pod groups of one member: schedulers give them to every pod, they are no gangs.
    """
    phase = thing.status.text("phase", "Pending")
    if phase not in PHASES:
        thing.status.refuse("phase", " or ".join(PHASES))
    if phase in ("Succeeded", "Failed"):
        return None
    shape = read_shape(thing.spec, thing.labels, thing.annotations)
    groups = tuple(dict.fromkeys(_groups(thing, servers))) if shape.request.gpus else ()
    return Pod(
        thing.key, thing.spec.text("nodeName"), shape, groups, bool(thing.metadata.data.get("deletionTimestamp"))
    )


def _groups(thing: Thing, servers: frozenset[Key]) -> Iterator[Key]:
    owners = list(thing.owners())
    yield from (owner for owner in owners if is_gang(owner) and owner.group != LWS)
    labels, notes, space = thing.labels, thing.annotations, thing.namespace
    if "leaderworkerset.sigs.k8s.io/name" in labels:
        index = labels.get("leaderworkerset.sigs.k8s.io/group-index", "0")
        yield Key("LeaderWorkerSet", LWS, space, f"{labels['leaderworkerset.sigs.k8s.io/name']}-{index}")
    elif any(owner.kind in _SETS for owner in owners):
        servers = frozenset(
            (*servers, *(group for group in _pod_groups(labels, notes, space) if group.group != COSCHEDULING))
        )
    for label, kind, group in _LABELS:
        # A label that does not tell the kind is for pods whose owner does not either.
        if labels.get(label) and (kind or all(owner.group != group for owner in owners)):
            yield Key(kind, group, space, labels[label])
    yield from (group for group in _pod_groups(labels, notes, space) if group not in servers)
    yield from _upstream(thing)


_LABELS = (
    ("jobset.sigs.k8s.io/jobset-name", "JobSet", JOBSET),
    # The kind is not in the label: an alias of whatever kind has this name.
    ("training.kubeflow.org/job-name", "", KUBEFLOW),
    ("volcano.sh/job-name", "Job", VOLCANO_BATCH),
    ("kueue.x-k8s.io/pod-group-name", "Workload", KUEUE_GROUP),
    ("ray.io/cluster", "RayCluster", RAY),
)


def _pod_groups(labels: dict[str, str], annotations: dict[str, str], space: str) -> Iterator[Key]:
    """Pod groups of the schedulers that know gangs."""
    for source, name, group in (
        (labels, "scheduling.x-k8s.io/pod-group", COSCHEDULING),
        (labels, "pod-group.scheduling.sigs.k8s.io", COSCHEDULING),
        (labels, "pod-group.scheduling.sigs.k8s.io/name", COSCHEDULING),
        (annotations, "gang.scheduling.koordinator.sh/name", COSCHEDULING),
        (annotations, "scheduling.k8s.io/group-name", VOLCANO),
        (annotations, "scheduling.volcano.sh/group-name", VOLCANO),
        (annotations, "pod-group-name", KAI),
    ):
        if source.get(name, "").strip() and source[name].isprintable():
            yield Key("PodGroup", group, space, source[name])


def _upstream(thing: Thing) -> Iterator[Key]:
    """Gangs of Kubernetes itself (KEP-4671): `workloadRef` of 1.35, `schedulingGroup` of 1.36."""
    reference = thing.spec.child("workloadRef")
    whole = "/".join(reference.text(key) for key in ("name", "podGroup", "podGroupReplicaKey")).rstrip("/")
    group = thing.spec.child("schedulingGroup").text("podGroupName")
    for kind, name in (("Workload", whole), ("PodGroup", group)):
        if name and name.isprintable():
            yield Key(kind, "scheduling.k8s.io", thing.namespace, name)
