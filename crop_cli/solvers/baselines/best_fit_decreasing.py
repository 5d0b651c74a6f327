"""Best fit decreasing: largest gangs first, in the tightest domain of the lowest level that holds them.

Best fit decreasing of bin packing (Johnson, 1973) with domains as bins: a gang goes to the domain with the fewest free
slots among those of the lowest level that hold all of it. Inside, the fullest domains and nodes are filled first.
Jobs that must run come before all others.
"""

from __future__ import annotations

from crop_cli.model.problem import Counts, Placement
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.queueing.baseline import Queue, whole_queue
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.counts import descend
from crop_cli.solvers.queueing.domains import lowest_holders
from crop_cli.solvers.queueing.scratch import one_by_one
from crop_cli.solvers.queueing.view import View


@whole_queue(source="D. S. Johnson, Near-optimal bin packing algorithms, PhD thesis, MIT, 1973")
def place(queue: Queue, view: View, budget: Budget) -> Placement:
    """Gangs by size, descending; equal ones in queue order."""
    problem = view.problem
    ordered = sorted(queue, key=lambda job: (not problem.must_place[job], -problem.kind(job).k))
    return one_by_one(ordered, view, budget, _tightest)


def _tightest(job: int, view: View) -> Counts | None:
    """The tightest domain, and in it the fullest nodes; the first of equals."""
    sets = view.sets(job)
    domains = lowest_holders(view, job, sets)
    if not domains:
        return None

    slots = Capacity.of(view, job).pods

    def by_free(vertices: list[int]) -> list[int]:
        return sorted(vertices, key=lambda v: int(slots[v]))

    domain = by_free(domains)[0]
    return descend(view.problem.tree, sets, domain, view.problem.kind(job).k, by_free)
