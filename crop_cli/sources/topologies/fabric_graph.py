"""The graph in a dump of `ibnetdiscover`: hosts and switches, and between them the bandwidth of all their links."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import networkx as nx

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import shown
from crop_cli.model.findings import quoted
from crop_cli.sources.draft import Skipped
from crop_cli.sources.table import MOST_DEFECTS

LANE_GBPS = {"SDR": 2, "DDR": 4, "QDR": 8, "FDR10": 10, "FDR": 13.64, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
"""Data rate of one lane, Gbit/s (InfiniBand Architecture Specification)."""

_RECORD = re.compile(r'(?P<kind>Switch|Ca|Rt)\s+\d+\s+"(?P<guid>[^"]+)"\s*#\s*"(?P<text>[^"]*)"')
_LINK = re.compile(
    r'\[(?P<port>\d+)\](?:\([^)]*\))?\s+"(?P<peer>[^"]+)"\[(?P<peer_port>\d+)\](?:\([^)]*\))?\s*#'
    r'[^"]*"(?P<text>[^"]*)"\s+lid\s+\d+\s+(?P<width>\d+)x(?P<rate>[A-Z]+\d*)'
)
_HOST = re.compile(r"(?P<host>\S+)\s+(?:HCA-\d+|mlx\d+_\d+|hfi\d+_\d+)")
"""A node description as hosts set it: their name and the device."""

_NO_NODE = re.compile(r"ufm|localhost|ubuntu", re.IGNORECASE)
"""Hosts that manage the fabric, or that nobody has named."""


@dataclass(slots=True)
class Fabric:
    """A fabric.

    Attributes
    ----------
    graph
        Undirected; vertices are names of hosts and GUIDs of switches; `gbps` of an edge is that of all its links.
    switch_names
        By GUID; also of switches that are known only from the other end of a link.
    ports_of
        Links per host.
    skipped
        Adapters and hosts that are no nodes.
    """

    graph: nx.Graph = field(default_factory=nx.Graph)
    switch_names: dict[str, str] = field(default_factory=dict)
    ports_of: dict[str, int] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def parse(text: str, file: str) -> Fabric:
    """Read a dump. A link is listed once or from both of its ends.

    Raises
    ------
    InputError
        With every line of a link that cannot be read, or if nothing in the text is a record of a switch.
    """
    defects: list[Defect] = []
    links: dict[frozenset[tuple[str, str]], float] = {}
    named: dict[str, str] = {}
    own: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        record = _RECORD.match(line)
        if record is not None:
            own = record["guid"]
            named[own] = record["text"]
        elif line.startswith("["):
            link = _LINK.match(line)
            if link is None or own is None or link["rate"] not in LANE_GBPS:
                found = quoted(line.strip())
                known = ", ".join(LANE_GBPS)
                defects.append(Defect(f"line {number}", found, f"a link of a record above, of a rate among {known}"))
                continue
            named.setdefault(link["peer"], link["text"] if own[0] == "S" or link["peer"][0] == "S" else "")
            ends = frozenset({(own, link["port"]), (link["peer"], link["peer_port"])})
            links[ends] = int(link["width"]) * LANE_GBPS[link["rate"]]
        elif not line.strip():
            own = None
    if not any(guid.startswith("S-") for guid in named):
        defects.append(Defect("$", "no record of a switch", "the output of ibnetdiscover"))
    if defects:
        raise InputError(shown(file), defects[:MOST_DEFECTS])
    return _graph(links, named)


def _graph(links: dict[frozenset[tuple[str, str]], float], named: dict[str, str]) -> Fabric:
    """Ports of one host are one vertex; adapters without a host's name are none."""
    fabric = Fabric(switch_names={guid: _short(text) for guid, text in named.items() if guid.startswith("S-")})
    vertex_of: dict[str, str | None] = {guid: guid for guid in fabric.switch_names}
    for guid, text in named.items():
        if guid in vertex_of:
            continue
        found = _HOST.fullmatch(text.strip())
        vertex_of[guid] = None
        if found is None:
            fabric.skipped.append(Skipped("adapter", guid, f"carries no host's name, but {quoted(text)}"))
        elif _NO_NODE.search(found["host"]):
            fabric.skipped.append(Skipped("adapter", guid, "is of a host that is no node, by its name"))
        else:
            vertex_of[guid] = found["host"]
            fabric.ports_of.setdefault(found["host"], 0)
    for ends, gbps in links.items():
        vertices = [vertex_of[guid] for guid, _ in ends]
        if len(vertices) < 2 or None in vertices or vertices[0] == vertices[1]:
            continue
        one, other = vertices
        known = fabric.graph.get_edge_data(one, other, {"gbps": 0.0})["gbps"]
        fabric.graph.add_edge(one, other, gbps=known + gbps)
        for vertex in vertices:
            if vertex in fabric.ports_of:
                fabric.ports_of[str(vertex)] += 1
    alone = [host for host, ports in fabric.ports_of.items() if ports == 0]
    for host in alone:
        del fabric.ports_of[host]
        fabric.skipped.append(Skipped("host", host, "has no link"))
    return fabric


def _short(text: str) -> str:
    """ "MF0;A09-LEAF-1:MQM9701/U1" as "A09-LEAF-1"."""
    return text.rpartition(";")[2].partition(":")[0]
