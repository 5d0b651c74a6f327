"""Columns near the optimum of the placement LP.

The LP's columns are enough for its bound, not for whole placements: where two jobs want the same node, the second needs
a column that is almost as good elsewhere. So the oracle is asked again, at prices with noise: some for every node, some
for every domain as a whole (a domain is a vertex just above the nodes). What it answers is best for prices close to
the true ones, so it is nearly best for these.

Columns that are drawn one by one rarely fill a domain to the last GPU together. So sequences are drawn as well: jobs in
some order, each at its best place in what those before it left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem
from crop_cli.solvers.columns.column import Column, Groups, make_column
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placement, best_placements
from crop_cli.solvers.state import State

NODE_NOISE, DOMAIN_NOISE = 0.1, 0.3
"""Mean of the noise, in units of what a GPU is worth at most (measured: ten times as much finds worse columns)."""


class Nearby:
    """Draws columns. Equal seeds and calls give equal columns.

    Parameters
    ----------
    problem, groups
        The compiled instance and its groups.
    prices
        About what capacity is worth; those without the least price of a GPU serve best, because then the noise is large
        beside them.
    seed
        Of the noise.

    Attributes
    ----------
    domain_of
        (N) number of the vertex above every node.
    """

    def __init__(self, problem: Problem, groups: Groups, prices: Prices, seed: int) -> None:
        self._problem, self._groups, self._prices = problem, groups, prices
        self._rng = np.random.default_rng(seed)
        parents = problem.tree.parent[problem.tree.node_vertex :]
        self.domain_of = np.unique(parents, return_inverse=True)[1].ravel()
        self._unit = max((problem.kind(job).weight for job in groups.first.tolist()), default=1.0)

    def draw(
        self,
        passes: int,
        budget: Budget,
        *,
        groups: IntArray | None = None,
        free: FloatArray | None = None,
        uplink_free: FloatArray | None = None,
        strength: float = 1.0,
    ) -> list[Column]:
        """Best placements at noisy prices.

        Parameters
        ----------
        passes
            How often the oracle is asked for every group.
        budget
            Looked at between passes.
        groups
            Groups to ask for; None: all.
        free, uplink_free
            What they may take; None: all that is free. Where little is free the noise decides less.
        strength
            Factor of the noise.
        """
        problem = self._problem
        listed = np.arange(len(self._groups)) if groups is None else groups
        room = problem.free if free is None else free
        links = problem.uplink_free if uplink_free is None else uplink_free
        found = []
        for _ in range(passes):
            if budget.should_stop:
                break
            answers = best_placements(problem, self._groups.first[listed], room, links, self._noisy(strength))
            for g, best in zip(listed.tolist(), answers, strict=True):
                if best is not None:
                    found.append(make_column(problem, self._groups, g, best.utility, best.counts))
        return found

    def sequences(self, many: int, jobs: Sequence[int], room: State, budget: Budget) -> list[Column]:
        """Columns of sequences of jobs, large ones first by tendency, each in what the ones before it left of the room.

        Parameters
        ----------
        many
            Sequences.
        jobs
            Jobs that take part in every one of them.
        room
            What they may take; not changed.
        budget
            Looked at between sequences.
        """
        problem, groups = self._problem, self._groups
        sizes = np.array([problem.kind(job).k for job in jobs], dtype=np.float64)
        found = []
        for _ in range(many):
            if budget.should_stop:
                break
            prices = self._noisy(1.0)
            left = State(problem, np.maximum(room.free, 0.0), np.maximum(room.uplink_free, 0.0))
            order = np.argsort(-sizes * self._rng.uniform(0.5, 1.0, len(sizes)), kind="stable")
            for i in order.tolist():
                best = best_placement(problem, jobs[i], left.free, left.uplink_free, prices)
                if best is not None and (best.utility > 0 or problem.must_place[jobs[i]]):
                    found.append(make_column(problem, groups, int(groups.of_job[jobs[i]]), best.utility, best.counts))
                    left.take(jobs[i], best.counts)
        return found

    def _noisy(self, strength: float) -> Prices:
        scale = strength * self._unit
        noise = self._rng.exponential(NODE_NOISE * scale, self._problem.n_nodes)
        noise += self._rng.exponential(DOMAIN_NOISE * scale, int(self.domain_of.max()) + 1)[self.domain_of]
        node = self._prices.node.copy()
        node[:, 0] += noise
        return Prices(node=node, uplink=self._prices.uplink)
