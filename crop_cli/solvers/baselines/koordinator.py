"""Koordinator: the smallest domain of the lowest layer that holds the gang, below it most slots first.

`within` is Koordinator's layer to gather in, `segment` its multiple of pods per layer. A node is not counted for more
than the gang. Slots are handed out parent by parent, and the last domain is not chosen to fit what is left.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.view import View


@job_by_job(source="Koordinator, pkg/scheduler/plugins/coscheduling/core/network_topology_solver.go")
def place(job: int, view: View) -> Counts | None:
    """The candidate with fewest slots, filled from its largest child on."""
    capacity = Capacity.of(view, job, per_node=view.problem.kind(job).k)
    if not capacity.fits:
        return None
    return capacity.on_nodes(_distribute(capacity, _candidate(capacity), capacity.k))


def _candidate(capacity: Capacity) -> int:
    """Of the lowest layer with a domain that holds the gang: fewest slots, then those of the parent, and so on up."""
    depth = capacity.tree.max_depth
    while depth > capacity.within and capacity.room[capacity.at(depth)].max() < capacity.k:
        depth -= 1
    vertices = capacity.at(depth)
    vertices = vertices[capacity.room[vertices] >= capacity.k]
    slots, above = [], vertices
    for _ in range(depth + 1):
        slots.append(capacity.room[above])
        above = capacity.tree.parent[above]
    return int(vertices[np.lexsort((vertices, *reversed(slots)))[0]])


def _distribute(capacity: Capacity, vertex: int, total: int) -> dict[int, int]:
    """Children with most slots first, every one filled by itself."""
    depth = int(capacity.tree.depth[vertex])
    if depth == capacity.tree.max_depth:
        return {vertex: total}
    children = capacity.below(vertex, depth + 1)
    order = children[np.argsort(-capacity.room[children], kind="stable")]
    counts: dict[int, int] = {}
    for child, share in capacity.in_order(order.tolist(), total).items():
        counts.update(_distribute(capacity, child, share))
    return counts
