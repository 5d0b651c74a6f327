"""Recipes of the medium and large instances: two families on clusters of any size, with free and with taken GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import real_clusters as clusters
import real_jobs as queues
import real_models as models
import real_traces as traces
from draw import Draw
from real_document import document
from real_origins import A100_ASSUMPTIONS, A100_DATA, FAULT_ASSUMPTION, HBD, LINGJUN, PHILLY, RECOVERY_ASSUMPTION
from real_recipes_a100 import HOST_GBPS, LINGJUN_ASSUMPTION

Part = dict[str, Any]

POD_HOSTS = 128
"""Hosts of a pod; a cluster of at most so many has no pods."""

VIRTUAL_CLUSTERS = ("ee9e8c", "7f04ca")
"""Of the Philly trace: those with jobs of all sizes."""

LOAD, TAKEN = 1.1, 0.3
"""GPUs that the jobs want over those that are free, and the share of GPUs taken in a fragmented cluster."""

WEIGHTS = {1: 80, 2: 15, 4: 5}
"""Priorities of jobs and their shares."""


def mix(data: Path, draw: Draw, nodes: int, taken: bool) -> Part:
    """Jobs of three priorities, anywhere."""
    cluster, jobs = _base(data, draw, nodes, taken)

    def weighted(job: Part) -> None:
        weight = draw.weighted(WEIGHTS)
        if weight > 1:
            job["weight"] = weight

    said = "Priorities: weight 1, 2 and 4 for 80, 15 and 5 % of the jobs, drawn."
    return _document(f"{_of(nodes, taken)}; jobs of three priorities.", cluster, queues.each(jobs, weighted), said)


def racks(data: Path, draw: Draw, nodes: int, taken: bool) -> Part:
    """Gangs that span nodes have to stay in a rack, if one is large enough."""
    cluster, jobs = _base(data, draw, nodes, taken)
    largest = 8 * 8

    def confined(job: Part) -> None:
        if 1 < job["gpus"] <= largest:
            job["within"] = "rack"

    said = f"Gangs of up to {largest} GPUs have to stay in one rack."
    return _document(f"{_of(nodes, taken)}; gangs stay in a rack.", cluster, queues.each(jobs, confined), said)


def _of(nodes: int, taken: bool) -> str:
    return f"{nodes} hosts in racks, " + (f"{TAKEN:.0%} of the GPUs taken at random" if taken else "all free")


def _base(data: Path, draw: Draw, nodes: int, taken: bool) -> tuple[clusters.Cluster, list[Part]]:
    """Racks of Lingjun's sizes in random order, and Philly's job sizes drawn without replacement."""
    cluster = clusters.lingjun(_racks(data, draw, nodes), pods=nodes > POD_HOSTS, host_gbps=HOST_GBPS)
    clusters.with_faults(draw, cluster)
    if taken:
        _take(draw, cluster)
    arrivals = [arrival for virtual in VIRTUAL_CLUSTERS for arrival in traces.philly(data, virtual)]
    free = sum(cluster.free().values())
    chosen: list[traces.Arrival] = []
    wanted = 0
    for arrival in draw.shuffled(arrivals):
        if wanted < LOAD * free and arrival.gpus <= free // 4:
            chosen.append(arrival)
            wanted += arrival.gpus
    return cluster, queues.a100_jobs(draw, "p", chosen, models.a100_models(data))


def _racks(data: Path, draw: Draw, nodes: int) -> list[tuple[tuple[str, str], int]]:
    """Rack sizes of the whole topology, shuffled, again from the start when all are used; the last one is cut."""
    sizes = draw.shuffled(list(traces.lingjun_racks(data).values()))
    found: list[tuple[tuple[str, str], int]] = []
    total = 0
    while total < nodes:
        hosts = min(sizes[len(found) % len(sizes)], nodes - total)
        found.append(((f"pod-{1 + total // POD_HOSTS}", f"rack-{1 + len(found)}"), hosts))
        total += hosts
    return found


def _take(draw: Draw, cluster: clusters.Cluster) -> None:
    """Take the share of all GPUs, each as likely as any other."""
    gpus = [node for node in cluster.nodes for _ in range(node["gpus"])]
    for node in draw.shuffled(gpus)[: round(TAKEN * len(gpus))]:
        node.setdefault("used", {"gpus": 0})["gpus"] += 1


def _document(description: str, cluster: clusters.Cluster, jobs: list[Part], special: str) -> Part:
    return document(
        description[0].upper() + description[1:],
        (LINGJUN, PHILLY, *A100_DATA, HBD),
        (
            "The cluster is made up of racks with the sizes of Lingjun's, in random order"
            f"{f', {POD_HOSTS} hosts to a pod' if 'pod' in cluster.levels else ''}.",
            LINGJUN_ASSUMPTION,
            f"Sizes: jobs of virtual clusters {' and '.join(VIRTUAL_CLUSTERS)} drawn without replacement until they "
            f"want {LOAD} times the free GPUs; none wants more than a quarter of these. The number in a job's name is "
            "its row in philly.csv, from 0.",
            special,
            *A100_ASSUMPTIONS,
            RECOVERY_ASSUMPTION,
            FAULT_ASSUMPTION,
        ),
        cluster,
        jobs,
    )
