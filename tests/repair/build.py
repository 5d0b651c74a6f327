"""Small clusters with jobs that run, and their repairs."""

from __future__ import annotations

from typing import Any

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.repair.pinned import How
from crop_cli.repair.repair import Repaired, repair
from crop_cli.repair.scene import ByName, Running, failure_of
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.registry import ENGINES


def cluster(nodes: dict[str, int], racks: dict[str, str] | None = None, **fields: Any) -> Cluster:
    """Nodes with their GPUs, in racks if each is given one; other fields are those of all nodes."""
    if racks is None:
        return Cluster(levels=["node"], nodes=[Node(name=name, gpus=gpus, **fields) for name, gpus in nodes.items()])
    return Cluster(
        levels=["rack", "node"],
        switches=[Switch(name=name, level="rack") for name in dict.fromkeys(racks.values())],
        nodes=[Node(name=name, gpus=gpus, parent=racks[name], **fields) for name, gpus in nodes.items()],
    )


def job(name: str, gpus: int, **fields: Any) -> Job:
    """A job without communication that takes a second."""
    return Job(name=name, gpus=gpus, **fields)


def scene(where: Cluster, jobs: list[Job], held: ByName) -> Running:
    """Jobs that run where they are said to, which the evaluator accepts."""
    instance = Instance(format=FORMAT, name="small", cluster=where, jobs=jobs)
    assert evaluate(instance, held).feasible
    return Running(instance, held)


def how(solver: str | None = "auto", gap: float = 0.0) -> How:
    """An engine, or None for the oracle, with a minute."""
    return How(ENGINES[solver] if solver else None, Request(gap=gap), Budget(60), lambda _event: None)


def repaired(running: Running, *down: str, solver: str | None = "auto", minutes: float = 10.0) -> Repaired:
    """A repair after the failure of named vertices."""
    return repair(running, failure_of(running.instance.cluster, list(down)), how(solver), minutes)
