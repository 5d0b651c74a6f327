"""How many more nodes like one that exists would admit a job, with all others where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from crop_cli.explanation.answers import Change, Place
from crop_cli.explanation.scene import Fixed
from crop_cli.model.instance import Cluster, Node
from crop_cli.names import plural
from crop_cli.solvers.fits import Fit

Stop = Callable[[], bool]

MOST_TYPES = 3
"""Types of nodes that are tried, the most frequent first."""

MOST_NODES = 4096
"""Nodes beyond which no number is tried."""


def more_nodes(fixed: Fixed, stop: Stop) -> Iterator[Change]:
    """For each type of node that the job could use, the smallest number to add to one domain.

    Two domains are tried: the one with nodes of that type in which most of the job's workers have room now, and a new
    one beside it. The smaller number is reported.
    """
    for template in _templates(fixed)[:MOST_TYPES]:
        best: Change | None = None
        for parent, new in _parents(fixed, template):
            if stop():
                return
            found = _smallest(fixed, template, parent, stop, new=new)
            if found is not None and (best is None or float(str(found.amount)) < float(str(best.amount))):
                best = found
        if best is not None:
            yield best


def _templates(fixed: Fixed) -> list[Node]:
    """One node of each type that can hold a worker, the most frequent type first.

    Of nodes that differ in slowdown and failures alone, the soundest stands for the type.
    """
    problem = fixed.problem
    usable = np.isfinite(problem.kind(fixed.index).compute_s[problem.hardware_of])
    types: dict[object, list[Node]] = {}
    for node in fixed.instance.cluster.nodes:
        if usable[problem.node_index[node.name]] and _holds(fixed, node) > 0:
            types.setdefault(_type(node), []).append(node)
    ranked = sorted(types.values(), key=len, reverse=True)
    return [min(nodes, key=lambda node: (node.slowdown, node.failures_per_day)) for nodes in ranked]


def _type(node: Node) -> object:
    """Equal for nodes that were bought alike."""
    resources = tuple(sorted(node.resources.items()))
    return node.gpus, node.gpu_type, node.gpu_link_gbps, node.fabric_gbps, node.uplink_gbps, resources


def _holds(fixed: Fixed, node: Node) -> int:
    """Workers that an empty node of a type holds, shape constraints on nodes included."""
    job = fixed.job
    most = min(node.gpus, job.gpus)
    for name, amount in job.resources_per_gpu.items():
        if amount > 0 and name != "gpus":
            most = min(most, int(node.resources.get(name, 0.0) * (1 + 1e-9) / amount))
    allowed = fixed.problem.kind(fixed.index).allowed[-1]
    return int(np.flatnonzero(allowed[: most + 1]).max())


def _parents(fixed: Fixed, template: Node) -> list[tuple[str | None, bool]]:
    """Domains to add to: (switch, whether it is copied); None is the cluster itself."""
    cluster, problem = fixed.instance.cluster, fixed.problem
    if len(cluster.levels) == 1:
        return [(None, False)]
    tree = problem.tree
    like = [problem.node_index[node.name] for node in cluster.nodes if _type(node) == _type(template)]
    kind = problem.kind(fixed.index)
    vertices = sorted({int(tree.parent[tree.node_vertex + n]) for n in like})
    best, _ = Fit(fixed.room, kind).attainable(kind.allowed, uplinks=True).most(vertices)
    name = tree.names[best if best >= 0 else vertices[0]]
    return [(name, False), (name, True)]


def _smallest(fixed: Fixed, template: Node, parent: str | None, stop: Stop, *, new: bool) -> Change | None:
    """The smallest number by doubling and halving; what fits with some nodes fits with more of them."""
    enough = -(-fixed.job.gpus // _holds(fixed, template))

    def place(count: int) -> Place | None:
        return fixed.with_cluster(_grown(fixed.instance.cluster, template, parent, count, new=new)).admits()

    low, high, found = 0, 1, None
    while not stop() and high <= MOST_NODES:
        found = place(high)
        if found is not None or high >= enough:
            break
        low, high = high, min(2 * high, enough)
    if found is None:
        return None
    while high - low > 1 and not stop():
        middle = (low + high) // 2
        better = place(middle)
        if better is None:
            low = middle
        else:
            high, found = middle, better
    above = fixed.instance.cluster.levels[-2] if parent is not None else ""
    where = "" if parent is None else f" in a new {above} like {parent}" if new else f" in {above} {parent}"
    return Change(
        kind="nodes",
        what=template.name,
        amount=high,
        on={parent or "cluster": high},
        text=f"{plural(high, 'more node')} like {template.name} ({_described(template)}){where}",
        place=found,
        minimal=high - low == 1,
        verified=True,
    )


def _described(node: Node) -> str:
    return f"{plural(node.gpus, 'GPU')} of type {node.gpu_type}"


def _grown(cluster: Cluster, template: Node, parent: str | None, count: int, *, new: bool) -> Cluster:
    """The cluster with empty nodes added, below a switch or below a copy of it."""
    switches, above = list(cluster.switches), parent
    if new:
        above = _unused("new-switch", {switch.name for switch in switches})
        model = next(switch for switch in switches if switch.name == parent)
        switches.append(msgspec.structs.replace(model, name=above))
    first = _unused("new-node", {node.name for node in cluster.nodes})
    plain = msgspec.structs.replace(template, parent=above, used={}, state="up")
    nodes = [msgspec.structs.replace(plain, name=f"{first}-{i}") for i in range(1, count + 1)]
    return msgspec.structs.replace(cluster, switches=switches, nodes=[*cluster.nodes, *nodes])


def _unused(name: str, taken: set[str]) -> str:
    """A name with which no other begins."""
    while any(other.startswith(name) for other in taken):
        name += "+"
    return name
