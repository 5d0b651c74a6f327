"""Gangs: one object may appear as a Workload, a Job and its pods; each gang is counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from crop_cli.sources.kubernetes.documents import Key, Thing
from crop_cli.sources.kubernetes.gangs import (
    BATCH,
    COSCHEDULING,
    JOBSET,
    KAI,
    KUBEFLOW,
    KUEUE_GROUP,
    LWS,
    RAY,
    READERS,
    TRAINER,
    VOLCANO,
    VOLCANO_BATCH,
    Described,
    PodSet,
    is_gang,
    train_job,
)
from crop_cli.sources.kubernetes.pods import Pod
from crop_cli.sources.kubernetes.ray import ray_cluster
from crop_cli.sources.kubernetes.shape import Topology

_BY_DETAIL = (KUEUE_GROUP, RAY, JOBSET, TRAINER, VOLCANO_BATCH, KUBEFLOW, LWS, BATCH)
"""Whose objects say most about a gang's pods. Pod groups come last, after the pods themselves."""

_BY_RANK = (TRAINER, RAY, JOBSET, KUBEFLOW, VOLCANO_BATCH, LWS, BATCH, VOLCANO, COSCHEDULING, KAI, KUEUE_GROUP)
"""Whose object gives the gang its name: what a user has submitted owns the rest."""


@dataclass(slots=True)
class Gang:
    """Pods that start together or not at all.

    Attributes
    ----------
    key
        Of what was submitted.
    described
        By the object that says most; without sets where only pods are known.
    pods
        That ask for GPUs and have not ended.
    queued
        Whether Kueue admits it.
    """

    key: Key
    described: Described
    pods: list[Pod] = field(default_factory=list)
    queued: bool = False

    @property
    def sets(self) -> list[PodSet]:
        """Its pods by shape: as described, else as they are."""
        described = [one for one in self.described.sets if one.count > 0 and one.shape.request.gpus]
        return described or [PodSet(1, pod.shape) for pod in self.pods]


class _Union:
    """Sets of keys that belong together."""

    def __init__(self) -> None:
        self.above: dict[Key, Key] = {}

    def find(self, key: Key) -> Key:
        root = key
        while (above := self.above.setdefault(root, root)) != root:
            root = above
        while self.above[key] != root:
            self.above[key], key = root, self.above[key]
        return root

    def join(self, one: Key, other: Key) -> None:
        a, b = self.find(one), self.find(other)
        if a != b:
            self.above[b] = a


def form_gangs(things: list[Thing], pods: list[Pod], runtimes: dict[Key, Thing]) -> list[Gang]:
    """All gangs, those with objects in the order of the files, then the others in the order of their pods.

    Parameters
    ----------
    things
        Objects of the kinds that `gangs.is_gang` knows.
    pods
        That ask for GPUs and have not ended.
    runtimes
        Of TrainJobs.
    """
    things = _groups_of_sets(things, pods)
    # What Kueue admits is one gang, whatever it is (an AppWrapper of several jobs).
    admitted = {owner for thing in things if thing.group == KUEUE_GROUP for owner in thing.owners()}
    aliases = Counter(alias for thing in things for alias in _aliases(thing))
    union = _Union()
    for thing in things:
        union.find(thing.key)
        for alias in _aliases(thing):
            if aliases[alias] == 1:
                union.join(thing.key, alias)
        for owner in thing.owners():
            if (owner in admitted or owner.kind == "Pod" or is_gang(owner)) and owner.group != LWS:
                union.join(owner, thing.key)
    for pod in pods:
        union.find(pod.key)
        for group in pod.groups:
            union.join(group, pod.key)
    known: dict[Key, list[Thing]] = {}
    for thing in things:
        known.setdefault(union.find(thing.key), []).append(thing)
    by_root: dict[Key, list[Pod]] = {}
    for pod in pods:
        by_root.setdefault(union.find(pod.key), []).append(pod)
    keys: dict[Key, list[Key]] = {}
    for key in union.above:
        keys.setdefault(union.find(key), []).append(key)
    gangs = []
    for root in dict.fromkeys([*known, *by_root]):
        members, live = known.get(root, []), by_root.get(root, [])
        names = [key for key in keys[root] if key.kind]
        queued = any(thing.group == KUEUE_GROUP for thing in members)
        described = _described(members, live, runtimes)
        gangs.append(Gang(_name(names, sum(one.count for one in described.sets)), described, live, queued))
    return gangs


