"""Free GPUs, other resources and bandwidth of a cluster while jobs come and go."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.instance import Cluster, Job
from crop_cli.model.outcome import reservation_gbps
from crop_cli.model.rules import exceeds
from crop_cli.model.topology import Topology, Vertex

IntArray = NDArray[np.int64]

Counts = dict[int, int]
"""Workers by the node's index in the file."""

ROUNDING = 1 + 1e-9
"""Factor on free / demand before it is rounded down: 0.3 / 0.1 holds three workers."""


class Room:
    """What is free on the nodes that are up.

    Attributes
    ----------
    names
        Of the nodes.
    free
        (N) GPUs per node.
    gpus_free
        Their sum.
    """

    def __init__(self, cluster: Cluster) -> None:
        nodes = cluster.nodes
        self.names = [node.name for node in nodes]
        self.free: IntArray = np.array(
            [node.gpus - int(node.used.get("gpus", 0)) if node.state == "up" else 0 for node in nodes], dtype=np.int64
        )
        self.gpus_free = int(self.free.sum())
        self._whole: IntArray = np.array([node.gpus for node in nodes], dtype=np.int64)
        self._types = np.array([node.gpu_type for node in nodes])
        self._allowed: dict[tuple[str, ...], NDArray[np.bool_]] = {}
        kinds = sorted({name for node in nodes for name in node.resources})
        self._rest = {
            kind: np.array([node.resources.get(kind, 0.0) - node.used.get(kind, 0.0) for node in nodes])
            for kind in kinds
        }
        self._topology = Topology.of(cluster)
        self._reserved: dict[Vertex, float] = defaultdict(float)
        self._most = cluster.oversubscription
        self._node_level = cluster.levels[-1]

    def find(self, job: Job) -> Counts | None:
        """A place for a job, or None.

        Only a job that must be on one node may have `within`, and no job other shape constraints.
        """
        if job.gpus > self.gpus_free:
            return None
        room = self._room_for(job)
        first = int(np.argmax(room >= job.gpus))
        if room[first] >= job.gpus:
            return {first: job.gpus}
        if job.within == self._node_level:
            return None
        for usable in (room, np.where(room == self._whole, room, 0)):
            counts = _fill(usable, job.gpus)
            if counts is not None and not self._overbooks(job, counts):
                return counts
        return None

    def take(self, job: Job, counts: Counts) -> None:
        """Occupy a place."""
        self._change(job, counts, 1)

    def give(self, job: Job, counts: Counts) -> None:
        """Leave a place."""
        self._change(job, counts, -1)

    def _change(self, job: Job, counts: Counts, sign: int) -> None:
        self.gpus_free -= sign * job.gpus
        for n, x in counts.items():
            self.free[n] -= sign * x
            for kind, amount in job.resources_per_gpu.items():
                self._rest[kind][n] -= sign * amount * x
        for vertex, gbps in self._rates(job, counts).items():
            self._reserved[vertex] += sign * gbps

    def _room_for(self, job: Job) -> IntArray:
        """(N) workers of the job that each node holds."""
        room = self.free
        if isinstance(job.compute_s, dict):
            key = tuple(job.compute_s)
            if key not in self._allowed:
                self._allowed[key] = np.isin(self._types, key)
            room = np.where(self._allowed[key], room, 0)
        for kind, amount in job.resources_per_gpu.items():
            if amount > 0:
                rest = self._rest.get(kind)
                by_resource = 0 if rest is None else np.floor(np.maximum(rest, 0.0) / amount * ROUNDING)
                room = np.minimum(room, by_resource).astype(np.int64)
        return room

    def _overbooks(self, job: Job, counts: Counts) -> bool:
        uplinks = self._topology.uplink_gbps
        return any(
            exceeds(self._reserved[vertex] + gbps, self._most * (uplinks[vertex] or 0.0))
            for vertex, gbps in self._rates(job, counts).items()
        )

    def _rates(self, job: Job, counts: Counts) -> dict[Vertex, float]:
        """Gbit/s that the job reserves on every uplink of limited bandwidth that it cuts."""
        if len(counts) < 2 or job.message_mb == 0:
            return {}
        uplinks = self._topology.uplink_gbps
        below = self._topology.counts_below({self.names[n]: x for n, x in counts.items()})
        return {
            vertex: reservation_gbps(self._topology, job, x, uplinks[vertex])
            for vertex, x in below.items()
            if x < job.gpus and uplinks[vertex] is not None
        }


def _fill(room: IntArray, total: int) -> Counts | None:
    """The first nodes that hold a total, each filled as far as it goes."""
    nodes = np.flatnonzero(room)
    sums = np.cumsum(room[nodes])
    if not len(sums) or sums[-1] < total:
        return None
    last = int(np.searchsorted(sums, total))
    counts = {int(n): int(room[n]) for n in nodes[: last + 1]}
    counts[int(nodes[last])] -= int(sums[last]) - total
    return counts
