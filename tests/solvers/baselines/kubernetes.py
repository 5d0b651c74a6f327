"""Clusters as nested lists of free GPUs, for the worked examples of Kubernetes schedulers."""

from __future__ import annotations

from typing import Any

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Segment, Spread, Switch
from crop_cli.model.problem import Placement, compile_problem
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.queueing.baseline import Baseline

Racks = list[list[int]]
"""Free GPUs of the nodes of every rack."""

__all__ = ["Racks", "Segment", "Spread", "counts", "in_pods", "in_racks", "solve"]


def in_racks(racks: Racks, *, used: Racks | None = None) -> Cluster:
    """Racks A, B, ... with nodes A1, A2, ...; `used` GPUs are there besides the free ones."""
    names = _names(len(racks))
    taken = used or [[0] * len(rack) for rack in racks]
    return Cluster(
        levels=["rack", "node"],
        switches=[Switch(name=name, level="rack") for name in names],
        nodes=[
            Node(name=f"{name}{i}", gpus=free + busy, used={"gpus": busy}, parent=name)
            for name, rack, load in zip(names, racks, taken, strict=True)
            for i, (free, busy) in enumerate(zip(rack, load, strict=True), start=1)
        ],
    )


def in_pods(pods: list[Racks]) -> Cluster:
    """Pods P1, P2, ... of racks, which are named on through all pods."""
    flat = in_racks([rack for pod in pods for rack in pod])
    parents = [f"P{p}" for p, pod in enumerate(pods, start=1) for _ in pod]
    return Cluster(
        levels=["pod", *flat.levels],
        switches=[Switch(name=f"P{p}", level="pod") for p in range(1, len(pods) + 1)]
        + [
            Switch(name=switch.name, level="rack", parent=parent)
            for switch, parent in zip(flat.switches, parents, strict=True)
        ],
        nodes=flat.nodes,
    )


def solve(rule: Baseline, instance: Instance) -> Placement:
    """What a baseline answers."""
    answer = rule(compile_problem(instance), Request(), Budget(), lambda _: None)
    assert answer.placement is not None
    return answer.placement


def counts(rule: Baseline, cluster: Cluster, gpus: int, **constraints: Any) -> list[int]:
    """Workers of one job per node, in the order of the file; empty if it waits."""
    job = Job(name="job", gpus=gpus, **constraints)
    placed = solve(rule, Instance(format=FORMAT, cluster=cluster, jobs=[job]))
    return [placed[0].get(n, 0) for n in range(len(cluster.nodes))] if placed else []


def _names(many: int) -> list[str]:
    """A, B, ... as far as the alphabet goes, else r01, r02, ..., so that names are in order."""
    return [chr(ord("A") + i) for i in range(many)] if many <= 26 else [f"r{i:02}-" for i in range(1, many + 1)]
