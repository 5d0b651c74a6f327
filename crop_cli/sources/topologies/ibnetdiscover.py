"""A dump of `ibnetdiscover` (InfiniBand): switches and channel adapters with their links, as a tree of domains.

The fabric is a graph. A switch's height is its distance from the nearest host. The domains of a height are what hosts
and switches up to that height connect: a leaf with its hosts, or, where every port of a host goes to another leaf, all
leaves that share hosts. A domain's uplink is all its links to higher switches together.
"""

from __future__ import annotations

from collections import Counter

import networkx as nx

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import shown
from crop_cli.model.instance import Node, Switch
from crop_cli.sources.draft import Draft
from crop_cli.sources.table import text_of
from crop_cli.sources.topologies.fabric_graph import Fabric, parse
from crop_cli.sources.topologies.kind import NodeKind
from crop_cli.sources.topologies.order import by_numbers

LEVELS = ("unit", "pod", "zone")
"""Names of the levels above the nodes, bottom up."""


def read(data: bytes, file: str, kind: NodeKind) -> Draft:
    """Read a dump.

    Raises
    ------
    InputError
        With every line that cannot be read, or if there are no switches or no named hosts.
    """
    fabric = parse(text_of(data, file), file)
    if not fabric.ports_of:
        found = f"{len(fabric.switch_names)} switches and no host with a name"
        raise InputError(shown(file), [Defect("$", found, "an ibnetdiscover dump with hosts")])
    gpus, gpu_type, said = kind.filled(
        8, "H100", "the dump does not tell; 8 GPUs a node and NDR links are usual for H100"
    )
    height = _heights(fabric)
    domains = _domains(fabric, height)
    switches, parent = _tree(fabric, height, domains)
    nodes = [
        Node(
            name=host,
            gpus=gpus,
            gpu_type=gpu_type,
            parent=parent.get(host),
            uplink_gbps=sum(data["gbps"] for _, _, data in fabric.graph.edges(host, data=True)),
        )
        for host in sorted(fabric.ports_of, key=by_numbers)
    ]
    by_height = Counter(height.get(switch, 0) for switch in fabric.switch_names)
    usual = Counter(fabric.ports_of.values()).most_common(1)[0][0]
    fewer = [host for host, ports in fabric.ports_of.items() if ports < usual]
    warnings = []
    if fewer:
        warnings.append(f"{len(fewer)} of {len(nodes)} hosts have fewer than the usual {usual} links in the dump")
    return Draft(
        name="ibnetdiscover",
        description="Hosts of an InfiniBand fabric.",
        levels=[*reversed(LEVELS[: len(domains)]), "node"],
        switches=switches,
        nodes=nodes,
        jobs=[],
        source=f"ibnetdiscover dump {shown(file)}",
        assumptions=[
            said,
            "Switches that share hosts or lower switches are one domain; its uplink is all its links upwards together.",
        ],
        skipped=fabric.skipped,
        warnings=warnings,
        counts={
            "hosts": len(nodes),
            "GPUs": gpus * len(nodes),
            "host links": sum(fabric.ports_of.values()),
            "leaf switches": by_height[1],
            "higher switches": sum(n for h, n in by_height.items() if h > 1),
            "switches without a way to a host": by_height[0],
        },
    )


def _heights(fabric: Fabric) -> dict[str, int]:
    """Distance of every switch from the nearest host."""
    far = nx.multi_source_dijkstra_path_length(fabric.graph, set(fabric.ports_of), weight=None)
    return {name: int(distance) for name, distance in far.items() if distance > 0}


def _domains(fabric: Fabric, height: dict[str, int]) -> list[list[set[str]]]:
    """Per height, bottom up: the parts that hosts and switches up to there fall into; up to where all is one part."""
    found: list[list[set[str]]] = []
    for top in range(1, min(max(height.values(), default=0), len(LEVELS)) + 1):
        below = [*fabric.ports_of, *(switch for switch, h in height.items() if h <= top)]
        parts = [
            part for part in nx.connected_components(fabric.graph.subgraph(below)) if part & fabric.ports_of.keys()
        ]
        if len(parts) == 1 and found:
            break
        if found and len(parts) == len(found[-1]):
            found.pop()
        found.append(sorted(parts, key=lambda part: by_numbers(min(part & fabric.ports_of.keys(), key=by_numbers))))
    return found


def _tree(fabric: Fabric, height: dict[str, int], domains: list[list[set[str]]]) -> tuple[list[Switch], dict[str, str]]:
    """The switches of the tree, and the parent of every host."""
    name_of = [[f"{LEVELS[h]}-{i}" for i in range(1, len(parts) + 1)] for h, parts in enumerate(domains)]
    parent = {host: name_of[0][i] for i, part in enumerate(domains[0]) for host in part if host in fabric.ports_of}
    switches: list[Switch] = []
    for h in reversed(range(len(domains))):
        for i, part in enumerate(domains[h]):
            above = None
            if h + 1 < len(domains):
                above = next(name_of[h + 1][k] for k, whole in enumerate(domains[h + 1]) if part <= whole)
            up = sum(
                data["gbps"]
                for _, outside, data in fabric.graph.edges(part, data=True)
                if outside not in part and outside in height
            )
            switches.append(Switch(name=name_of[h][i], level=LEVELS[h], parent=above, uplink_gbps=up or None))
    return switches, parent
