"""Kueue's LeastFreeCapacity: nodes with least room first, so that the large ones stay free.

Kueue uses it for jobs without a topology request (since 0.15); a job with `within` is placed by BestFit. With `segment`
or `spread` the domains of that level are taken smallest first, then the nodes inside each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.pooled import descend_pooled, place_best_fit
from crop_cli.solvers.queueing.view import View


@job_by_job(
    source="Kueue, pkg/cache/scheduler/tas_flavor_snapshot.go; keps/2724-topology-aware-scheduling (LeastFreeCapacity)"
)
def place(job: int, view: View) -> Counts | None:
    """Unconstrained topology with LeastFreeCapacity."""
    capacity = Capacity.of(view, job)
    if not capacity.fits:
        return None
    if capacity.within:
        return place_best_fit(capacity)
    depth = capacity.bound_from(1)
    return descend_pooled(capacity, least_free(capacity, capacity.at(depth), capacity.k), depth, least_free)


def least_free(capacity: Capacity, vertices: NDArray[np.int64], total: int) -> dict[int, int]:
    """The smallest domain that holds everything; if there is none, smallest first."""
    room = capacity.room[vertices]
    order = vertices[np.lexsort((vertices, capacity.pods[vertices], room))]
    alone = order[capacity.room[order] >= total]
    return capacity.in_order((alone if len(alone) else order).tolist(), total)
