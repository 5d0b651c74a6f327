"""The cluster of an import: nodes, levels, and which GPUs a gang may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from crop_cli.names import plural
from crop_cli.sources.kubernetes.nodes import KubeNode, Part
from crop_cli.sources.kubernetes.notes import MOST_NAMES
from crop_cli.sources.kubernetes.selectors import Matcher, Selection
from crop_cli.sources.kubernetes.shape import Shape
from crop_cli.sources.kubernetes.tolerations import Toleration, tolerates
from crop_cli.sources.kubernetes.topology import HOSTNAME, NODE_LEVEL, Level, NetworkTree

MOST_TYPES = 64
"""GPU types of a cluster up to which types are divided; every one makes all jobs' seconds longer to write and read."""

_GROUP = " group "
"""Between the name of a GPU type and the number of a part of it."""


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


@dataclass(frozen=True, slots=True)
class _Key:
    """What decides where a gang may run."""

    resource: str
    asked: frozenset[tuple[Selection, frozenset[Toleration]]]
    extra: frozenset[Toleration]


def _key(resource: str, shapes: Iterable[Shape], extra: frozenset[Toleration]) -> _Key:
    return _Key(resource, frozenset((shape.selection, shape.tolerations) for shape in shapes), extra)


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
    _open: dict[str, frozenset[str]] = field(default_factory=dict)
    _avoided: dict[frozenset[Toleration], frozenset[str]] = field(default_factory=dict)
    _allowed: dict[_Key, Allowed | None] = field(default_factory=dict)

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
                # Nodes that are closed to everybody do not tell one type from another.
                for part in node.parts:
                    self._by_type[part.resource][part.gpu_type].discard(node.name)
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
        key = _key(resource, shapes, extra)
        if key not in self._allowed:
            self._allowed[key] = self._evaluate(key)
        return self._allowed[key]

    def divide_types(self, wanted: Iterable[tuple[str, Iterable[Shape], frozenset[Toleration]]]) -> list[str]:
        """Give nodes of one GPU type that not all gangs of this type may use a GPU type of their own.

        Only GPU types can say which nodes a job may use: with node selectors for pools, or taints that some tolerate, a
        type is divided by who may use it.

        Parameters
        ----------
        wanted
            Resource, shapes and extra tolerations of every gang, as for `allowed`.

        Returns
        -------
        list
            A sentence for every type that was divided off.
        """
        said = []
        for resource, shapes, extra in wanted:
            key = _key(resource, shapes, extra)
            if key in self._allowed:
                continue
            kept, lost = self._kept(key)
            found = self._evaluate(key)
            self._allowed[key] = found
            if found is None or not found.lost:
                continue
            by_type = self._by_type[resource]
            mixed = [name for name, count in self._counts(resource, kept).items() if count < len(by_type[name])]
            if sum(map(len, self._by_type.values())) + len(mixed) > MOST_TYPES:
                continue
            said += [self._divide(resource, name, kept, lost) for name in mixed]
            self._allowed.clear()
        self._allowed.clear()
        return said

    def _divide(self, resource: str, name: str, kept: frozenset[str], why: str) -> str:
        """Nodes of a type that are among those kept become a type of their own."""
        by_type = self._by_type[resource]
        taken = {known for types in self._by_type.values() for known in types}
        base = name.partition(_GROUP)[0]
        new = next(text for n in range(2, MOST_TYPES + 2) if (text := f"{base}{_GROUP}{n}") not in taken)
        by_type[new] = set(by_type[name] & kept)
        by_type[name] -= kept
        for node in by_type[new]:
            part = self.nodes[node].part(resource)
            assert part is not None
            part.gpu_type = new
        nodes = [node for node in self.nodes if node in by_type[new]]
        shown = f"{', '.join(nodes[:MOST_NAMES])}{', …' if len(nodes) > MOST_NAMES else ''}"
        return f"GPU type {new}: {plural(len(nodes), 'node')} ({shown}) of {name} that jobs may use for all their {why}"

    def _evaluate(self, key: _Key) -> Allowed | None:
        kept, lost = self._kept(key)
        if not kept:
            return None
        by_type = self._by_type[key.resource]
        counts = self._counts(key.resource, kept)
        exact = all(count == len(by_type[name]) for name, count in counts.items())
        everything = len(counts) == sum(bool(nodes) for types in self._by_type.values() for nodes in types.values())
        return Allowed(None if everything else tuple(sorted(counts)), "" if exact else lost)

    def _counts(self, resource: str, kept: Iterable[str]) -> Counter[str]:
        """How many of the nodes have each GPU type."""
        parts = (self.nodes[name].part(resource) for name in kept)
        return Counter(part.gpu_type for part in parts if part is not None)

    def _kept(self, key: _Key) -> tuple[frozenset[str], str]:
        """Nodes that a gang may use, and what keeps it from others."""
        if key.resource not in self._open:
            self._open[key.resource] = frozenset().union(*self._by_type[key.resource].values())
        kept = self._open[key.resource]
        lost = []
        for chosen, held in sorted(key.asked, key=str):
            for nodes, why in (
                (kept & self._matcher.nodes(chosen) if chosen else kept, f"node selection {chosen}"),
                (kept - self._avoid(held | key.extra), "taints"),
            ):
                if len(nodes & kept) < len(kept):
                    lost.append(why)
                    kept &= nodes
        return kept, " and ".join(lost)

    def _avoid(self, held: frozenset[Toleration]) -> frozenset[str]:
        """Nodes whose taints are not tolerated."""
        if held not in self._avoided:
            self._avoided[held] = frozenset(
                node.name
                for node in self.nodes.values()
                if not all(taint.for_gpus or tolerates(held, taint) for taint in node.taints)
            )
        return self._avoided[held]