def _aliases(thing: Thing) -> Iterator[Key]:
    """By what else its pods may name an object, where those between it and the pods are not in the files."""
    if thing.group == KUBEFLOW:
        yield replace(thing.key, kind="")
    elif thing.group == TRAINER:
        # The trainer makes a JobSet of the same name.
        yield Key("JobSet", JOBSET, thing.namespace, thing.name)
    elif thing.kind == "RayJob" and thing.status.text("rayClusterName"):
        yield Key("RayCluster", RAY, thing.namespace, thing.status.text("rayClusterName"))


def _groups_of_sets(things: list[Thing], pods: list[Pod]) -> list[Thing]:
    """LeaderWorkerSets become their groups, each a gang; those that Kueue has a Workload for are known from that."""
    queued = {owner for thing in things if thing.group == KUEUE_GROUP for owner in thing.owners()}
    found = []
    for thing in things:
        if thing.group != LWS:
            found.append(thing)
        elif thing.key not in queued:
            replicas = thing.spec.whole("replicas", 1)
            found += [
                Thing(thing.kind, thing.group, thing.namespace, f"{thing.name}-{i}", thing.fields)
                for i in range(min(replicas or 0, 100_000))
            ]
    return found


def _name(keys: list[Key], count: int) -> Key:
    """What was submitted: the owner of the rest.

    Parameters
    ----------
    count
        Pods that its objects ask for.
    """

    def rank(key: Key) -> tuple[int, bool, bool]:
        known = _BY_RANK.index(key.group) if key.group in _BY_RANK and is_gang(key) else len(_BY_RANK)
        return known, key.kind == "RayCluster", key.kind == "Pod"

    best = min(keys, key=rank)
    pods = [key for key in keys if key.kind == "Pod"]
    # Kueue makes up a Workload for a pod without a group, which does not carry its name.
    return pods[0] if best.group == KUEUE_GROUP and len(pods) == 1 and count <= 1 else best


def _described(members: list[Thing], pods: list[Pod], runtimes: dict[Key, Thing]) -> Described:
    """What the objects of a gang say, taken together."""
    said = [(thing, _read(thing, runtimes)) for thing in members]
    found = Described()
    for group in _BY_DETAIL:
        own = [described for thing, described in said if thing.group == group]
        if not own:
            continue
        # An object that was replaced may still be there beside the one in its place.
        live = [described for described in own if not described.finished] or own
        live = live[-1:] if group in (KUEUE_GROUP, RAY) else live
        if not found.sets:
            found.sets = [pod_set for described in live for pod_set in described.sets]
            found.finished = all(described.finished for described in own)
            found.held = live[0].held
    groups = [described for thing, described in said if thing.group in (VOLCANO, COSCHEDULING, KAI)]
    if groups and not found.sets:
        found.finished = all(described.finished for described in groups)
        if not pods:
            found.sets = [pod_set for described in groups for pod_set in described.sets]
    for _, described in said:
        found.running = found.running or described.running
        found.least = max(found.least, described.least)
        if found.priority is None:
            found.priority = described.priority
        found.priority_class = found.priority_class or described.priority_class
        if found.topology == Topology():
            found.topology = described.topology
    return found


def _read(thing: Thing, runtimes: dict[Key, Thing]) -> Described:
    if thing.group == TRAINER:
        said = train_job(thing, runtimes)
    else:
        said = ray_cluster(thing) if thing.group == RAY else READERS[thing.group](thing)
    # Kueue makes a Workload anew as long as its owner is there.
    if thing.metadata.data.get("deletionTimestamp") and thing.group != KUEUE_GROUP:
        said.finished = True
    return said
