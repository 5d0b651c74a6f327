"""Arrangements of domains above the nodes: an inner greedy with a certificate (model.md, section 9)."""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem, utility
from crop_cli.solvers.greedy.arrangement import Arrangement, NodeArranger
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.finder import Finder, Place
from crop_cli.solvers.greedy.outlook import TOLERANCE
from crop_cli.solvers.greedy.placing import place_in_order
from crop_cli.solvers.oracle import best_values

SHARP_NODES = 4_000_000
"""Kinds times nodes from which the oracle takes too long for one domain: seconds."""

SHARP = 2000
"""Pairs of kinds and differing domains for which the oracle is asked what the kind can reach there."""

SHARE = 0.15
"""Most of the time left that one such question may take; the outlook answers what it leaves open."""

CHUNK = 200
"""Jobs between two looks at the clock."""

TRIPLES = 1 << 21
"""(kind, node, resource) triples that are looked at in one piece."""


class InnerGreedy:
    """Arrangements of inner vertices: the best of a few constructions, bounded by a fractional knapsack.

    The bound: any arrangement takes Σ k_j ≤ the domain's GPUs, and a job gains at most its ceiling inside the domain;
    cutting jobs relaxes that to a fractional knapsack.

    Parameters
    ----------
    like
        (V) equal for vertices whose subtrees no job can tell apart; they share their ceilings.

    Attributes
    ----------
    thorough
        Whether all constructions are tried; the first alone takes a third of the time.
    """

    def __init__(self, problem: Problem, finder: Finder, in_nodes: NodeArranger, like: IntArray) -> None:
        self.problem, self.finder, self.in_nodes, self.like = problem, finder, in_nodes, like
        self.board = Board.empty(problem)
        self.jobs = problem.open_jobs
        self.kinds = problem.kind_of[self.jobs]
        self.sizes = finder.outlook.k[self.kinds]
        self.ceilings: dict[tuple[int, int], FloatArray] = {}
        self.thorough = True

    def __call__(self, vertex: int, current: FloatArray) -> Arrangement:
        """A good arrangement of the domain below a vertex."""
        gains = self.ceiling(vertex) - current[self.jobs]
        hopeful = np.flatnonzero(gains > 0)
        density = gains[hopeful] / self.sizes[hopeful]
        dense_first = hopeful[np.lexsort((-self.sizes[hopeful], -density))]
        large_first = hopeful[np.lexsort((-density, -self.sizes[hopeful]))]
        gpus = self._gpus(vertex)
        bound = fractional_knapsack(gains[dense_first], self.sizes[dense_first], gpus)
        best = Arrangement({}, 0.0, bound)
        ways = ((False, dense_first), (False, large_first), (True, dense_first))
        for nodes_first, order in ways if self.thorough else ways[:1]:
            if best.gain >= bound * (1 - 1e-6):
                break
            places = self._construct(vertex, current, order, nodes_first)
            gain = float(sum(place.utility - current[job] for job, place in places.items()))
            if gain > best.gain * (1 + TOLERANCE):
                best = Arrangement(places, gain, max(bound, gain))
        return best

    def ceiling(self, vertex: int) -> FloatArray:
        """(open jobs) upper bound of each job's utility inside a domain; −inf where it cannot fit.

        What the oracle says for the first domains that differ (`SHARP`), the outlook for others.
        """
        key = (int(self.problem.tree.depth[vertex]), int(self.like[vertex]))
        if key not in self.ceilings:
            nodes = int(self.problem.tree.end_node[vertex] - self.problem.tree.first_node[vertex])
            few = len(self.problem.kinds) * nodes < SHARP_NODES
            sharp = few and len(self.ceilings) * len(self.problem.kinds) < SHARP
            self.ceilings[key] = self._sharp(vertex) if sharp else self._outlook(vertex)
        return self.ceilings[key]

    def _sharp(self, vertex: int) -> FloatArray:
        """Best utility of each job inside the domain while no other open job is placed."""
        problem, tree = self.problem, self.problem.tree
        free = np.zeros_like(problem.free)
        nodes = slice(int(tree.first_node[vertex]), int(tree.end_node[vertex]))
        free[nodes] = problem.free[nodes]
        values = self._outlook(vertex)
        order, budget = np.lexsort((self.kinds, self.sizes)), self.finder.budget.part(SHARE)
        for part in np.split(order, range(CHUNK, len(order), CHUNK)):
            if budget.should_stop:
                break
            values[part] = best_values(self.finder.unmoved, self.jobs[part], free, problem.uplink_free)
            self._charge_moves(vertex, values, part)
        return values

    def _charge_moves(self, vertex: int, values: FloatArray, part: IntArray) -> None:
        """Take off utilities of some jobs (as if none ran now) what a move costs, except for the place of now."""
        problem, tree = self.problem, self.problem.tree
        for i in part[np.isin(self.jobs[part], list(problem.current))].tolist():
            job = int(self.jobs[i])
            values[i] -= problem.migration_cost[job]
            home = problem.current[job]
            if tree.first_node[vertex] <= min(home) and max(home) < tree.end_node[vertex]:
                values[i] = max(values[i], utility(problem, job, home))

    def _gpus(self, vertex: int) -> int:
        tree = self.problem.tree
        return int(self.problem.free_gpus[tree.first_node[vertex] : tree.end_node[vertex]].sum())

    def _outlook(self, vertex: int) -> FloatArray:
        problem, outlook, tree = self.problem, self.finder.outlook, self.problem.tree
        nodes = slice(int(tree.first_node[vertex]), int(tree.end_node[vertex]))
        depth, hardware = int(tree.depth[vertex]), problem.hardware_of[nodes]
        best = np.empty(len(problem.kinds))
        rows = max(1, TRIPLES // max(1, len(hardware) * len(problem.resources)))
        for kinds in (slice(start, start + rows) for start in range(0, len(best), rows)):
            fits, caps = outlook.room(problem, problem.free, nodes, kinds)
            alone = outlook.alone[kinds, hardware] - outlook.failure_cost[kinds, None] * problem.failures[nodes]
            across = outlook.across[kinds, depth:].max(axis=1, initial=-np.inf)
            across = np.where(caps.sum(axis=1) >= outlook.k[kinds], across, -np.inf)
            best[kinds] = np.maximum(np.where(fits, alone, -np.inf).max(axis=1, initial=-np.inf), across)
        values = best[self.kinds]
        self._charge_moves(vertex, values, np.arange(len(values)))
        return values

    def _construct(self, vertex: int, current: FloatArray, order: IntArray, nodes_first: bool) -> dict[int, Place]:
        """Fill the empty domain with jobs in the given order, after single nodes at their best if `nodes_first`."""
        board, mark = self.board, self.board.mark()
        if nodes_first:
            self._fill_nodes(vertex, current)
        place_in_order(self.finder, board, self.jobs[order].tolist(), vertex, current)
        places = {job: Place(counts, board.utilities[job]) for job, counts in board.placement.items()}
        board.rewind(mark)
        return places

    def _fill_nodes(self, vertex: int, current: FloatArray) -> None:
        """Give each node its best arrangement of what the nodes before it left."""
        tree, reached = self.problem.tree, current.copy()
        for node in range(int(tree.first_node[vertex]), int(tree.end_node[vertex])):
            for job, place in self.in_nodes.of_node(node, reached, self.problem.free).places.items():
                if job in self.board.placement:
                    self.board.release(job)
                self.board.take(job, place.counts, place.utility)
                reached[job] = place.utility


def fractional_knapsack(gains: FloatArray, sizes: IntArray, capacity: int) -> float:
    """Largest gain within a capacity when jobs may be cut; items in descending order of gain per size."""
    before = np.cumsum(sizes) - sizes
    share = np.clip((capacity - before) / sizes, 0.0, 1.0)
    return float((gains * share).sum())
