"""Diving from a placement: free a few domains, price their jobs anew in what is left, branch over these columns.

A domain is a vertex just above the nodes. What does not touch the chosen domains stays; all other jobs, and those that
wait, look for columns in the room that is there now. The columns that the whole cluster has already take part where
they fit. The next domains are chosen by what they have to gain: GPUs left free, and a share of chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import IntArray, Placement, Problem, utility
from crop_cli.solvers.columns.column import Column, Groups, column_of
from crop_cli.solvers.columns.integer import best_of_columns, distinct
from crop_cli.solvers.columns.losses import Losses
from crop_cli.solvers.columns.nearby import Nearby
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.state import State

TRIES = 24
"""Sets of domains that are freed before a dive without success ends."""

MOST_DOMAINS = 3
"""Domains freed at once."""

MOST_JOBS = 60
"""Jobs freed at once, waiting ones aside."""

PASSES = 8
"""Passes of pricing for the jobs that are freed."""

SEQUENCES = 8
"""Sequences of these jobs."""

NODES = 50
"""Nodes of branch and bound per set."""

QUESTIONS = 60
"""How often HiGHS may ask to go on per set (`program`): a second or less."""

MOST_COLUMNS = 1_000
"""Columns of one set."""


@dataclass(frozen=True, slots=True)
class Dived:
    """Whether a better placement was found, and the columns that were."""

    improved: bool
    columns: list[Column]


class Diver:
    """Keeps its place in the sequence of chance between dives."""

    def __init__(self, problem: Problem, groups: Groups, nearby: Nearby, losses: Losses, seed: int) -> None:
        self._problem, self._groups, self._nearby, self._losses = problem, groups, nearby, losses
        self._rng = np.random.default_rng(seed + 1)
        self._domain_of = nearby.domain_of

    def dive(
        self,
        placement: Placement,
        pool: list[Column],
        budget: Budget,
        offer: Callable[[Placement], bool],
        slack: Callable[[], float],
    ) -> Dived:
        """Free sets of domains one after the other, going on from every better placement.

        Parameters
        ----------
        placement
            Where to begin.
        pool
            Columns that are known.
        offer
            Takes a placement and says whether it is better than the best.
        slack
            What a better placement may give away in all (`losses`); 0 when the best is good enough.
        """
        improved = False
        columns: list[Column] = []
        for _ in range(TRIES):
            most = slack()
            if budget.should_stop or most <= 0.0:
                break
            nodes = self._freed(placement)
            found = self._within(placement, nodes, pool, most, budget, columns)
            if found is not None and offer(found):
                placement, improved = found, True
        return Dived(improved, columns)

    def _freed(self, placement: Placement) -> IntArray:
        """Nodes of some domains; those with GPUs left are likelier."""
        left = State.of(self._problem, placement).free[:, 0]
        n_domains = int(self._domain_of.max()) + 1
        weight = 1.0 + np.bincount(self._domain_of, weights=np.maximum(0.0, left), minlength=n_domains)
        many = min(n_domains, 1 + int(self._rng.integers(MOST_DOMAINS)))
        chosen = self._rng.choice(n_domains, size=many, replace=False, p=weight / weight.sum())
        return np.flatnonzero(np.isin(self._domain_of, chosen))

    def _within(
        self,
        placement: Placement,
        nodes: IntArray,
        pool: list[Column],
        most: float,
        budget: Budget,
        columns: list[Column],
    ) -> Placement | None:
        """A better placement that differs only in jobs that touch these nodes; new columns are added to the list."""
        problem, groups = self._problem, self._groups
        inside = set(nodes.tolist())
        touched = [job for job, counts in sorted(placement.items()) if not inside.isdisjoint(counts)]
        if len(touched) > MOST_JOBS:
            touched = sorted(self._rng.choice(touched, size=MOST_JOBS, replace=False).tolist())
        stay = {job: counts for job, counts in placement.items() if job not in set(touched)}
        waiting = [job for job in problem.open_jobs.tolist() if job not in placement]
        jobs = [*touched, *waiting]
        room = State.of(problem, stay)
        free, uplinks = np.maximum(room.free, 0.0), np.maximum(room.uplink_free, 0.0)
        listed = np.unique(groups.of_job[jobs])
        new = self._nearby.draw(PASSES, budget, groups=listed, free=free, uplink_free=uplinks)
        new += self._nearby.sequences(SEQUENCES, jobs, room, budget)
        columns += new
        here = [column_of(problem, groups, job, placement[job]) for job in touched]
        fit = free + problem.node_slack
        wanted = set(listed.tolist())
        demand = {g: problem.kind(int(groups.first[g])).demand for g in wanted}
        known = [
            column
            for column in pool
            if column.group in wanted
            and (column.workers[:, None] * demand[column.group] <= fit[column.nodes]).all()
            and (column.gbps <= uplinks[column.vertices] + problem.uplink_slack[column.vertices]).all()
        ]
        candidates = distinct([*here, *self._losses.within([*new, *known], most)])[:MOST_COLUMNS]
        before = sum(utility(problem, job, placement[job]) for job in touched)
        found = best_of_columns(
            problem,
            groups,
            candidates,
            jobs,
            room.free,
            room.uplink_free,
            above=before,
            nodes=NODES,
            questions=QUESTIONS,
            budget=budget,
        )
        return None if found is None else {**stay, **found}
