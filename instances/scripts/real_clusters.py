"""Clusters of the real instances: trees and nodes from the published shapes, bandwidths as stated or assumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from draw import Draw
from instance_file import number
from real_traces import DgxFabric

Part = dict[str, Any]

FAULT_SHAPE, FAULTS_PER_DAY = 0.94, 0.0042
"""Gamma distribution of the faults per node and day in the InfiniteHBD trace."""

NVLINK_3_GBPS, NVLINK_2_GBPS, PCIE_3_GBPS = 2400, 1200, 126


@dataclass(slots=True)
class Cluster:
    """The `cluster` object of an instance in the making."""

    levels: list[str]
    switches: list[Part] = field(default_factory=list)
    nodes: list[Part] = field(default_factory=list)

    def part(self) -> Part:
        """As it stands in the file."""
        switches = {"switches": self.switches} if self.switches else {}
        return {"levels": self.levels, **switches, "nodes": self.nodes}

    def free(self) -> dict[str, int]:
        """Free GPUs of every node that is up."""
        return {
            node["name"]: node["gpus"] - node.get("used", {}).get("gpus", 0)
            for node in self.nodes
            if node.get("state", "up") == "up"
        }


def lingjun(racks: Iterable[tuple[tuple[str, str], int]], pods: bool, host_gbps: int) -> Cluster:
    """Hosts of 8 A100 in the given racks. Rack uplinks carry half of what their hosts can send, pods a quarter."""
    cluster = Cluster(["pod", "rack", "node"] if pods else ["rack", "node"])
    hosts_of_pod: dict[str, int] = {}
    rack_parts: list[Part] = []
    for (pod, rack), hosts in racks:
        name = f"{pod}-{rack}" if pods else rack
        hosts_of_pod[pod] = hosts_of_pod.get(pod, 0) + hosts
        parent = {"parent": pod} if pods else {}
        rack_parts.append({"name": name, "level": "rack", **parent, "uplink_gbps": hosts * host_gbps // 2})
        for i in range(1, hosts + 1):
            cluster.nodes.append(_a100(f"{name}-h{i}", name, host_gbps))
    if pods:
        for pod, hosts in hosts_of_pod.items():
            cluster.switches.append({"name": pod, "level": "pod", "uplink_gbps": hosts * host_gbps // 4})
    cluster.switches += rack_parts
    return cluster


def zhejiang(groups: dict[tuple[str, ...], list[str]]) -> Cluster:
    """All servers of 8 A100 with 4 × 200 Gbit/s, below their group of four leaves with 4 × 34 × 400 Gbit/s up."""
    cluster = Cluster(["leaf-group", "node"])
    for i, servers in enumerate(groups.values(), start=1):
        cluster.switches.append({"name": f"leaves-{i}", "level": "leaf-group", "uplink_gbps": 4 * 34 * 400})
        cluster.nodes += [_a100(server, f"leaves-{i}", 800) for server in servers]
    return cluster


def dgx(fabric: DgxFabric, units: Sequence[str]) -> Cluster:
    """DGX nodes of the given scalable units, 400 Gbit/s per link found."""
    cluster = Cluster(["unit", "node"])
    for unit in units:
        uplink = 400 * fabric.spine_links[unit]
        cluster.switches.append({"name": f"su-{unit}", "level": "unit", "uplink_gbps": uplink})
        for name, links in fabric.links_of_node[unit].items():
            cluster.nodes.append(_a100(name, f"su-{unit}", 400 * links))
    return cluster


def openb(rows: Iterable[dict[str, str]], uplink_gbps: int) -> Cluster:
    """Nodes of the openb list with their cores and memory; NVLink in V100 nodes of 8, else PCIe."""
    cluster = Cluster(["node"])
    for row in rows:
        gpus = int(row["gpu"])
        link = NVLINK_2_GBPS if row["model"].startswith("V100") and gpus == 8 else PCIE_3_GBPS
        resources = {"cpu": number(int(row["cpu_milli"]) / 1000), "memory_gib": number(int(row["memory_mib"]) / 1024)}
        cluster.nodes.append(
            {
                "name": row["sn"].removeprefix("openb-"),
                "gpus": gpus,
                "gpu_type": row["model"],
                "gpu_link_gbps": link,
                "uplink_gbps": uplink_gbps,
                "resources": resources,
            }
        )
    return cluster


def t4_cloud(count: int, uplink_gbps: float) -> Cluster:
    """Cloud machines with 4 T4 on PCIe."""
    cluster = Cluster(["node"])
    for i in range(1, count + 1):
        link = {"gpu_link_gbps": PCIE_3_GBPS, "fabric_gbps": 200, "uplink_gbps": uplink_gbps}
        cluster.nodes.append({"name": f"vm-{i:02d}", "gpus": 4, "gpu_type": "T4", **link})
    return cluster


def with_faults(draw: Draw, cluster: Cluster) -> None:
    """Give every node its failures per day."""
    for node in cluster.nodes:
        node["failures_per_day"] = number(draw.gamma(FAULT_SHAPE, FAULTS_PER_DAY), 3)


def degrade(node: Part, slowdown: float, failures_per_day: float) -> None:
    """Make one node slow and failing."""
    node["slowdown"] = slowdown
    node["failures_per_day"] = number(failures_per_day, 3)


def with_slow_and_down(draw: Draw, cluster: Cluster) -> None:
    """Two percent of the nodes compute 5 to 30 % slower, 7 of 400 are down, as counted in the fault trace."""
    for node in cluster.nodes:
        if draw.chance(0.02):
            node["slowdown"] = number(draw.uniform(1.05, 1.3), 3)
        if draw.chance(7 / 400):
            node["state"] = "down"


def _a100(name: str, parent: str, uplink_gbps: int) -> Part:
    link = {"gpu_link_gbps": NVLINK_3_GBPS, "uplink_gbps": uplink_gbps}
    return {"name": name, "parent": parent, "gpus": 8, "gpu_type": "A100", **link}
