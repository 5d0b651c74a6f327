"""The arrangement oracle: which jobs to put into one domain, and how far from the best choice that can be.

An arrangement places jobs wholly inside a domain. Its gain over what the jobs have is Σ_j max(0, U_j − current_j)
(model.md, section 9). Every answer carries an upper bound of the gain of any arrangement of that domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, Problem, utility
from crop_cli.solvers.greedy.finder import Place
from crop_cli.solvers.greedy.knapsack import contenders, pack
from crop_cli.solvers.greedy.outlook import Outlook


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Places of jobs wholly inside one domain, their gain, and an upper bound of any arrangement's gain there."""

    places: dict[int, Place]
    gain: float
    bound: float


ArrangementOracle = Callable[[int, FloatArray], Arrangement]
"""From a domain's vertex and every job's current utility (0 where it has none) to an arrangement."""


class NodeArranger:
    """Arrangements of single nodes: a knapsack."""

    def __init__(self, problem: Problem, outlook: Outlook) -> None:
        self.problem, self.outlook = problem, outlook
        jobs = problem.open_jobs
        kinds = problem.kind_of[jobs]
        rows, group = np.unique(outlook.need[kinds], axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        self.jobs = jobs[order]
        self.kinds = kinds[order]
        self.needs = rows
        self.sizes = np.rint(rows[:, 0]).astype(np.int64)
        self.group = group.ravel()[order]
        self.starts = np.searchsorted(self.group, np.arange(len(rows) + 1))
        self.homes = {
            (next(iter(counts)), job): utility(problem, job, counts)
            for job, counts in problem.current.items()
            if len(counts) == 1
        }
        self.moves = problem.migration_cost[self.jobs] * np.isin(self.jobs, list(problem.current))

    def __call__(self, vertex: int, current: FloatArray) -> Arrangement:
        """Best arrangement of a node."""
        return self.of_node(vertex - self.problem.tree.node_vertex, current, self.problem.free)

    def of_node(self, node: int, current: FloatArray, free: FloatArray) -> Arrangement:
        """Best arrangement of a node in what is free there, (N, R)."""
        problem, outlook = self.problem, self.outlook
        by_kind = outlook.alone[:, problem.hardware_of[node]] - outlook.failure_cost * problem.failures[node]
        values = by_kind[self.kinds] - self.moves
        for i in np.flatnonzero(self.moves > 0):
            values[i] = self.homes.get((node, int(self.jobs[i])), values[i])
        gains = values - current[self.jobs]
        room = free[node] + problem.node_slack[node]
        fitting = np.where((self.needs <= room).all(axis=1), self.sizes, np.iinfo(np.int64).max)
        items = contenders(gains, self.starts, fitting, int(room[0] + 0.5))
        groups = self.group[items]
        packing = pack(self.sizes[groups], gains[items], self.needs[groups], room)
        chosen = items[list(packing.chosen)]
        places = {
            int(self.jobs[i]): Place({node: int(outlook.k[self.kinds[i]])}, float(values[i])) for i in chosen.tolist()
        }
        return Arrangement(places, packing.gain, packing.bound)
