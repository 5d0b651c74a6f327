"""Levels of the network: which labels name a node's rack, block, ..., and the switches that follow from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from crop_cli.errors import UsageError
from crop_cli.model.findings import alike, quoted
from crop_cli.model.instance import Switch
from crop_cli.model.tree import ROOT_NAME
from crop_cli.sources.kubernetes.documents import Thing
from crop_cli.sources.kubernetes.nodes import KubeNode
from crop_cli.sources.kubernetes.notes import Notes

NODE_LEVEL = "node"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Level:
    """A level of switches: its name in the instance, and the node label that names the switch."""

    name: str
    label: str


_TOPOGRAPH = "network.topology.nvidia.com/"
_FAMILIES = (
    (
        "NVIDIA topograph",
        tuple(f"{_TOPOGRAPH}{n}" for n in ("datacenter", "core", "spine", "block", "leaf", "accelerator")),
    ),
    (
        "topograph",
        (
            *(f"fabric.topograph.run/tier-{n}" for n in range(9, -1, -1)),
            *(f"accelerator.topograph.run/{n}" for n in ("domain", "sub-domain")),
        ),
    ),
    ("Google Cloud", tuple(f"cloud.google.com/gce-topology-{n}" for n in ("block", "subblock", "host"))),
    ("AWS", tuple(f"topology.k8s.aws/network-node-layer-{n}" for n in (1, 2, 3))),
    ("Oracle Cloud", tuple(f"oci.oraclecloud.com/host.{n}" for n in ("network_block_id", "rack_id"))),
    ("zones", ("topology.kubernetes.io/zone",)),
)
"""Labels that name switches, top down, by who sets them; the first family of which a node has any counts."""


def option_levels(texts: Iterable[str]) -> list[Level]:
    """Read --level options, top down.

    Raises
    ------
    UsageError
        If one is not NAME=LABEL, or a name is given twice or is a reserved one.
    """
    levels: list[Level] = []
    for text in texts:
        name, equals, label = text.partition("=")
        name, label = name.strip(), label.strip()
        if not equals or not name or not label:
            raise UsageError(f"--level: {text!r} is not NAME=LABEL, such as rack=topology.example.com/rack")
        if name in (NODE_LEVEL, ROOT_NAME):
            raise UsageError(f"--level: {name!r} is the name of the {'nodes' if name == NODE_LEVEL else 'root'}' level")
        if any(name == level.name for level in levels):
            raise UsageError(f"--level: {name!r} is given twice")
        levels.append(Level(name, label))
    return levels


def choose_levels(
    asked: list[Level], topologies: list[Thing], tiers: dict[int, Level], nodes: dict[str, KubeNode], notes: Notes
) -> list[Level]:
    """The levels, top down, without the nodes' own.

    Parameters
    ----------
    asked
        By option; they come before everything else.
    topologies
        Kueue's Topology objects.
    tiers
        Levels of Volcano's HyperNodes by tier (`hypernodes.mark_tiers`), which the nodes' labels know already.
    nodes
        With GPUs.

    Raises
    ------
    UsageError
        If no node has the label of an option.
    """
    labels = {label for node in nodes.values() for label in node.labels}
    if asked:
        for level in asked:
            if level.label not in labels:
                near = alike(level.label, labels)
                raise UsageError(f"--level {level.name}={level.label}: no node with GPUs has this label{near}")
        return asked
    described = [_topology_labels(topology) for topology in topologies]
    known = [[label for label in found if label in labels] for found in described]
    if any(known):
        best = max(
            range(len(known)),
            key=lambda i: (sum(known[i][0] in n.labels for n in nodes.values()) if known[i] else 0, len(known[i])),
        )
        for i, topology in enumerate(topologies):
            if i != best:
                notes.warn("another Topology gives the levels", "Topology", topology.name)
        notes.assume(f"Levels are those of Kueue's Topology {topologies[best].name}")
        return _named(known[best])
    if tiers:
        notes.assume("Levels are the tiers of Volcano's HyperNodes")
        return [tiers[tier] for tier in sorted(tiers, reverse=True)]
    for family, candidates in _FAMILIES:
        present = [label for label in candidates if label in labels]
        if present:
            notes.assume(f"Levels are the labels of {family}: {', '.join(present)}")
            return _named(present)
    notes.warn(
        "no label says which nodes share a rack or switch: the nodes are all of the tree (give --level NAME=LABEL)"
    )
    return []


def _topology_labels(topology: Thing) -> list[str]:
    labels = [level.text("nodeLabel") for level in topology.spec.children("levels")]
    return [label for label in labels if label and label != HOSTNAME]


def _named(labels: list[str]) -> list[Level]:
    """Levels named after the last word of their labels, all different."""
    taken = {NODE_LEVEL, ROOT_NAME}
    levels = []
    for label in labels:
        last = label.rpartition("/")[2]
        name = re.sub(r"^(gce-topology-|topology-|network-node-|host\.)", "", last) or last
        if name in taken:
            name = label
        taken.add(name)
        levels.append(Level(name, label))
    return levels


@dataclass(frozen=True, slots=True)
class NetworkTree:
    """Where the nodes are.

    Attributes
    ----------
    parents
        The switch above every node; empty without levels.
    places
        The values of every node's labels, top down: nodes with equal beginnings share a switch.
    """

    switches: list[Switch]
    parents: dict[str, str]
    places: dict[str, tuple[str, ...]]


def build_tree(levels: list[Level], nodes: dict[str, KubeNode], notes: Notes) -> NetworkTree:
    """The switches above the nodes.

    A switch is its value together with those above it: racks of equal names in different blocks are different racks. A
    node that lacks a label hangs on a switch of its own.
    """
    places = {name: _place(levels, node, notes) for name, node in nodes.items()}
    paths = dict.fromkeys(place[: depth + 1] for place in places.values() for depth in range(len(levels)))
    values: dict[str, int] = {}
    for path in paths:
        values[path[-1]] = values.get(path[-1], 0) + 1
    for level_number, level in enumerate(levels):
        here = Counter(path[-1] for path in paths if len(path) == level_number + 1)
        for value in (value for value, times in here.items() if times > 1):
            notes.warn(
                f"the same value of {level.label} under several switches of level "
                f"{levels[level_number - 1].name}: taken as different ones",
                level.name,
                value,
            )
    reserved = {ROOT_NAME, *nodes}
    names = {
        path: path[-1]
        if values[path[-1]] == 1 and path[-1] not in reserved
        else f"{levels[len(path) - 1].name}:{'/'.join(path)}"
        for path in paths
    }
    switches = [
        Switch(name=name, level=levels[len(path) - 1].name, parent=names.get(path[:-1])) for path, name in names.items()
    ]
    return NetworkTree(switches, {name: names[place] for name, place in places.items() if place}, places)


def _place(levels: list[Level], node: KubeNode, notes: Notes) -> tuple[str, ...]:
    """The node's switches, top down."""
    found = []
    for level in levels:
        value = node.labels.get(level.label, "")
        if not value:
            notes.warn(f"no label {quoted(level.label)}: a {level.name} of its own", "node", node.name)
            value = f"{level.name} of {node.name}"
        found.append(value)
    return tuple(found)
