"""The cluster of an import: nodes, levels, and which GPUs a gang may use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from crop_cli.sources.kubernetes.nodes import KubeNode, Part
from crop_cli.sources.kubernetes.selectors import Matcher, Selection
from crop_cli.sources.kubernetes.shape import Shape
from crop_cli.sources.kubernetes.tolerations import Toleration, tolerates
from crop_cli.sources.kubernetes.topology import HOSTNAME, NODE_LEVEL, Level, NetworkTree


@dataclass(frozen=True, slots=True)
class Allowed:
    """GPU types that a gang may use.

    Attributes
    ----------
    types
        None for all of the cluster.
    lost
        What restricts it further and cannot be said by GPU types; empty if that is all.
    """

    types: tuple[str, ...] | None
    lost: str = ""


@dataclass(slots=True)
class Cluster:
    """Nodes and levels.

    Attributes
    ----------
    nodes
        With GPUs, by name.
    levels
        Of the switches, top down.
    tiers
        Of Volcano's HyperNodes, where they are the levels.
    tree
        Where the nodes are.
    """

    nodes: dict[str, KubeNode]
    levels: list[Level]
    tiers: dict[int, Level]
    tree: NetworkTree
    _matcher: Matcher = field(init=False)
    _by_type: dict[str, dict[str, set[str]]] = field(init=False)
    _avoided: dict[frozenset[Toleration], frozenset[str]] = field(default_factory=dict)
    _allowed: dict[object, Allowed | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._matcher = Matcher((node.name, node.labels) for node in self.nodes.values())
        self._by_type = {}
        for node in self.nodes.values():
            for part in node.parts:
                self._by_type.setdefault(part.resource, {}).setdefault(part.gpu_type, set()).add(node.name)

    @property
    def level_names(self) -> list[str]:
        """Of the instance, top down, the nodes' last."""
        return [*(level.name for level in self.levels), NODE_LEVEL]

    def part(self, node: str, resource: str) -> Part | None:
        """The GPUs of a node that go by a resource name."""
        return self.nodes[node].part(resource) if node in self.nodes else None

    def place(self, node: str, part: Part) -> tuple[str, ...]:
        """The domains of all levels in which a node of the instance is, top down, itself the last."""
        return (*self.tree.places[node], part.name)

    def offers(self, resource: str) -> bool:
        """Whether any node has GPUs of that name."""
        return resource in self._by_type

    def level_of(self, label: str) -> str | None:
        """The level whose domains a label names."""
        if label == HOSTNAME:
            return NODE_LEVEL
        return next((level.name for level in self.levels if level.label == label), None)

    def level_of_tier(self, tier: int | None, name: str) -> str | None:
        """The level of a tier of HyperNodes, by number or name."""
        for number, level in self.tiers.items():
            if level in self.levels and (number == tier or (name and level.name == name)):
                return level.name
        return None

    def drain_tainted(self, waiting: Iterable[frozenset[Toleration]]) -> list[tuple[str, str]]:
        """Drain the nodes with a taint that no waiting gang tolerates.

        Parameters
        ----------
        waiting
            Tolerations of every waiting gang.

        Returns
        -------
        list
            Names of these nodes, each with the taint.
        """
        distinct = set(waiting)
        drained = []
        for node in self.nodes.values():
            hard = [taint for taint in node.taints if not taint.for_gpus]
            if node.state != "up" or not hard:
                continue
            if not any(all(tolerates(held, taint) for taint in hard) for held in distinct):
                node.state = "drained"
                drained.append((node.name, str(hard[0])))
        return drained

    def allowed(self, resource: str, shapes: Iterable[Shape], extra: frozenset[Toleration]) -> Allowed | None:
        """The GPU types on which all pods of a gang may run; None if there is no such node.

        Parameters
        ----------
        shapes
            Of its pods.
        extra
            Tolerations that its pods are given when they start.
        """
        key = (resource, frozenset((shape.selection, shape.tolerations) for shape in shapes), extra)
        if key not in self._allowed:
            self._allowed[key] = self._evaluate(resource, key[1], extra)
        return self._allowed[key]

    def _evaluate(
        self,
        resource: str,
        asked: frozenset[tuple[Selection, frozenset[Toleration]]],
        extra: frozenset[Toleration],
    ) -> Allowed | None:
        by_type = self._by_type[resource]
        # Nodes that nobody may use do not tell one type from another.
        open_to = {name for name, node in self.nodes.items() if node.part(resource) and not self._closed(node)}
        kept = set(open_to)
        lost = []
        for chosen, held in sorted(asked, key=str):
            before = len(kept)
            kept &= self._matcher.nodes(chosen) if chosen else kept
            if len(kept) < before:
                lost.append(f"node selection ({chosen})")
            before = len(kept)
            kept -= self._avoid(held | extra)
            if len(kept) < before:
                lost.append("taints")
        if not kept:
            return None
        types = tuple(sorted(name for name, nodes in by_type.items() if nodes & kept))
        exact = all((by_type[name] & open_to) <= kept for name in types)
        everything = len(types) == sum(len(found) for found in self._by_type.values())
        return Allowed(None if everything else types, "" if exact else " and ".join(lost))

    def _closed(self, node: KubeNode) -> bool:
        return node.state == "drained" and any(not taint.for_gpus for taint in node.taints)

    def _avoid(self, held: frozenset[Toleration]) -> frozenset[str]:
        """Nodes whose taints are not tolerated."""
        if held not in self._avoided:
            self._avoided[held] = frozenset(
                node.name
                for node in self.nodes.values()
                if not all(taint.for_gpus or tolerates(held, taint) for taint in node.taints)
            )
        return self._avoided[held]
