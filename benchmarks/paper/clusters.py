"""The clusters of part (b): shapes of `crop generate`, bandwidths and lemon nodes as the configuration says."""

from __future__ import annotations

from functools import cache

import msgspec

from crop_cli.model.instance import Cluster, Instance, Node
from crop_cli.sources.generate import clusters
from crop_cli.sources.generate.distributions import FAULT_SHAPE, FAULTS_PER_DAY
from crop_cli.sources.generate.draw import Draw

NVLINK_GBPS = 2400
"""One A100's own link, one direction (600 GB/s in both)."""

OVERSUBSCRIPTION = {"lingjun": 2.0, "rail": 1.0}
"""Bandwidth of the nodes below a switch over that of its uplink: 2 to 1 for Lingjun's racks and pods, which its source
does not state; none for the rail-like leaf groups, as Zhejiang Lab describes its cluster."""


@cache
def cluster_of(topology: str, nodes: int, gbps: int, rate_scale: float = 1.0, seed: int = 0) -> Instance:
    """An empty cluster.

    Parameters
    ----------
    topology
        "lingjun": pods of racks of 2 to 8 hosts; "rail": groups of 24 to 60 servers. 8 A100 per node.
    gbps
        Of a node's uplink.
    rate_scale
        Failures per day are Gamma with shape 0.94 and mean 0.0042, times this.
    seed
        Of rack sizes and rates.
    """
    made = clusters.lingjun(nodes, Draw(f"lingjun {seed}")) if topology == "lingjun" else clusters.rail(nodes)
    draw = Draw(f"rates {seed}")
    parents = {switch.name: switch.parent for switch in made.switches}
    below = dict.fromkeys(parents, 0)
    for node in made.nodes:
        above = node.parent
        while above is not None:
            below[above] += 1
            above = parents[above]
    share = gbps / OVERSUBSCRIPTION[topology]
    return Instance(
        format="crop-instance/1",
        name=f"{topology} {8 * nodes:,} GPUs {gbps} Gbit/s",
        cluster=Cluster(
            levels=made.levels,
            switches=[msgspec.structs.replace(s, uplink_gbps=share * below[s.name]) for s in made.switches],
            nodes=[_node(node, gbps, rate_scale * draw.gamma(FAULT_SHAPE, FAULTS_PER_DAY)) for node in made.nodes],
        ),
        jobs=[],
    )


def _node(node: Node, gbps: int, rate: float) -> Node:
    return msgspec.structs.replace(node, uplink_gbps=gbps, gpu_link_gbps=NVLINK_GBPS, failures_per_day=rate)
