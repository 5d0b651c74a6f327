"""Kueue BestFit: tightest domain that holds the gang, else largest ones first and the tightest last.

`within` is Kueue's required topology, `segment` its slices; other jobs prefer the level just above the nodes. All
children of all chosen domains are pooled on the way down, so that racks come before nodes: few racks, then few nodes.
"""

from __future__ import annotations

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.pooled import place_best_fit
from crop_cli.solvers.queueing.view import View


@job_by_job(source="Kueue, pkg/cache/scheduler/tas_flavor_snapshot.go; keps/2724-topology-aware-scheduling (BestFit)")
def place(job: int, view: View) -> Counts | None:
    """Required or preferred topology with BestFit."""
    capacity = Capacity.of(view, job)
    return place_best_fit(capacity) if capacity.fits else None
