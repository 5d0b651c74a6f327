"""Where a placement loses against the prices: what the bound gives to a domain that the jobs in it do not earn.

At prices π, μ with best job values v_j, the bound exceeds F by what capacity is left at its price, by what placed jobs
fall short of their best values, and by the positive values of jobs left out. Shared out over the domains by where jobs
run, these losses say where something is to be gained; a domain without any cannot be improved on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.oracle import Prices


@dataclass(frozen=True)
class Ledger:
    """Prices, and each job's best value at them.

    Attributes
    ----------
    prices
        Of nodes and uplinks.
    values
        (J) best value at the prices, at least 0; 0 for jobs that are not open.
    domain_of
        (N) domain of every node, 0..D−1: the vertex above it, or itself in a cluster without switches.
    first, end
        (D) first node of every domain, and the one after its last.
    """

    prices: Prices
    values: FloatArray
    domain_of: IntArray
    first: IntArray
    end: IntArray

    @classmethod
    def of(cls, problem: Problem, prices: Prices, values: FloatArray) -> Ledger:
        """For the domains just above the nodes."""
        tree = problem.tree
        vertices = np.arange(tree.start[tree.max_depth - 1], tree.start[tree.max_depth])
        if tree.max_depth == 1:
            vertices = np.arange(tree.node_vertex, tree.n_vertices)
        # Switches without nodes are no domains.
        vertices = vertices[tree.end_node[vertices] > tree.first_node[vertices]]
        first, end = tree.first_node[vertices], tree.end_node[vertices]
        return cls(prices, values, np.repeat(np.arange(len(vertices)), end - first), first, end)

    def __len__(self) -> int:
        return len(self.first)

    def losses(self, problem: Problem, board: Board) -> FloatArray:
        """(D) what every domain loses, rounding aside at least 0."""
        worth = (self.prices.node * problem.free).sum(axis=1)
        for job, counts in board.placement.items():
            earned = (board.utilities[job] - float(self.values[job])) / problem.kind(job).k
            for node, workers in counts.items():
                worth[node] -= workers * earned
        return np.maximum(np.bincount(self.domain_of, weights=worth, minlength=len(self)), 0.0)
