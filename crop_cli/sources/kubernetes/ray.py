"""Ray clusters: a head and groups of workers (ray.io/v1: RayCluster, RayJob)."""

from __future__ import annotations

from crop_cli.sources.kubernetes.documents import Thing
from crop_cli.sources.kubernetes.gangs import Described, PodSet, queued, template


def ray_cluster(thing: Thing) -> Described:
    """A RayCluster, or the one that a RayJob starts."""
    spec = thing.spec.child("rayClusterSpec") if thing.kind == "RayJob" else thing.spec
    sets = [PodSet(1, template(spec.child("headGroupSpec", "template")))]
    for group in spec.children("workerGroupSpecs"):
        replicas = group.whole("replicas")
        hosts = group.whole("numOfHosts", 1) or 1
        count = group.whole("minReplicas", 0) if replicas is None else replicas
        sets.append(PodSet((count or 0) * hosts, template(group.child("template"))))
    ended = thing.status.text("jobStatus") in ("SUCCEEDED", "FAILED", "STOPPED")
    held = "is suspended" if thing.spec.flag("suspend") and not queued(thing) else ""
    running = thing.status.text("state") == "ready" or thing.status.text("jobStatus") == "RUNNING"
    return Described(sets, ended, held, running=running)
