"""How much wider uplinks must be for a job to fit with all others where they are.

More bandwidth lets the jobs that wait for it reserve more of it. What all of them reserve grows with what there is, so
going from need to need ends at the least bandwidth that will do for the place in question, or does not end.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from crop_cli.explanation.answers import Change
from crop_cli.explanation.scene import Fixed
from crop_cli.model.instance import Cluster, Job
from crop_cli.model.outcome import reservation_gbps
from crop_cli.model.problem import reserved_gbps
from crop_cli.model.topology import Topology, Vertex
from crop_cli.names import number
from crop_cli.solvers.oracle import best_placement

STEPS = 200
"""Most steps from need to need."""

ROUND_UP = 1e-4
"""Share by which the last need is exceeded, so that rounding does not decide."""

LESS = 0.01
"""Share of the added bandwidth that is left out to see whether less would do."""


def more_bandwidth(fixed: Fixed) -> Change | None:
    """The bandwidth that the job's best place without limits of uplinks needs; None where that does not admit it."""
    problem = fixed.problem
    best = best_placement(problem, fixed.index, problem.free, np.full(problem.tree.n_vertices, np.inf))
    if best is None:
        return None
    vertices, rates = reserved_gbps(problem, fixed.index, best.counts)
    short = vertices[rates > problem.uplink_free[vertices] + problem.uplink_slack[vertices]]
    if not len(short):
        return None
    tree = problem.tree
    named = [Vertex(tree.level_name(int(tree.depth[v])), tree.names[v]) for v in np.sort(short).tolist()]
    nodes = {problem.node_names[n]: x for n, x in best.counts.items()}
    wider = _needs(fixed, nodes, named)
    place = None if wider is None else fixed.with_cluster(_with(fixed.instance.cluster, wider)).admits()
    if wider is None or place is None:
        return None
    topology = Topology.of(fixed.instance.cluster)
    before = {v: float(topology.uplink_gbps[v] or 0.0) for v in wider}
    more = {v.name: gbps - before[v] for v, gbps in wider.items()}
    less = {v: before[v] + (1 - LESS) * (gbps - before[v]) for v, gbps in wider.items()}
    listed = [f"{number(gbps)} Gbit/s more on the uplink of {name}" for name, gbps in list(more.items())[:4]]
    rest = [f"on {len(more) - 4} other uplinks too"] if len(more) > 4 else []
    return Change(
        kind="bandwidth",
        what="uplink_gbps",
        amount=sum(more.values()),
        on=more,
        text=", ".join([*listed, *rest]),
        place=place,
        minimal=fixed.with_cluster(_with(fixed.instance.cluster, less)).admits() is None,
        verified=True,
    )


def _needs(fixed: Fixed, nodes: dict[str, int], short: list[Vertex]) -> dict[Vertex, float] | None:
    """Least bandwidth of each uplink for what is there and the job at the nodes."""
    topology = Topology.of(fixed.instance.cluster)
    users: dict[Vertex, list[tuple[Job, int]]] = {v: [] for v in short}
    for job in fixed.instance.jobs:
        where = nodes if job.name == fixed.job.name else job.placement
        for v, x in topology.counts_below(where or {}).items():
            if v in users and x < job.gpus:
                users[v].append((job, x))
    share = fixed.instance.cluster.oversubscription
    found = {}
    for v, jobs in users.items():
        gbps = float(topology.uplink_gbps[v] or 0.0)
        for _ in range(STEPS):
            need = math.fsum(reservation_gbps(topology, job, x, gbps) for job, x in jobs) / share
            if need <= gbps * (1 + ROUND_UP):
                break
            gbps = need
        else:
            return None
        found[v] = gbps * (1 + 2 * ROUND_UP)
    return found


def _with(cluster: Cluster, wider: dict[Vertex, float]) -> Cluster:
    """The cluster with these bandwidths."""
    node_level = cluster.levels[-1]
    return msgspec.structs.replace(
        cluster,
        nodes=[
            msgspec.structs.replace(n, uplink_gbps=wider.get(Vertex(node_level, n.name), n.uplink_gbps))
            for n in cluster.nodes
        ],
        switches=[
            msgspec.structs.replace(s, uplink_gbps=wider.get(Vertex(s.level, s.name), s.uplink_gbps))
            for s in cluster.switches
        ],
    )
