"""Instances for tests of column generation."""

from __future__ import annotations

from collections.abc import Sequence

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.contract import Budget


def racks(free: Sequence[Sequence[int]], jobs: list[Job], **of_nodes: object) -> Instance:
    """Racks of nodes with 8 GPUs of which so many are free; keywords are fields of the nodes."""
    nodes = [
        Node(name=f"n{r}-{i}", parent=f"r{r}", gpus=8, used={"gpus": 8 - x}, **of_nodes)  # type: ignore[arg-type]
        for r, rack in enumerate(free)
        for i, x in enumerate(rack)
    ]
    switches = [Switch(name=f"r{r}", level="rack", uplink_gbps=400.0) for r in range(len(free))]
    cluster = Cluster(levels=["rack", "node"], switches=switches, nodes=nodes)
    return Instance(format=FORMAT, name="racks", cluster=cluster, jobs=jobs)


def job(name: str, gpus: int, **fields: object) -> Job:
    """A job with a gradient exchange that hides behind half of its computation."""
    return Job(
        name=name,
        gpus=gpus,
        **{"compute_s": 1.0, "message_mb": 100.0, "overlap": 0.5, **fields},  # type: ignore[arg-type]
    )


def whole_node_jobs(n: int) -> list[Job]:
    """Jobs of two whole nodes each that have to stay in a rack."""
    return [job(f"w{i}", 16, within="rack", gpus_per_node=8) for i in range(n)]


def problem_of(instance: Instance) -> Problem:
    """Compiled."""
    return compile_problem(instance)


class Looks(Budget):
    """A budget that ends at the n-th look at it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    @property
    def should_stop(self) -> bool:
        self.looks -= 1
        return self.looks < 0
