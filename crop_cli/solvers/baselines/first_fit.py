"""First fit: nodes in their order, every one filled as far as the job's constraints allow.

The oldest packing rule there is (Johnson, Near-optimal bin packing algorithms, 1973), with gangs: a job takes what it
finds on the way through the cluster, or waits.
"""

from __future__ import annotations

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.counts import descend, holds
from crop_cli.solvers.queueing.view import View


@job_by_job(source="D. S. Johnson, Near-optimal bin packing algorithms, PhD thesis, MIT, 1973")
def place(job: int, view: View) -> Counts | None:
    """The first nodes that hold the gang."""
    sets, k = view.sets(job), view.problem.kind(job).k
    if not holds(sets, 0, k):
        return None
    return descend(view.problem.tree, sets, 0, k, lambda children: children)
