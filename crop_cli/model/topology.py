"""The cluster's tree by names, for code that reads definitions rather than arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from crop_cli.model.instance import Cluster, Node


class Vertex(NamedTuple):
    """A vertex below the root: the name of its level and its own name."""

    level: str
    name: str


@dataclass(frozen=True)
class Topology:
    """Nodes by name, the chain of vertices above each, and every uplink's bandwidth.

    Attributes
    ----------
    levels
        Names of the depths below the root, top down.
    nodes
        Node structs by name, in the order of the file.
    chain
        Vertices that contain a node, top down, the node itself last.
    uplink_gbps
        Bandwidth of every vertex's uplink, Gbit/s; None where unlimited.
    """

    levels: list[str]
    nodes: dict[str, Node]
    chain: dict[str, tuple[Vertex, ...]]
    uplink_gbps: dict[Vertex, float | None]

    @classmethod
    def of(cls, cluster: Cluster) -> Topology:
        """Read a valid cluster."""
        switches = {switch.name: switch for switch in cluster.switches}
        chain_of: dict[str | None, tuple[Vertex, ...]] = {None: ()}

        def chain(name: str | None) -> tuple[Vertex, ...]:
            if name not in chain_of:
                switch = switches[str(name)]
                chain_of[name] = (*chain(switch.parent), Vertex(switch.level, switch.name))
            return chain_of[name]

        uplinks: dict[Vertex, float | None] = {Vertex(s.level, s.name): s.uplink_gbps for s in cluster.switches}
        chains = {}
        for node in cluster.nodes:
            vertex = Vertex(cluster.levels[-1], node.name)
            chains[node.name] = (*chain(node.parent), vertex)
            uplinks[vertex] = node.uplink_gbps
        return cls(cluster.levels, {node.name: node for node in cluster.nodes}, chains, uplinks)

    @cached_property
    def gpu_types(self) -> list[str]:
        """Distinct GPU types of all nodes, whatever their state."""
        return sorted({node.gpu_type for node in self.nodes.values()})

    @cached_property
    def _by_level(self) -> dict[str, list[Vertex]]:
        found: dict[str, list[Vertex]] = {level: [] for level in self.levels}
        for vertex in self.uplink_gbps:
            found[vertex.level].append(vertex)
        return found

    def vertices(self, level: str) -> list[Vertex]:
        """All vertices of a level."""
        return self._by_level[level]

    @cached_property
    def _parents(self) -> dict[Vertex, Vertex | None]:
        return {v: above for chain in self.chain.values() for above, v in zip((None, *chain), chain, strict=False)}

    def parent(self, vertex: Vertex) -> Vertex | None:
        """The vertex above; None stands for the root."""
        return self._parents[vertex]

    def counts_below(self, nodes: Mapping[str, int]) -> dict[Vertex, int]:
        """x_jv of every vertex that holds some of the workers."""
        counts: dict[Vertex, int] = {}
        for name, x in nodes.items():
            for vertex in self.chain[name]:
                counts[vertex] = counts.get(vertex, 0) + x
        return counts

    def counts_at(self, nodes: Mapping[str, int], level: str) -> dict[str, int]:
        """Workers per domain of one level, domains without any left out."""
        return {vertex.name: x for vertex, x in self.counts_below(nodes).items() if vertex.level == level}

    def lowest_level(self, nodes: Mapping[str, int]) -> str:
        """The lowest level whose one domain holds all the workers; "cluster" if none below the root does."""
        chains = [self.chain[name] for name in nodes]
        lowest = "cluster"
        for vertices in zip(*chains, strict=True):
            if len(set(vertices)) > 1:
                break
            lowest = vertices[0].level
        return lowest
