"""Free GPUs that no waiting job could use (model.md, section 5: stranded).

A free GPU counts as usable when some unplaced job, alone and for whatever it would bring, could be placed in what is
free now with some of its workers on the GPU's node. Sets of counts are bits of one integer: bit x of a vertex says that
x workers can be below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from crop_cli.model.instance import Job, Node
from crop_cli.model.rules import TOLERANCE
from crop_cli.model.topology import Topology, Vertex

UplinkFits = Callable[[Job, Vertex, int], bool]
"""Whether the uplink of a vertex has the bandwidth that a job needs with x of its workers below."""


def stranded_gpus(
    topology: Topology, unplaced: list[Job], free: Mapping[str, Mapping[str, float]], uplink_fits: UplinkFits
) -> int:
    """Free GPUs on nodes that are up and that no unplaced job could use; 0 when no job waits.

    Parameters
    ----------
    topology
        The cluster by names.
    unplaced
        Jobs that wait.
    free
        What is left of every resource of every node, by node name and resource name ("gpus" among them).
    uplink_fits
        Test of a job's reservation on what an uplink has left.
    """
    if not unplaced:
        return 0
    idle = {n.name for n in topology.nodes.values() if n.state == "up" and free[n.name]["gpus"] > 0.5}
    total = sum(round(free[name]["gpus"]) for name in idle)
    useless = set(idle)
    tried: set[object] = set()
    for job in unplaced:
        key = _needs(job)
        if job.gpus > total or key in tried or not useless:
            continue
        tried.add(key)
        caps = {name: _cap(job, topology.nodes[name], free[name]) for name in idle}
        if any(caps[name] for name in useless):
            useless -= _usable_nodes(topology, job, caps, uplink_fits)
    return sum(round(free[name]["gpus"]) for name in useless)


def _needs(job: Job) -> object:
    """Equal for jobs that need the same: only then one trial speaks for both."""
    return (
        job.gpus,
        tuple(sorted(job.compute_s)) if isinstance(job.compute_s, dict) else None,
        tuple(sorted(job.resources_per_gpu.items())),
        job.message_mb,
        job.pattern,
        job.overlap,
        str(job.compute_s),
        job.within,
        job.segment,
        job.spread,
        job.gpus_per_node,
    )


def _cap(job: Job, node: Node, free: Mapping[str, float]) -> int:
    """Most workers that the node could take, by resources and type."""
    if isinstance(job.compute_s, dict) and node.gpu_type not in job.compute_s:
        return 0
    cap = min(job.gpus, round(free["gpus"]))
    for r, amount in job.resources_per_gpu.items():
        if amount > 0 and r != "gpus":
            slack = TOLERANCE * max(1.0, node.resources.get(r, 0.0))
            cap = min(cap, max(0, int((free.get(r, 0.0) + slack) / amount)))
    if job.gpus_per_node is not None:
        return job.gpus_per_node if cap >= job.gpus_per_node else 0
    return max(0, cap)


def _usable_nodes(topology: Topology, job: Job, caps: dict[str, int], uplink_fits: UplinkFits) -> set[str]:
    """Nodes that hold workers in some placement of the job; none if it cannot be placed at all.

    Bottom-up over the tree: which counts are attainable below every vertex. Then top-down: which of them are part of a
    placement of all workers.
    """
    attainable: dict[Vertex, int] = {}
    for name, cap in caps.items():
        if cap:
            counts = 1 | 1 << cap if job.gpus_per_node is not None else (1 << (cap + 1)) - 1
            leaf = topology.chain[name][-1]
            attainable[leaf] = _allowed(job, leaf, counts, uplink_fits)
    children: dict[Vertex | None, list[Vertex]] = {}
    layer = list(attainable)
    for _ in topology.levels:
        above: dict[Vertex, int] = {}
        for vertex in layer:
            parent = topology.parent(vertex)
            children.setdefault(parent, []).append(vertex)
            if parent is not None:
                above[parent] = _sumset(above.get(parent, 1), attainable[vertex]) & _up_to(job.gpus)
        layer = list(above)
        attainable |= {vertex: _allowed(job, vertex, counts, uplink_fits) for vertex, counts in above.items()}
    usable: set[str] = set()
    todo: list[tuple[Vertex | None, int]] = [(None, 1 << job.gpus)]
    while todo:
        domain, wanted = todo.pop()
        below = children.get(domain, [])
        if domain is not None and not below:
            usable.add(domain.name)
        shares = _shares(wanted, [attainable[child] for child in below])
        todo += [(child, share) for child, share in zip(below, shares, strict=True) if share > 1]
    return usable


def _shares(wanted: int, parts: list[int]) -> list[int]:
    """Of each set, the counts that together with one of every other set add up to a wanted count."""
    sums = [1]
    for part in parts:
        sums.append(_sumset(sums[-1], part) & _up_to(wanted.bit_length()))
    shares = []
    for before, part in zip(reversed(sums[:-1]), reversed(parts), strict=True):
        share = still_wanted = 0
        for x in _members(part):
            if before << x & wanted:
                share |= 1 << x
            still_wanted |= wanted >> x
        shares.append(share)
        wanted = still_wanted
    return shares[::-1]


def _up_to(x: int) -> int:
    """The set of 0 to x."""
    return (1 << (x + 1)) - 1


def _members(counts: int) -> Iterator[int]:
    """The counts of a set, upwards."""
    while counts:
        low = counts & -counts
        yield low.bit_length() - 1
        counts ^= low


def _sumset(a: int, b: int) -> int:
    """All sums of a count of `a` and a count of `b`."""
    if a.bit_count() < b.bit_count():
        a, b = b, a
    total = 0
    for x in _members(b):
        total |= a << x
    return total


def _allowed(job: Job, vertex: Vertex, counts: int, uplink_fits: UplinkFits) -> int:
    """Counts of a set that the shape constraints and the vertex's uplink allow."""
    kept = counts
    for x in range(1, counts.bit_length()):
        if counts >> x & 1 and not (
            _shape_allows(job, vertex.level, x) and (x == job.gpus or uplink_fits(job, vertex, x))
        ):
            kept &= ~(1 << x)
    return kept


def _shape_allows(job: Job, level: str, x: int) -> bool:
    return not (
        (job.within == level and x != job.gpus)
        or (job.segment is not None and job.segment.level == level and x % job.segment.gpus)
        or (job.spread is not None and job.spread.level == level and x > job.spread.max_gpus)
    )
