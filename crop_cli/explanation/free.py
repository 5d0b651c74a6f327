"""The fewest GPUs that have to become free for a job to fit, and where: a (min,+) dynamic program over the tree.

Workers below a vertex cost what they lack: on a node, those beyond the room that is there now. Counts that the job's
shape or the uplinks' free bandwidth forbid cost infinitely much. The sum at the root is the minimum over all places.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from crop_cli.explanation.answers import Change
from crop_cli.explanation.scene import Fixed
from crop_cli.model.instance import Cluster
from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Counts, FloatArray, IntArray, Problem
from crop_cli.names import compress, number, plural
from crop_cli.solvers.fits import Room
from crop_cli.solvers.oracle import best_placement

PER_NODE, PER_USE = 1e-5, 1e-9
"""Among equals: GPUs on fewer nodes, then fewer nodes altogether. Small enough never to outweigh a GPU."""

MOST_NAMED = 4
"""Nodes and jobs that are named one by one."""

MOST_TRIED = 16
"""Nodes on which one GPU less is tried."""


@dataclass(frozen=True, slots=True)
class Cheapest:
    """Cheapest costs of a vertex's workers by count, and how many of them each child (vertex, count) has then."""

    cost: FloatArray
    children: tuple[int, ...] = ()
    taken: tuple[IntArray, ...] = ()


def fewest(problem: Problem, kind: Kind, now: IntArray, whole: IntArray, uplink_free: FloatArray) -> Counts | None:
    """The place for which the fewest workers lack room.

    Parameters
    ----------
    problem, kind
        The compiled instance and the job's kind.
    now, whole
        (N) workers for which each node has room now, and for which it would have if it were empty.
    uplink_free
        (V) Gbit/s that the job may reserve.

    Returns
    -------
    Counts or None
        None if no place exists whatever becomes free on nodes.
    """
    tree, k = problem.tree, kind.k
    tables: dict[int, Cheapest] = {}
    for n in np.flatnonzero(whole > 0).tolist():
        workers = np.arange(min(k, int(whole[n])) + 1)
        lacking = np.maximum(0, workers - now[n])
        cost = lacking + PER_NODE * (lacking > 0) + PER_USE * (workers > 0)
        tables[tree.node_vertex + n] = _limited(problem, kind, tree.node_vertex + n, Cheapest(cost), uplink_free)
    layer = tables
    for depth in range(tree.max_depth, 0, -1):
        groups: dict[int, list[int]] = {}
        for v in layer:
            groups.setdefault(int(tree.parent[v]), []).append(v)
        layer = {}
        for above, children in groups.items():
            joined = _joined(children, [tables[v] for v in children], k)
            layer[above] = joined if depth == 1 else _limited(problem, kind, above, joined, uplink_free)
        tables |= layer
    if 0 not in tables or len(tables[0].cost) <= k or not np.isfinite(tables[0].cost[k]):
        return None
    counts: Counts = {}
    todo = [(0, k)]
    while todo:
        v, x = todo.pop()
        if v >= tree.node_vertex:
            counts[v - tree.node_vertex] = x
            continue
        for child, taken in zip(reversed(tables[v].children), reversed(tables[v].taken), strict=True):
            here = int(taken[x])
            if here:
                todo.append((child, here))
            x -= here
    return dict(sorted(counts.items()))


def _limited(problem: Problem, kind: Kind, vertex: int, table: Cheapest, uplink_free: FloatArray) -> Cheapest:
    """Counts that shape or uplink forbid cost infinitely much."""
    size = len(table.cost)
    rate = kind.link_rate[problem.link_of[vertex], :size]
    room = max(0.0, float(uplink_free[vertex] + problem.uplink_slack[vertex]))
    ok = kind.allowed[problem.tree.depth[vertex], :size] & (rate <= room)
    return Cheapest(np.where(ok, table.cost, np.inf), table.children, table.taken)


