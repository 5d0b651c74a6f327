"""Clusters of the families: trees and nodes from the published shapes. Bandwidths that no source states stay open."""

from __future__ import annotations

from dataclasses import dataclass, field

from crop_cli.model.instance import Node, Switch
from crop_cli.sources.generate.distributions import (
    LINGJUN_PODS,
    MIXED_GPUS,
    MIXED_RACKS,
    RAIL_GROUP_UPLINK_GBPS,
    RAIL_GROUPS,
    SUPERPOD_UNIT,
    SUPERPOD_UNITS_PER_SPINE,
)
from crop_cli.sources.generate.draw import Draw

PCIE_3_GBPS = 126
"""One GPU on 16 lanes of PCIe 3.0."""

RACK = 8
"""Nodes of a rack where no source says."""


@dataclass(slots=True)
class Cluster:
    """A tree in the making: levels top down, switches, nodes."""

    levels: list[str]
    switches: list[Switch] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def free(self) -> dict[str, int]:
        """Free GPUs of every node that is up."""
        return {node.name: node.gpus - int(node.used.get("gpus", 0)) for node in self.nodes if node.state == "up"}


def lingjun(nodes: int, draw: Draw) -> Cluster:
    """Pods of racks of 2 to 8 hosts with 8 A100. Every three pods have the racks of Lingjun's three, shuffled.

    One pod that holds all is left out. The last rack is cut to the number of nodes.
    """
    racks = _lingjun_racks(nodes, draw)
    pods = len({pod for pod, _ in racks}) > 1
    cluster = Cluster(["pod", "rack", "node"] if pods else ["rack", "node"])
    if pods:
        cluster.switches += [Switch(name=name, level="pod") for name in dict.fromkeys(pod for pod, _ in racks)]
    for number, (pod, hosts) in enumerate(racks, start=1):
        rack = f"rack-{number}"
        cluster.switches.append(Switch(name=rack, level="rack", parent=pod if pods else None))
        cluster.nodes += [
            Node(name=f"{rack}-h{host}", parent=rack, gpus=8, gpu_type="A100") for host in range(1, hosts + 1)
        ]
    return cluster


def _lingjun_racks(nodes: int, draw: Draw) -> list[tuple[str, int]]:
    """Pod and hosts of every rack."""
    racks: list[tuple[str, int]] = []
    left, pod = nodes, 0
    while left > 0:
        for sizes in draw.shuffled(LINGJUN_PODS):
            pod += 1
            for hosts in draw.shuffled([size for size, count in sizes.items() for _ in range(count)]):
                if left > 0:
                    racks.append((f"pod-{pod}", min(hosts, left)))
                    left -= racks[-1][1]
    return racks


def rail(nodes: int) -> Cluster:
    """Servers of 8 A100 with 4 × 200 Gbit/s below groups of four leaf switches, the groups' sizes in their order."""
    cluster = Cluster(["leaf-group", "node"])
    left, group = nodes, 0
    while left > 0:
        servers = min(left, RAIL_GROUPS[group % len(RAIL_GROUPS)])
        group += 1
        name = f"leaves-{group}"
        cluster.switches.append(Switch(name=name, level="leaf-group", uplink_gbps=RAIL_GROUP_UPLINK_GBPS))
        cluster.nodes += [
            Node(name=f"{name}-s{server}", parent=name, gpus=8, gpu_type="A100", uplink_gbps=4 * 200)
            for server in range(1, servers + 1)
        ]
        left -= servers
    return cluster


def superpod(nodes: int) -> Cluster:
    """Scalable units of up to 32 DGX H100; more than four units are joined four by four below a core layer."""
    units = -(-nodes // SUPERPOD_UNIT)
    spines = units > SUPERPOD_UNITS_PER_SPINE
    cluster = Cluster(["spine", "unit", "node"] if spines else ["unit", "node"])
    if spines:
        cluster.switches += [
            Switch(name=f"spine-{spine}", level="spine")
            for spine in range(1, -(-units // SUPERPOD_UNITS_PER_SPINE) + 1)
        ]
    for unit in range(units):
        name = f"su-{unit + 1}"
        parent = f"spine-{unit // SUPERPOD_UNITS_PER_SPINE + 1}" if spines else None
        cluster.switches.append(Switch(name=name, level="unit", parent=parent))
        cluster.nodes += [
            Node(name=f"{name}-dgx{n}", parent=name, gpus=8, gpu_type="H100")
            for n in range(1, min(SUPERPOD_UNIT, nodes - unit * SUPERPOD_UNIT) + 1)
        ]
    return cluster


def plain(nodes: int, gpu_type: str) -> Cluster:
    """Racks of 8 nodes with 8 GPUs."""
    cluster = Cluster(["rack", "node"])
    for first in range(0, nodes, RACK):
        rack = f"rack-{first // RACK + 1}"
        cluster.switches.append(Switch(name=rack, level="rack"))
        cluster.nodes += [
            Node(name=f"{rack}-n{n}", parent=rack, gpus=8, gpu_type=gpu_type)
            for n in range(1, min(RACK, nodes - first) + 1)
        ]
    return cluster


def heterogeneous(nodes: int) -> Cluster:
    """Racks of one GPU type each, by turns; 8 nodes a rack, 2 if there are fewer than 40 nodes.

    P100 and K80 are on PCIe; V100 are linked as the fabric says.
    """
    size = RACK if nodes >= RACK * len(MIXED_RACKS) else 2
    cluster = Cluster(["rack", "node"])
    for number, first in enumerate(range(0, nodes, size)):
        kind = MIXED_RACKS[number % len(MIXED_RACKS)]
        rack = f"rack-{number + 1}"
        cluster.switches.append(Switch(name=rack, level="rack"))
        cluster.nodes += [
            Node(
                name=f"{rack}-{kind.lower()}-{n}",
                parent=rack,
                gpus=MIXED_GPUS[kind],
                gpu_type=kind,
                gpu_link_gbps=None if kind == "V100" else PCIE_3_GBPS,
            )
            for n in range(1, min(size, nodes - first) + 1)
        ]
    return cluster
