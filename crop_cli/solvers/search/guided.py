"""The price-guided greedy: jobs in the order of what they are worth at the prices, each where it leaves most of it.

At the prices of the placement LP a job's value is what it adds beyond what it takes from others. The order by value
puts jobs first that every good placement has, and the prices break the ties between places: of two that are as good for
the job, it takes the one that others want less.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placement
from crop_cli.solvers.state import State

MOST = 150_000
"""Jobs times nodes above which it is left out: seconds of the oracle that the local search uses better."""


def guided(problem: Problem, prices: Prices, values: FloatArray, budget: Budget) -> Placement | None:
    """A placement by one pass over the jobs.

    Parameters
    ----------
    problem, prices
        The compiled instance, and prices of its nodes and uplinks.
    values
        (J) every job's best value at the prices.
    budget
        The run's.

    Returns
    -------
    Placement or None
        None if a job that must run found no place, there would be too much to do, or the budget ended.
    """
    jobs = problem.open_jobs
    if len(jobs) * problem.n_nodes > MOST:
        return None
    state, placement = State.empty(problem), {}
    sizes = np.array([problem.kind(j).k for j in jobs.tolist()], dtype=np.float64)
    order = np.lexsort((-sizes, -values[jobs], ~problem.must_place[jobs]))
    for job in jobs[order].tolist():
        if budget.should_stop:
            return None
        best = best_placement(problem, job, state.free, state.uplink_free, prices)
        if best is None and problem.must_place[job]:
            return None
        if best is not None and (best.utility > 0 or problem.must_place[job]):
            placement[job] = best.counts
            state.take(job, best.counts)
    return placement
