"""Small instances by hand for the greedy's tests, and the pieces of a run."""

from __future__ import annotations

import msgspec

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Objective, Switch
from crop_cli.model.problem import Problem
from crop_cli.solvers.contract import Budget, Event
from crop_cli.solvers.greedy.setting import Setting


def racks(sizes: list[list[int]], jobs: list[Job], **node: object) -> Instance:
    """A cluster of racks, each a list of its nodes' GPUs; every other field of the nodes is the same."""
    nodes, switches = [], []
    for r, gpus in enumerate(sizes):
        switches.append(Switch(name=f"r{r}", level="rack", uplink_gbps=100.0))
        for i, g in enumerate(gpus):
            fields = {"uplink_gbps": 100.0, **node}
            nodes.append(Node(name=f"r{r}n{i}", parent=f"r{r}", gpus=g, **fields))  # type: ignore[arg-type]
    cluster = Cluster(levels=["rack", "node"], switches=switches, nodes=nodes)
    return Instance(format=FORMAT, cluster=cluster, jobs=jobs, objective=Objective())


def flat(gpus: list[int], jobs: list[Job]) -> Instance:
    """A cluster of nodes without racks."""
    nodes = [Node(name=f"n{i}", gpus=g, uplink_gbps=100.0) for i, g in enumerate(gpus)]
    return Instance(format=FORMAT, cluster=Cluster(levels=["node"], nodes=nodes), jobs=jobs, objective=Objective())


def setting_of(problem: Problem) -> Setting:
    """A setting without limits whose events go nowhere."""
    return Setting.of(problem, 0.0, Budget(), ignore)


def ignore(_: Event) -> None:
    """A listener that does not listen."""


def copied(instance: Instance, times: int) -> Instance:
    """The instance with every vertex below the root copied, so that most domains have a twin; jobs stay as they are."""
    cluster, change = instance.cluster, msgspec.structs.replace
    switches, nodes = list(cluster.switches), list(cluster.nodes)
    for i in range(1, times):
        for switch in cluster.switches:
            above = None if switch.parent is None else f"{switch.parent}-{i}"
            switches.append(change(switch, name=f"{switch.name}-{i}", parent=above))
        for node in cluster.nodes:
            above = None if node.parent is None else f"{node.parent}-{i}"
            nodes.append(change(node, name=f"{node.name}-{i}", parent=above))
    return change(instance, cluster=change(cluster, switches=switches, nodes=nodes))
