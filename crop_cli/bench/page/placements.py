"""Clusters and placements as compact lists of numbers, as many as the page has room for.

A page can hold thousands of placements. Each instance embeds one per solver (that of the highest F), as positions in
the instance's lists of jobs and nodes, with neighbouring nodes of equal counts folded. Instances above `MOST_NODES`
nodes or `MOST_PAIRS` node and job pairs are not drawn; what is left is taken by size until `BUDGET` is spent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crop_cli.bench.records import Run
from crop_cli.model.instance import Cluster, Instance

MOST_NODES = 1_100
MOST_PAIRS = 2_000_000
BUDGET = 6_000_000
"""Characters of all clusters and placements together."""

_STATES = {"up": "u", "drained": "d", "down": "x"}


@dataclass(slots=True)
class Drawings:
    """What the page can draw.

    Attributes
    ----------
    clusters, placements
        Encoded cluster per instance; per instance and solver its encoded placement.
    left_out
        Why an instance with placements has no drawing.
    """

    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    placements: dict[str, dict[str, list[list[int]]]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def drawings(runs: Iterable[Run], instances: Mapping[str, Instance], budget: int = BUDGET) -> Drawings:
    """Encode the best placement of every solver on every instance, small instances first, within the budget.

    Parameters
    ----------
    runs
        All runs, in any order; of several by one solver on one instance the one with the highest F is drawn.
    instances
        By `Run.instance`; may lack some.
    budget
        Characters of JSON that may be spent.
    """
    result = Drawings()
    best = _best(runs)
    sizes = {name: _pairs(instances[name]) for name in best if name in instances}
    for name in best.keys() - sizes.keys():
        result.left_out[name] = "the instance file was not at hand"
    spent = 0
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        instance = instances[name]
        nodes = len(instance.cluster.nodes)
        if nodes > MOST_NODES or sizes[name] > MOST_PAIRS:
            result.left_out[name] = f"too large to draw ({nodes:,} nodes, {len(instance.jobs):,} jobs)"
            continue
        cluster = encode_cluster(instance)
        codes = {solver: encode_placement(run.placement, instance) for solver, run in best[name].items()}
        cost = len(json.dumps([cluster, codes], separators=(",", ":")))
        if spent + cost > budget:
            result.left_out[name] = "the page's room for placements was spent on smaller instances"
            continue
        spent += cost
        result.clusters[name] = cluster
        result.placements[name] = codes
    return result


def encode_cluster(instance: Instance) -> dict[str, Any]:
    """The tree, nodes and jobs of an instance: one list per attribute, parents as positions (−1: the root)."""
    cluster = instance.cluster
    switches = {switch.name: k for k, switch in enumerate(cluster.switches)}
    return {
        "levels": cluster.levels,
        "switches": [[switch.name, switch.level, switches.get(switch.parent or "", -1)] for switch in cluster.switches],
        "nodes": [node.name for node in cluster.nodes],
        "parents": [switches.get(node.parent or "", -1) for node in cluster.nodes],
        "gpus": [node.gpus for node in cluster.nodes],
        "used": _used(cluster),
        "states": "".join(_STATES[node.state] for node in cluster.nodes),
        "types": [node.gpu_type for node in cluster.nodes]
        if len({node.gpu_type for node in cluster.nodes}) > 1
        else [],
        "jobs": [job.name for job in instance.jobs],
        "sizes": [job.gpus for job in instance.jobs],
    }


def encode_placement(placement: Mapping[str, Mapping[str, int]], instance: Instance) -> list[list[int]]:
    """Per placed job its position, then triples: first node, how many nodes from there on, workers on each.

    Jobs and nodes that the instance does not have are dropped.
    """
    nodes = {node.name: k for k, node in enumerate(instance.cluster.nodes)}
    jobs = {job.name: k for k, job in enumerate(instance.jobs)}
    coded = []
    for job, counts in placement.items():
        if job not in jobs:
            continue
        code = [jobs[job]]
        for node, count in sorted(
            (nodes[name], count) for name, count in counts.items() if name in nodes and count > 0
        ):
            if len(code) > 1 and node == code[-3] + code[-2] and count == code[-1]:
                code[-2] += 1
            else:
                code += [node, 1, count]
        coded.append(code)
    return coded


def _best(runs: Iterable[Run]) -> dict[str, dict[str, Run]]:
    """Per instance and solver the run whose placement has the highest F."""
    best: dict[str, dict[str, Run]] = {}
    for run in runs:
        if not run.placement:
            continue
        of_instance = best.setdefault(run.instance, {})
        other = of_instance.get(run.solver)
        if other is None or _value(run) > _value(other):
            of_instance[run.solver] = run
    return best


def _value(run: Run) -> float:
    return float("-inf") if run.objective is None else run.objective


def _pairs(instance: Instance) -> int:
    return len(instance.cluster.nodes) * max(1, len(instance.jobs))


def _used(cluster: Cluster) -> list[int]:
    """GPUs per node that others hold, whole ones."""
    return [round(node.used.get("gpus", 0)) for node in cluster.nodes]
