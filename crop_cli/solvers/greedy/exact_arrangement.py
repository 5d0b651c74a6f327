"""Exact arrangements of domains: the same question as the inner greedy's, put to an exact back end.

The linearisation of a domain has one column for each way to place a job; besides its utility, each of these columns is
charged with what the job has already. So the optimum is the largest Σ_j max(0, U_j − current_j).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from crop_cli.model.problem import FloatArray, Problem, utility
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.exact.coding import decode
from crop_cli.solvers.exact.linearise import linearise
from crop_cli.solvers.exact.linearised import Linearised
from crop_cli.solvers.exact.process import run_backend
from crop_cli.solvers.exact.solve import FLOAT_SAFETY, best_installed
from crop_cli.solvers.exact.sparse_model import SparseModel
from crop_cli.solvers.greedy.arrangement import Arrangement, ArrangementOracle
from crop_cli.solvers.greedy.finder import Place

PROOF = 1e-7
"""Gap, relative to the gain, that a back end may leave."""


class ExactArranger:
    """Arrangements with proof, starting from another oracle's.

    Parameters
    ----------
    problem
        The whole problem.
    oracle
        What is asked first; a back end only runs where its answer is not proved the best.
    ceiling
        From a vertex to the largest utility of each open job inside it: jobs that cannot gain are left out.
    domains
        Number of domains: each call may use an equal share of the time that is left.
    seed
        Of the back end.

    Raises
    ------
    UsageError
        If no back end is installed.
    """

    def __init__(
        self,
        problem: Problem,
        oracle: ArrangementOracle,
        ceiling: Callable[[int], FloatArray],
        domains: int,
        budget: Budget,
        seed: int,
    ) -> None:
        self.problem, self.oracle, self.ceiling, self.budget, self.seed = problem, oracle, ceiling, budget, seed
        self.waiting = domains
        self.back_end = best_installed()

    def __call__(self, vertex: int, current: FloatArray) -> Arrangement:
        """Best arrangement of the domain below a vertex, as far as time allows."""
        known = self.oracle(vertex, current)
        left = self.budget.remaining
        share = None if left is None else left / max(1, self.waiting)
        self.waiting -= 1
        if known.gain >= known.bound - PROOF * max(1.0, known.gain) or self.budget.should_stop:
            return known
        linearised = linearise(
            restrict(self.problem, vertex, current, self.ceiling(vertex)),
            {job: place.counts for job, place in known.places.items()},
        )
        result = run_backend(
            self.back_end,
            charge(linearised, current),
            time_limit=share,
            seed=self.seed,
            absolute_gap=PROOF * max(1.0, known.gain),
            should_stop=lambda: self.budget.interrupted,
        )
        bound = known.bound
        if result.bound is not None:
            bound = min(bound, -result.bound + FLOAT_SAFETY * max(1.0, abs(result.bound)))
        best = known
        if result.x is not None:
            found = {
                job: Place(counts, utility(self.problem, job, counts))
                for job, counts in decode(linearised, result.x).items()
            }
            places = {job: place for job, place in found.items() if place.utility > current[job]}
            gain = float(sum(place.utility - current[job] for job, place in places.items()))
            if gain > known.gain:
                best = Arrangement(places, gain, bound)
        return replace(best, bound=max(bound, best.gain))


def restrict(problem: Problem, vertex: int, current: FloatArray, ceiling: FloatArray) -> Problem:
    """The problem of one domain: nothing is free outside it, no job must run, jobs that cannot gain are left out.

    Jobs of one kind that have different utilities already become different kinds, so that none stands for another.
    """
    tree = problem.tree
    free = np.zeros_like(problem.free)
    nodes = slice(int(tree.first_node[vertex]), int(tree.end_node[vertex]))
    free[nodes] = problem.free[nodes]
    jobs = problem.open_jobs[ceiling > current[problem.open_jobs]]
    numbers: dict[tuple[int, float], int] = {}
    kind_of = problem.kind_of.copy()
    for job in jobs.tolist():
        key = (int(problem.kind_of[job]), float(current[job]))
        kind_of[job] = numbers.setdefault(key, len(numbers))
    return replace(
        problem,
        free=free,
        kinds=tuple(problem.kinds[kind] for kind, _ in numbers),
        kind_of=np.where(np.isin(np.arange(problem.n_jobs), jobs), kind_of, 0),
        current={job: counts for job, counts in problem.current.items() if job in set(jobs.tolist())},
        must_place=np.zeros_like(problem.must_place),
        open_jobs=jobs,
        pinned_value=0.0,
    )


def charge(linearised: Linearised, current: FloatArray) -> SparseModel:
    """The model with every way to place a job charged with what the job has already."""
    cost = linearised.model.cost.copy()
    for group in linearised.groups:
        has = float(current[group.options.jobs[0]])
        cost[group.whole : group.whole + len(group.options.whole_nodes)] += has
        if group.split is not None:
            for first in group.copies:
                cost[first + group.split.block.placed] += has
        if group.stay >= 0:
            cost[group.stay] += has
    return replace(linearised.model, cost=cost)