def _joined(vertices: list[int], tables: list[Cheapest], k: int) -> Cheapest:
    """Cheapest costs of the sum of the children's counts, up to k."""
    cost = np.zeros(1)
    taken = []
    for table in tables:
        size = min(k, len(cost) + len(table.cost) - 2) + 1
        best, choice = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
        for x in np.flatnonzero(np.isfinite(table.cost)).tolist():
            end = min(size, x + len(cost))
            offered = cost[: end - x] + table.cost[x]
            better = offered < best[x:end]
            best[x:end][better] = offered[better]
            choice[x:end][better] = x
        cost = best
        taken.append(choice)
    return Cheapest(cost, tuple(vertices), tuple(taken))


def to_free(fixed: Fixed) -> Change | None:
    """The fewest GPUs to free, with what its workers need beside them; None where that alone does not admit it."""
    problem, index = fixed.problem, fixed.index
    kind = problem.kind(index)
    now, whole = fixed.room.usable(kind), Room.whole(problem).usable(kind)
    counts = fewest(problem, kind, now, np.maximum(now, whole), problem.uplink_free)
    if counts is None:
        return None
    lacking = {n: x - int(now[n]) for n, x in counts.items() if x > now[n]}
    if not lacking:
        return None
    place = fixed.with_cluster(_freed(fixed, counts)).admits()
    if place is None:
        return None
    gpus = {problem.node_names[n]: float(x) for n, x in lacking.items()}
    total = sum(lacking.values())
    return Change(
        kind="free",
        what="room for workers",
        amount=total,
        on=gpus,
        text=_text(fixed, counts, lacking),
        place=place,
        minimal=_minimal(fixed, counts, list(lacking)[:MOST_TRIED]),
        verified=True,
    )


def _lack(problem: Problem, index: int, counts: Counts) -> FloatArray:
    """(N, R) what every node lacks for the workers."""
    lack = np.zeros_like(problem.free)
    for n, x in counts.items():
        lack[n] = np.maximum(0.0, x * problem.kind(index).demand - problem.free[n])
    return lack


def _freed(fixed: Fixed, counts: Counts) -> Cluster:
    """The cluster with so much more room: to a job it is the same whether others leave or a node has more."""
    problem = fixed.problem
    lack = _lack(problem, fixed.index, counts)
    nodes = []
    for node in fixed.instance.cluster.nodes:
        more = lack[problem.node_index[node.name]]
        resources = dict(node.resources)
        for r, name in enumerate(problem.resources[1:], start=1):
            if more[r] > 0:
                resources[name] = resources.get(name, 0.0) + float(more[r])
        nodes.append(msgspec.structs.replace(node, gpus=node.gpus + round(float(more[0])), resources=resources))
    return msgspec.structs.replace(fixed.instance.cluster, nodes=nodes)


def _minimal(fixed: Fixed, counts: Counts, nodes: list[int]) -> bool:
    """Whether one worker's room less, on any of the nodes, leaves no place at all."""
    problem, index = fixed.problem, fixed.index
    for n in nodes:
        less = {**counts, n: counts[n] - 1}
        free = problem.free + _lack(problem, index, less)
        if best_placement(problem, index, free, problem.uplink_free) is not None:
            return False
    return True


def _text(fixed: Fixed, counts: Counts, lacking: dict[int, int]) -> str:
    problem = fixed.problem
    lack = _lack(problem, fixed.index, counts)
    gpus = round(float(lack[:, 0].sum()))
    parts = [plural(gpus, "GPU")] if gpus else []
    parts += [
        f"{number(float(lack[:, r].sum()))} {name}"
        for r, name in enumerate(problem.resources)
        if r and lack[:, r].any()
    ]
    names = [problem.node_names[n] for n in lacking]
    where = f" on {compress(names)}"
    if 1 < len(names) <= MOST_NAMED:
        where = ": " + ", ".join(f"{x} on {problem.node_names[n]}" for n, x in lacking.items())
    holders = [
        job.name
        for job in fixed.instance.jobs[:-1]
        if job.placement is not None and not set(job.placement).isdisjoint(names)
    ]
    by = f"; held by {compress(holders, MOST_NAMED)}" if holders else ""
    return f"free {' and '.join(parts)}{where}{by}"
