"""Zhejiang Lab's A100 cluster (2024): one line per network port of a server with its leaf switch."""

from __future__ import annotations

from collections import Counter, defaultdict

import networkx as nx

from crop_cli.model.instance import Node, Switch
from crop_cli.sources.draft import Draft
from crop_cli.sources.table import Table
from crop_cli.sources.topologies.kind import NodeKind
from crop_cli.sources.topologies.order import by_numbers

SOURCE = (
    "Zhejiang Lab LLM Trace Program (zhejianglab/Zhejiang-Lab-Cluster-Traces, cluster_2000_A100, 3f6ce42): table of "
    "ports, addresses and unused columns dropped"
)
COLUMNS = ("server", "leaf_switch", "port_gbps")


def read(data: bytes, file: str, kind: NodeKind) -> Draft:
    """Read the table of ports. Leaves that share servers, one port each, are one group of the tree.

    Raises
    ------
    InputError
        With every line that cannot be read.
    """
    table = Table(file)
    ports: Counter[tuple[str, str]] = Counter()
    gbps: dict[str, float] = defaultdict(float)
    cables = nx.Graph()
    for row in table.rows(data, COLUMNS, some=True):
        server, leaf, speed = row.text("server"), row.text("leaf_switch"), row.number("port_gbps", 1)
        cables.add_edge(("server", server), ("leaf", leaf))
        ports[server, leaf] += 1
        gbps[server] += speed
    table.finish()
    gpus, gpu_type, said = kind.filled(8, "A100", "as the source describes")
    groups = []
    for part in nx.connected_components(cables):
        leaves = sorted((name for what, name in part if what == "leaf"), key=by_numbers)
        servers = sorted((name for what, name in part if what == "server"), key=by_numbers)
        groups.append((leaves, servers))
    groups.sort(key=lambda group: by_numbers(group[0][0]))
    switches, nodes = [], []
    for number, (_, servers) in enumerate(groups, start=1):
        name = f"group-{number}"
        switches.append(Switch(name=name, level="group", uplink_gbps=sum(gbps[server] for server in servers)))
        nodes += [
            Node(name=server, gpus=gpus, gpu_type=gpu_type, parent=name, uplink_gbps=gbps[server]) for server in servers
        ]
    return Draft(
        name="zhejiang-a100",
        description="Servers of a training cluster, each port on a leaf switch of its own.",
        levels=["group", "node"],
        switches=switches,
        nodes=nodes,
        jobs=[],
        source=SOURCE,
        licence="CC BY 4.0, with the repository's terms of access",
        assumptions=[
            said,
            "Leaf switches that share servers are one group, whose uplink is as wide as its servers' ports together: "
            "the source describes uplinks that are not oversubscribed.",
        ],
        counts={
            "servers": len(nodes),
            "GPUs": gpus * len(nodes),
            "ports": ports.total(),
            "leaf switches": sum(len(leaves) for leaves, _ in groups),
            "groups": len(groups),
        },
    )
