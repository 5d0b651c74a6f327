"""Every gang's way into the instance: as a waiting job, a running job, GPUs in use, or left out with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from crop_cli.sources.draft import DraftJob
from crop_cli.sources.kubernetes.cluster import Cluster
from crop_cli.sources.kubernetes.documents import Key
from crop_cli.sources.kubernetes.gangs import KUEUE_GROUP, VOLCANO_BATCH
from crop_cli.sources.kubernetes.grouping import Gang
from crop_cli.sources.kubernetes.notes import Notes
from crop_cli.sources.kubernetes.pods import Pod
from crop_cli.sources.kubernetes.running import running_job, why_used
from crop_cli.sources.kubernetes.shape import Shape
from crop_cli.sources.kubernetes.tolerations import Toleration
from crop_cli.sources.kubernetes.usage import Usage
from crop_cli.sources.kubernetes.waiting import Wish, waiting_job, wish

Weighted = list[tuple[Gang, DraftJob]]


@dataclass(slots=True)
class Gangs:
    """Turns gangs into jobs.

    Attributes
    ----------
    usage
        Grows by all bound pods, less those of running jobs.
    extra
        Tolerations that Kueue gives to what it admits.
    """

    cluster: Cluster
    usage: Usage
    extra: frozenset[Toleration]
    notes: Notes

    def jobs(self, gangs: list[Gang], pods: list[Pod], *, movable: bool) -> Weighted:
        """Running and waiting jobs, in the order of the gangs.

        Parameters
        ----------
        pods
            All that have not ended, with GPUs and without.
        """
        self._take(pods)
        names = job_names(gangs)
        waiting = {i: wish for i, gang in enumerate(gangs) if (wish := self._waits(names[i], gang)) is not None}
        for node, taint in self.cluster.drain_tainted(self._tolerations(gangs[i], wish) for i, wish in waiting.items()):
            self.notes.assume(f"drained, for no waiting job tolerates the taint {taint}", "node", node)
        for text in self.cluster.divide_types(self._wanted(gangs, waiting, movable)):
            self.notes.assume(text)
        overfull = self.usage.overfull()
        found: Weighted = []
        for i, gang in enumerate(gangs):
            name = names[i]
            bound = [pod for pod in gang.pods if pod.node]
            if bound and self._runs(name, gang, bound, overfull):
                found.append((gang, running_job(name, gang, bound, self.cluster, self.usage, movable, self.notes)))
            if i in waiting:
                job = waiting_job(gang, waiting[i], self.cluster, self._extra(gang), self.notes)
                if job is not None:
                    found.append((gang, job))
        self._count(found)
        return found

    def _take(self, pods: list[Pod]) -> None:
        """Enter all bound pods."""
        elsewhere = 0
        for pod in pods:
            if pod.shape.request.claims:
                text = "asks for devices by resource claims, which are not read: they do not count as used"
                self.notes.warn(text, "pod", pod.key.name)
            if pod.shape.request.others:
                others = ", ".join(sorted(pod.shape.request.others))
                self.notes.warn(f"resources that are not read: {others}", "pod", pod.key.name)
            if not pod.node:
                continue
            if pod.node in self.cluster.nodes:
                self.usage.take(pod.node, pod.shape.request)
            elif pod.gpus:
                self.notes.skip("pod", pod.key.name, "is on a node that is not in the files or offers no GPUs")
            else:
                elsewhere += 1
        if elsewhere:
            self.notes.counts["pods on nodes without GPUs"] = elsewhere

    def _runs(self, name: str, gang: Gang, bound: list[Pod], overfull: set[str]) -> bool:
        """Whether all of a gang runs where the instance can say so; else its pods stay what is used."""
        why = why_used(gang, bound, self.cluster, overfull)
        if why:
            self.notes.assume(f"no running job but used GPUs, for its pods {why}", "job", name)
        return not why

    def _waits(self, name: str, gang: Gang) -> Wish | None:
        """What a gang still asks for; None if it runs, has ended, or cannot be said (noted)."""
        bound = sum(bool(pod.node) for pod in gang.pods)
        pending = [pod for pod in gang.pods if not pod.node]
        if bound:
            if not pending:
                return None
            # Those that run cannot be joined with those that wait.
            self.notes.warn("waits in part: its other pods are bound and count as used", "job", name)
            rest = replace(gang, described=replace(gang.described, sets=[]), pods=pending)
            return wish(f"{name} (rest)", rest.sets, self.cluster, self.notes)
        if gang.described.finished:
            self.notes.skip("job", name, "has ended")
            return None
        if gang.described.running and not pending:
            self.notes.skip("job", name, "runs, but its pods are not in the files")
            return None
        if gang.described.held and not pending:
            self.notes.skip("job", name, gang.described.held)
            return None
        return wish(name, gang.sets, self.cluster, self.notes)

    def _extra(self, gang: Gang) -> frozenset[Toleration]:
        return self.extra if self.extra and (gang.key.group == KUEUE_GROUP or gang.queued) else frozenset()

    def _tolerations(self, gang: Gang, asked: Wish) -> frozenset[Toleration]:
        """Those that all pods of a gang have."""
        held = [shape.tolerations for shape in asked.shapes]
        return frozenset.intersection(*held) | self._extra(gang)

    def _wanted(
        self, gangs: list[Gang], waiting: dict[int, Wish], movable: bool
    ) -> Iterator[tuple[str, list[Shape], frozenset[Toleration]]]:
        """What restricts the nodes of every gang that may be placed anew."""
        for i, gang in enumerate(gangs):
            if i in waiting:
                yield waiting[i].resource, waiting[i].shapes, self._extra(gang)
            elif movable and any(pod.node for pod in gang.pods):
                shapes = [pod.shape for pod in gang.pods]
                resources = set(chain.from_iterable(shape.request.gpus for shape in shapes))
                if len(resources) == 1 and self.cluster.offers(*resources):
                    yield resources.pop(), shapes, frozenset()

    def _count(self, found: Weighted) -> None:
        counts: Counter[str] = Counter()
        for _, draft in found:
            kind = "running" if draft.job.placement else "waiting"
            counts[f"jobs {kind}"] += 1
            counts[f"GPUs of {kind} jobs"] += draft.job.gpus
        for text in ("jobs running", "GPUs of running jobs", "jobs waiting", "GPUs of waiting jobs"):
            self.notes.counts[text] = counts[text]


def job_names(gangs: list[Gang]) -> list[str]:
    """ "namespace/name (Kind)", without the kind for a plain Job: `crop export kubernetes` reads these."""
    names = [_full(gang.key, _kind(gang.key)) for gang in gangs]
    times = Counter(names)
    return [
        name if times[name] == 1 else _full(gang.key, f"{gang.key.kind}.{gang.key.group}")
        for name, gang in zip(names, gangs, strict=True)
    ]


def _kind(key: Key) -> str:
    if key.kind == "Job":
        return "VolcanoJob" if key.group == VOLCANO_BATCH else ""
    return key.kind


def _full(key: Key, kind: str) -> str:
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return f"{name} ({kind})" if kind else name
