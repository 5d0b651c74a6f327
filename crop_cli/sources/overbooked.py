"""Uplinks that the running jobs of an import overbook: assumed bandwidths and messages that cannot both be right."""

from __future__ import annotations

import math
from collections import defaultdict

import msgspec

from crop_cli.errors import Defect
from crop_cli.model.instance import Instance
from crop_cli.model.outcome import reservation_gbps
from crop_cli.model.topology import Topology, Vertex


def only_overbooked(defects: list[Defect]) -> bool:
    """Whether all that is wrong with an instance is that its running jobs overbook uplinks."""
    return bool(defects) and all(defect.path.endswith(".uplink_gbps") for defect in defects)


def with_room(instance: Instance) -> tuple[Instance, str]:
    """The instance with as much oversubscription as its running jobs take, and a sentence that says so.

    They run: what they were taken to send, or the bandwidth that was assumed, is not what they have. Their placements
    are facts, so that it is the limit that gives way.

    Parameters
    ----------
    instance
        Valid but for overbooked uplinks.
    """
    topology = Topology.of(instance.cluster)
    reserved: dict[Vertex, float] = defaultdict(float)
    for job in instance.jobs:
        if job.placement and not job.movable:
            for vertex, x in topology.counts_below(job.placement).items():
                bandwidth = topology.uplink_gbps[vertex]
                if x < job.gpus and bandwidth is not None:
                    reserved[vertex] += reservation_gbps(topology, job, x, bandwidth) / bandwidth
    worst = max(reserved, key=lambda vertex: reserved[vertex])
    factor = math.ceil(reserved[worst] * 100) / 100
    cluster = msgspec.structs.replace(instance.cluster, oversubscription=factor)
    text = (
        f"Oversubscription {factor:g}: by the assumed bandwidths and messages, running jobs reserve that many times "
        f"the uplink of {worst.level} {worst.name}."
    )
    return msgspec.structs.replace(instance, cluster=cluster, assumptions=[*instance.assumptions, text]), text
