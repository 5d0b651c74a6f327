"""Recipes of the instances with mixed or small GPUs: openb nodes and cloud machines with T4."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import real_clusters as clusters
import real_jobs as queues
import real_models as models
import real_traces as traces
from draw import Draw
from real_document import document, philly_said
from real_origins import GAVEL, GAVEL_ASSUMPTIONS, OPENB, PHILLY, POLLUX, RECOVERY_ASSUMPTION, TIMM

Part = dict[str, Any]


def t4_cloud_16(data: Path, draw: Draw) -> Part:
    """Cloud machines on which the network decides everything."""
    cluster = clusters.t4_cloud(16, uplink_gbps=5)
    arrivals = traces.philly(data, "7f04ca")
    found = queues.window(arrivals, traces.when("2017-11-04"), 1.2 * sum(cluster.free().values()), 32)
    jobs = queues.model_jobs(draw, "p", found, models.t4_models(data))
    return document(
        "Sixteen cloud machines of 4 T4 with a slow network: splitting a gang often halves its speed.",
        (PHILLY, POLLUX, TIMM),
        (
            "Uplinks of 5 Gbit/s: the source's gradient bytes over wait give 0.33-0.84 GB/s between nodes; "
            "PCIe 126 Gbit/s per GPU, 200 Gbit/s shared per machine (measured 3-12 GB/s per GPU).",
            "Models are drawn at random (the trace names none); BERT has 110, YOLOv3 62 million parameters, FP32.",
            "No communication is hidden behind computation: the waits were measured.",
            *philly_said("7f04ca", "2017-11-04"),
            RECOVERY_ASSUMPTION,
        ),
        cluster,
        jobs,
    )


def openb_64(data: Path, draw: Draw) -> Part:
    """A mix of V100, P100 and T4 nodes; single-GPU pods with type constraints, and gangs."""
    rows = _mixed_nodes(
        data, (("V100M16", 4, 12), ("V100M32", 8, 8), ("P100", 2, 24), ("T4", 4, 14), ("V100M16", 1, 6))
    )
    return _openb(data, draw, rows, "gpuspec33", "ee9e8c", 0.5)


def openb_128(data: Path, draw: Draw) -> Part:
    """All large V100 nodes and a sample of P100 and T4 nodes; pods of up to 8 GPUs, and gangs."""
    rows = _mixed_nodes(
        data,
        (("V100M32", 8, 21), ("V100M16", 8, 8), ("V100M16", 4, 28), ("V100M32", 4, 9), ("T4", 4, 17), ("P100", 2, 45)),
    )
    return _openb(data, draw, rows, "multigpu50", "2869ce", 0.7)


def _mixed_nodes(data: Path, wanted: Iterable[tuple[str, int, int]]) -> list[dict[str, str]]:
    """The first so many nodes of each type and size in the list."""
    rows = traces.openb_nodes(data)
    taken: list[dict[str, str]] = []
    for kind, gpus, count in wanted:
        taken += [row for row in rows if row["model"] == kind and int(row["gpu"]) == gpus][:count]
    return taken


def _openb(data: Path, draw: Draw, rows: list[dict[str, str]], pods: str, gangs: str, pod_share: float) -> Part:
    cluster = clusters.openb(rows, uplink_gbps=10)
    free, load = sum(cluster.free().values()), 1.2
    gavel = models.gavel_models(data)
    known = [*gavel.values(), *models.t4_models(data)]
    largest: dict[str, int] = {}
    for row in rows:
        largest[row["model"]] = max(largest.get(row["model"], 0), int(row["gpu"]))
    wanted = load * free
    jobs = queues.pod_jobs(draw, traces.openb_pods(data, pods), known, largest, pod_share * wanted)
    jobs += queues.gavel_jobs(traces.gavel_jobs(data, gangs), gavel, (1 - pod_share) * wanted)
    return document(
        f"{len(rows)} nodes with {len(largest)} GPU types, pods with cores and memory, and gangs that may span nodes.",
        (OPENB, GAVEL, POLLUX, TIMM),
        (
            *GAVEL_ASSUMPTIONS,
            f"Pods: openb_pod_list_{pods} in order of the file, models drawn among those measured on an allowed type; "
            f"gangs: Gavel's trace {gangs} in order of arrival. All are taken to wait at once.",
            RECOVERY_ASSUMPTION,
        ),
        cluster,
        jobs,
    )
