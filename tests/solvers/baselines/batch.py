"""Small clusters with some GPUs taken, and where a rule puts their jobs."""

from __future__ import annotations

from collections import Counter

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.registry import baselines

Places = dict[str, dict[str, int]]


def flat(free: list[int], jobs: list[Job], *, gpus: int = 8) -> Instance:
    """Nodes n0, n1, ... without switches, each with so many free GPUs of `gpus`."""
    nodes = [Node(name=f"n{i}", gpus=gpus, used={"gpus": float(gpus - f)}) for i, f in enumerate(free)]
    return Instance(format=FORMAT, cluster=Cluster(levels=["node"], nodes=nodes), jobs=jobs)


def racks(free: list[list[int]], jobs: list[Job], *, gpus: int = 8, pods: list[str] | None = None) -> Instance:
    """Racks r0, r1, ... of nodes r0n0, ... with so many free GPUs of `gpus`; `pods` names the pod of every rack."""
    nodes = [
        Node(name=f"r{r}n{i}", parent=f"r{r}", gpus=gpus, used={"gpus": float(gpus - f)})
        for r, rack in enumerate(free)
        for i, f in enumerate(rack)
    ]
    above = pods or [None] * len(free)
    switches = [Switch(name=f"r{r}", level="rack", parent=pod) for r, pod in enumerate(above)]
    switches += [Switch(name=pod, level="pod") for pod in dict.fromkeys(pods or [])]
    levels = ["pod", "rack", "node"] if pods else ["rack", "node"]
    return Instance(format=FORMAT, cluster=Cluster(levels=levels, switches=switches, nodes=nodes), jobs=jobs)


def whole_nodes(free: list[int], per_rack: int, jobs: list[Job], *, pods: list[str] | None = None) -> Instance:
    """Racks of `per_rack` nodes of 8 GPUs, of which so many are free and the others taken."""
    return racks([[8] * f + [0] * (per_rack - f) for f in free], jobs, pods=pods)


def places(solver: str, instance: Instance, **options: str) -> Places:
    """Nodes and workers of every job that the rule placed."""
    problem = compile_problem(instance)
    answer = baselines()[solver].load()(problem, Request(options=options), Budget(60.0), lambda _: None)
    return named(problem, answer.placement or {})


def nodes_per_rack(place: dict[str, int]) -> dict[str, int]:
    """How many nodes of each rack a job uses."""
    return dict(Counter(node.partition("n")[0] for node in place))
