"""Recipes of the instances with A100 nodes: Lingjun, Zhejiang Lab and DGX clusters, Philly sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import real_clusters as clusters
import real_jobs as queues
import real_models as models
import real_traces as traces
from draw import Draw
from real_document import document, philly_a100, philly_said
from real_origins import (
    A100_ASSUMPTIONS,
    A100_DATA,
    DGX,
    FAULT_ASSUMPTION,
    HBD,
    LINGJUN,
    PHILLY,
    RECOVERY_ASSUMPTION,
    ZHEJIANG,
)

Part = dict[str, Any]

HOST_GBPS = 100

LINGJUN_ASSUMPTION = (
    f"Hosts have 8 A100 with NVLink (2400 Gbit/s per GPU) and {HOST_GBPS} Gbit/s to their rack; "
    "a rack's uplink carries half, a pod's a quarter of what its hosts can send. The source states none of this."
)


def demo_lingjun_8(data: Path, draw: Draw) -> Part:
    """Two racks of 5 and 3 hosts, one host slow and failing."""
    cluster = clusters.lingjun(_racks(data, "P10", ("S28", "S44")), pods=False, host_gbps=HOST_GBPS)
    clusters.with_faults(draw, cluster)
    faults, days = traces.faults_of_servers(data)
    clusters.degrade(cluster.nodes[2], 1.3, faults[0] / days)
    jobs = philly_a100(data, draw, cluster, "ee9e8c", "2017-12-10", 1.2)
    return document(
        "Two racks of a production cluster with one degraded host, and twelve jobs that want 82 of its 64 GPUs.",
        (LINGJUN, PHILLY, *A100_DATA, HBD),
        (
            LINGJUN_ASSUMPTION,
            "Host S28-h3 is degraded: 30 % slower, failing as often as the worst server of the fault trace.",
            *philly_said("ee9e8c", "2017-12-10"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def lingjun_16_fragmented(data: Path, draw: Draw) -> Part:
    """Three small racks with 30 % of the GPUs taken here and there."""
    cluster = clusters.lingjun(_racks(data, "P8", ("S10", "S12", "S14")), pods=False, host_gbps=HOST_GBPS)
    clusters.with_faults(draw, cluster)
    arrivals = traces.philly(data, "e13805")
    start = traces.when("2017-12-02")
    free = cluster.free()
    for arrival in queues.started_before(arrivals, start, 0.3 * sum(free.values()), 8):
        queues.occupy(draw, free, arrival.gpus, scatter=True)
    for node in cluster.nodes:
        if free[node["name"]] < 8:
            node["used"] = {"gpus": 8 - free[node["name"]]}
    jobs = philly_a100(data, draw, cluster, "ee9e8c", "2017-12-06", 1.1)
    return document(
        "Sixteen hosts of which 30 % of the GPUs are taken, scattered as earlier jobs left them.",
        (LINGJUN, PHILLY, *A100_DATA, HBD),
        (
            LINGJUN_ASSUMPTION,
            "The taken GPUs are those of the last jobs of virtual cluster e13805 before 2017-12-02, "
            "each put on a random host with room.",
            *philly_said("ee9e8c", "2017-12-06"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def dgx_32(data: Path, draw: Draw) -> Part:
    """Two scalable units of an InfiniBand cluster."""
    cluster = clusters.dgx(traces.dgx_fabric(data), ("03", "08"))
    clusters.with_faults(draw, cluster)
    jobs = philly_a100(data, draw, cluster, "ee9e8c", "2017-12-14", 1.1)
    return document(
        "Two scalable units (18 and 14 nodes) of an InfiniBand NDR cluster.",
        (DGX, PHILLY, *A100_DATA, HBD),
        (
            "8 GPUs per node with A100 speeds and NVLink at 2400 Gbit/s (the source lists links only); "
            "400 Gbit/s per link of a node and per link from a unit's leaves to spines.",
            *philly_said("ee9e8c", "2017-12-14"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def lingjun_64_running(data: Path, draw: Draw) -> Part:
    """Eight full racks on which earlier jobs run, a quarter of them movable."""
    racks = _racks(data, "P12", tuple(f"S{i}" for i in range(2, 10)))
    cluster = clusters.lingjun(racks, pods=False, host_gbps=HOST_GBPS)
    clusters.with_faults(draw, cluster)
    arrivals = traces.philly(data, "ee9e8c")
    start = traces.when("2017-11-08")
    free = cluster.free()
    earlier = queues.started_before(arrivals, start, 0.4 * sum(free.values()), 32)
    running = queues.a100_jobs(draw, "r", earlier, models.a100_models(data))
    for job in running:
        job["placement"] = queues.occupy(draw, free, job["gpus"], scatter=False)
        if draw.chance(0.25):
            job.update(movable=True, migration_minutes=15)
    found = queues.window(arrivals, start, 1.1 * sum(free.values()), 128)
    jobs = running + queues.a100_jobs(draw, "p", found, models.a100_models(data))
    return document(
        "Eight racks of eight hosts, 40 % busy: some running jobs may be moved to make room.",
        (LINGJUN, PHILLY, *A100_DATA, HBD),
        (
            LINGJUN_ASSUMPTION,
            "The running jobs are the last earlier ones of the trace, put where they fit most tightly; "
            "every fourth may be moved, which costs 15 minutes of it.",
            *philly_said("ee9e8c", "2017-11-08"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def lingjun_128(data: Path, draw: Draw) -> Part:
    """Racks of two pods, three levels."""
    first = _racks(data, "P10", tuple(f"S{i}" for i in range(3, 11)))
    second = _racks(data, "P8", ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"))
    cluster = clusters.lingjun([*first, *second], pods=True, host_gbps=HOST_GBPS)
    clusters.with_faults(draw, cluster)
    clusters.with_slow_and_down(draw, cluster)
    jobs = philly_a100(data, draw, cluster, "2869ce", "2017-11-20", 1.2)
    return document(
        "128 hosts in racks of two pods, some of them slow or down.",
        (LINGJUN, PHILLY, *A100_DATA, HBD),
        (
            LINGJUN_ASSUMPTION,
            "Two percent of the hosts are 5 to 30 % slower; 7 of 400 are down, as counted in the fault trace.",
            *philly_said("2869ce", "2017-11-20"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def zhejiang_253(data: Path, draw: Draw) -> Part:
    """A whole 2,024-GPU cluster; gangs of 8 and more take whole servers."""
    cluster = clusters.zhejiang(traces.zhejiang_groups(data))
    clusters.with_faults(draw, cluster)
    jobs = philly_a100(data, draw, cluster, "2869ce", "2017-09-24", 1.0)

    def whole(job: Part) -> None:
        if job["gpus"] >= 8:
            job["gpus_per_node"] = 8

    return document(
        "All 253 servers of a production cluster in five groups of leaf switches; large gangs take whole servers.",
        (ZHEJIANG, PHILLY, *A100_DATA, HBD),
        (
            "800 Gbit/s per server (4 ports of 200); 34 ports of 400 Gbit/s up from each of a group's 4 leaves; "
            "NVLink at 2400 Gbit/s.",
            "Jobs of 8 and more GPUs take whole servers.",
            *philly_said("2869ce", "2017-09-24"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        queues.each(jobs, whole),
    )


def lingjun_306(data: Path, draw: Draw) -> Part:
    """A whole pod of 306 hosts."""
    racks = [(key, hosts) for key, hosts in traces.lingjun_racks(data).items() if key[0] == "P12"]
    cluster = clusters.lingjun(racks, pods=False, host_gbps=HOST_GBPS)
    clusters.with_faults(draw, cluster)
    clusters.with_slow_and_down(draw, cluster)
    jobs = philly_a100(data, draw, cluster, "ee9e8c", "2017-10-03", 1.1)
    return document(
        "A whole pod: 306 hosts in 42 racks of 2 to 8, and five weeks of arrivals.",
        (LINGJUN, PHILLY, *A100_DATA, HBD),
        (
            LINGJUN_ASSUMPTION,
            "Two percent of the hosts are 5 to 30 % slower; 7 of 400 are down, as counted in the fault trace.",
            *philly_said("ee9e8c", "2017-10-03"),
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def _racks(data: Path, pod: str, names: Sequence[str]) -> list[tuple[tuple[str, str], int]]:
    found = traces.lingjun_racks(data)
    return [((pod, name), found[(pod, name)]) for name in names]
