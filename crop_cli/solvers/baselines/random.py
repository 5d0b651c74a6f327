"""Random: domains and nodes in a random order, every one filled as far as the job's constraints allow.

The floor that every other rule has to beat. FGD's simulator ships it as a policy too (Weng et al., Beware of
Fragmentation, USENIX ATC 2023).
"""

from __future__ import annotations

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.counts import descend, holds
from crop_cli.solvers.queueing.view import View


@job_by_job(source="random policy of FGD's simulator: Q. Weng et al., Beware of Fragmentation, USENIX ATC 2023")
def place(job: int, view: View) -> Counts | None:
    """Nodes of a random walk down the tree; a new one for every job."""
    sets, k = view.sets(job), view.problem.kind(job).k
    if not holds(sets, 0, k):
        return None
    return descend(view.problem.tree, sets, 0, k, lambda children: view.rng.permutation(children).tolist())
