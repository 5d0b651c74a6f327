"""Columns near the optimum of the placement LP.

The LP's columns are enough for its bound, not for whole placements: where two jobs want the same node, the second needs
a column that is almost as good elsewhere. So the oracle is asked again, at prices with noise: some for every node, some
for every domain as a whole (a domain is a vertex just above the nodes). What it answers is best for prices close to
the true ones, so it is nearly best for these.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem
from crop_cli.solvers.columns.column import Column, Groups, make_column
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placements

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
    """

    def __init__(self, problem: Problem, groups: Groups, prices: Prices, seed: int) -> None:
        self._problem, self._groups, self._prices = problem, groups, prices
        self._rng = np.random.default_rng(seed)
        parents = problem.tree.parent[problem.tree.node_vertex :]
        self._domain_of = np.unique(parents, return_inverse=True)[1].ravel()
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
        scale = strength * self._unit
        found = []
        for _ in range(passes):
            if budget.should_stop:
                break
            noise = self._rng.exponential(NODE_NOISE * scale, problem.n_nodes)
            noise += self._rng.exponential(DOMAIN_NOISE * scale, int(self._domain_of.max()) + 1)[self._domain_of]
            node = self._prices.node.copy()
            node[:, 0] += noise
            prices = Prices(node=node, uplink=self._prices.uplink)
            answers = best_placements(problem, self._groups.first[listed], room, links, prices)
            for g, best in zip(listed.tolist(), answers, strict=True):
                if best is not None:
                    found.append(make_column(problem, self._groups, g, best.utility, best.counts))
        return found
