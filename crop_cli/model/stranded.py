"""Free GPUs that no waiting job could use (model.md, section 5: stranded).

A free GPU counts as usable when some unplaced job, alone and for whatever it would bring, could be placed in what is
free now, and the GPU's node and every domain around it could hold some of its workers. Sets of attainable counts are
bits of one integer: bit x of a vertex says that x workers can be below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crop_cli.model.instance import Job, Node
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
            cap = min(cap, int((free.get(r, 0.0) + 1e-9) / amount * (1 + 1e-12)))
    if job.gpus_per_node is not None:
        return job.gpus_per_node if cap >= job.gpus_per_node else 0
    return max(0, cap)


def _usable_nodes(topology: Topology, job: Job, caps: dict[str, int], uplink_fits: UplinkFits) -> set[str]:
    """Nodes whose every domain can hold some of the job, if all of it can be placed at all; else none.

    Bottom-up over the tree: which counts are attainable below every vertex, and whether k is at the root.
    """
    k = job.gpus
    mask = (1 << (k + 1)) - 1
    below: dict[Vertex, int] = {}
    for name, cap in caps.items():
        if cap:
            counts = 1 | 1 << cap if job.gpus_per_node is not None else (1 << (cap + 1)) - 1
            leaf = topology.chain[name][-1]
            below[leaf] = _allowed(job, leaf, counts, uplink_fits)
    holds = {vertex for vertex, counts in below.items() if counts > 1}
    for _ in range(len(topology.levels) - 1):
        above: dict[Vertex, int] = {}
        for vertex, counts in below.items():
            parent = topology.parent(vertex)
            if parent is not None:
                above[parent] = _sumset(above.get(parent, 1), counts) & mask
        below = {vertex: _allowed(job, vertex, counts, uplink_fits) for vertex, counts in above.items()}
        holds |= {vertex for vertex, counts in below.items() if counts > 1}
    root = 1
    for counts in below.values():
        root = _sumset(root, counts) & mask
    if not root >> k & 1:
        return set()
    return {name for name, cap in caps.items() if cap and holds.issuperset(topology.chain[name])}


def _sumset(a: int, b: int) -> int:
    """Bits of all sums of a bit of `a` and a bit of `b`."""
    if a.bit_count() < b.bit_count():
        a, b = b, a
    total = 0
    while b:
        low = b & -b
        total |= a << (low.bit_length() - 1)
        b ^= low
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
