"""What all parts of one greedy run share: the problem, its tables, what each job may hope for, and the time left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem
from crop_cli.solvers.contract import Budget, Event, Listener
from crop_cli.solvers.greedy.arrangement import NodeArranger
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.domains import Likeness
from crop_cli.solvers.greedy.finder import Finder
from crop_cli.solvers.greedy.inner import InnerGreedy, fractional_knapsack
from crop_cli.solvers.greedy.outlook import Outlook, build_outlook

THRIFT = 1e-3
"""Price of a GPU of an empty node while filling, as a share of the job's weight: the default cut penalty."""

ENOUGH = 1e-6
"""Relative gap at which the search ends even if a proof is asked for."""


@dataclass(slots=True)
class Setting:
    """One run of the greedy on one problem.

    Attributes
    ----------
    finder
        Best places, thrifty: utility first, then tight packing.
    ceilings
        (J) largest U_j in the cluster without other open jobs; −inf for jobs that fit nowhere or are not open.
    floors
        (J) utility that a job must exceed to be placed: 0, and −inf for jobs that must be.
    bound
        Upper bound of F: a fractional knapsack over all GPUs.
    gap
        Relative gap to `bound` at which the search ends.
    work_limit
        `Finder.work` at which the search ends.
    best, best_value
        Best placement so far that runs every job that must run, and its F.
    """

    problem: Problem
    outlook: Outlook
    likeness: Likeness
    finder: Finder
    in_nodes: NodeArranger
    inner: InnerGreedy
    budget: Budget
    listen: Listener
    ceilings: FloatArray
    floors: FloatArray
    bound: float
    gap: float
    work_limit: float = np.inf
    best: Placement | None = None
    best_value: float = -np.inf

    @classmethod
    def of(cls, problem: Problem, gap: float, budget: Budget, listen: Listener) -> Setting:
        """Tables of a problem."""
        outlook = build_outlook(problem)
        finder = Finder(problem, outlook, budget, THRIFT)
        in_nodes = NodeArranger(problem, outlook)
        likeness = Likeness.of(problem)
        inner = InnerGreedy(problem, finder, in_nodes, likeness.subtree)
        ceilings = np.full(problem.n_jobs, -np.inf)
        ceilings[problem.open_jobs] = inner.ceiling(0)
        floors = np.where(problem.must_place, -np.inf, 0.0)
        bound = _bound(problem, ceilings)
        return cls(
            problem,
            outlook,
            likeness,
            finder,
            in_nodes,
            inner,
            budget,
            listen,
            ceilings,
            floors,
            bound,
            max(gap, ENOUGH),
        )

    @property
    def settled(self) -> bool:
        """Whether nothing can be gained any more, or enough was done, or time is up."""
        if self.budget.should_stop or self.finder.work >= self.work_limit:
            return True
        return self.within(self.gap)

    def within(self, gap: float) -> bool:
        """Whether the best F is this near the bound, relatively."""
        return self.best_value >= self.bound - gap * max(1.0, abs(self.bound))

    def missing(self, board: Board) -> list[int]:
        """Jobs that must run and are not on the board."""
        must = self.problem.open_jobs[self.problem.must_place[self.problem.open_jobs]]
        return [int(j) for j in must if j not in board.placement]

    def offer(self, board: Board) -> bool:
        """Keep the board's placement if it runs all jobs that must run and beats the best; true if it did."""
        value = board.value
        if self.missing(board) or value <= self.best_value:
            return False
        self.best, self.best_value = {job: dict(counts) for job, counts in board.placement.items()}, value
        self.listen(Event("incumbent", self.budget.elapsed, value))
        return True

    def orders(self) -> dict[str, list[int]]:
        """Open jobs that may gain something, in the orders in which constructions take them."""
        jobs = self.problem.open_jobs
        jobs = jobs[self.ceilings[jobs] > self.floors[jobs]]
        ceiling, size = self.ceilings[jobs], self.outlook.k[self.problem.kind_of[jobs]]
        density = ceiling / size
        return {
            "dense": jobs[np.lexsort((-size, -density))].tolist(),
            "large": jobs[np.lexsort((-density, -size))].tolist(),
            "valuable": jobs[np.lexsort((-density, -ceiling))].tolist(),
        }


def _bound(problem: Problem, ceilings: FloatArray) -> float:
    """Upper bound of F: jobs that must run at their ceiling, the others as a fractional knapsack over all GPUs."""
    jobs = problem.open_jobs
    sizes = np.array([problem.kind(j).k for j in jobs], dtype=np.int64)
    value, must = ceilings[jobs], problem.must_place[jobs]
    hopeful = ~must & (value > 0)
    order = np.argsort(-(value[hopeful] / sizes[hopeful]), kind="stable")
    room = int(problem.free_gpus.sum() - sizes[must].sum())
    optional = fractional_knapsack(value[hopeful][order], sizes[hopeful][order], max(0, room))
    return problem.pinned_value + float(value[must].sum()) + optional
