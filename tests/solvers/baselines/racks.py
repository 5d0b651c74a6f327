"""Small clusters of racks for hand-computed examples, and one call that runs a baseline on them."""

from __future__ import annotations

from typing import Any

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import compile_problem
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.registry import baselines

Named = dict[str, dict[str, int]]


def racks(gpus: list[list[int]], *, changes: dict[str, dict[str, Any]] | None = None) -> Cluster:
    """Racks r0, r1, ... with nodes n0, n1, ... numbered through, of so many GPUs; `changes` has node fields by name."""
    nodes: list[Node] = []
    for r, row in enumerate(gpus):
        for count in row:
            name = f"n{len(nodes)}"
            fields = {"name": name, "parent": f"r{r}", "gpus": count, **(changes or {}).get(name, {})}
            nodes.append(Node(**fields))
    switches = [Switch(name=f"r{r}", level="rack") for r in range(len(gpus))]
    return Cluster(levels=["rack", "node"], switches=switches, nodes=nodes)


def jobs(*sizes: int, **fields: Any) -> list[Job]:
    """Jobs j0, j1, ... of so many GPUs, with the same fields."""
    return [Job(name=f"j{i}", gpus=k, **fields) for i, k in enumerate(sizes)]


def instance(cluster: Cluster, members: list[Job]) -> Instance:
    """An instance without further ado."""
    return Instance(format=FORMAT, cluster=cluster, jobs=members)


def run(name: str, given: Instance, *, seed: int = 0, **options: str) -> Named:
    """Where a baseline places the open jobs, by names."""
    problem = compile_problem(given)
    answer = baselines()[name].load()(problem, Request(seed=seed, options=options), Budget(30.0), lambda _: None)
    assert answer.placement is not None
    return {
        problem.job_names[job]: {problem.node_names[n]: x for n, x in sorted(counts.items())}
        for job, counts in sorted(answer.placement.items())
    }
