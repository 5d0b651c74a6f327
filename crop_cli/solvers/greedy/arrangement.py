"""The arrangement oracle: which jobs to put into one domain, and how far from the best choice that can be.

An arrangement places jobs wholly inside a domain. Its gain over what the jobs have is Σ_j max(0, U_j − current_j)
(model.md, section 9). Every answer carries an upper bound of the gain of any arrangement of that domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem, utility
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.finder import Finder, Place
from crop_cli.solvers.greedy.knapsack import contenders, pack
from crop_cli.solvers.greedy.outlook import TOLERANCE, Outlook
from crop_cli.solvers.oracle import best_values

SHARP = 20
"""Domains that differ for which the oracle is asked what each job can reach."""


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


class InnerGreedy:
    """Arrangements of inner vertices: the best of a few constructions, bounded by a fractional knapsack.

    The bound: any arrangement takes Σ k_j ≤ the domain's GPUs, and a job gains at most its ceiling inside the domain;
    cutting jobs relaxes that to a fractional knapsack.

    Parameters
    ----------
    like
        (V) equal for vertices whose subtrees no job can tell apart; they share their ceilings.
    """

    def __init__(self, problem: Problem, finder: Finder, in_nodes: NodeArranger, like: IntArray) -> None:
        self.problem, self.finder, self.in_nodes, self.like = problem, finder, in_nodes, like
        self.board = Board.empty(problem)
        self.jobs = problem.open_jobs
        self.kinds = problem.kind_of[self.jobs]
        self.sizes = finder.outlook.k[self.kinds]
        self.ceilings: dict[tuple[int, int], FloatArray] = {}
        self.asked = 0

    def __call__(self, vertex: int, current: FloatArray) -> Arrangement:
        """A good arrangement of the domain below a vertex."""
        gains = self.ceiling(vertex) - current[self.jobs]
        hopeful = np.flatnonzero(gains > TOLERANCE * self.finder.outlook.scale[self.kinds])
        density = gains[hopeful] / self.sizes[hopeful]
        dense_first = hopeful[np.lexsort((-self.sizes[hopeful], -density))]
        large_first = hopeful[np.lexsort((-density, -self.sizes[hopeful]))]
        gpus = self._gpus(vertex)
        bound = fractional_knapsack(gains[dense_first], self.sizes[dense_first], gpus)
        best = Arrangement({}, 0.0, bound)
        for nodes_first, order in ((False, dense_first), (False, large_first), (True, dense_first)):
            if best.gain >= bound * (1 - 1e-6):
                break
            places = self._construct(vertex, current, order, nodes_first)
            gain = float(sum(place.utility - current[job] for job, place in places.items()))
            if gain > best.gain * (1 + TOLERANCE):
                best = Arrangement(places, gain, max(bound, gain))
        return best

    def ceiling(self, vertex: int) -> FloatArray:
        """(open jobs) upper bound of each job's utility inside a domain; −inf where it cannot fit.

        For the first `SHARP` domains that differ it is what the oracle says, for others the outlook.
        """
        key = (int(self.problem.tree.depth[vertex]), int(self.like[vertex]))
        if key not in self.ceilings:
            self.ceilings[key] = self._sharp(vertex) if self.asked < SHARP else self._ceiling(vertex)
            self.asked += 1
        return self.ceilings[key]

    def _sharp(self, vertex: int) -> FloatArray:
        """Best utility of each job inside the domain while no other open job is placed."""
        problem, tree = self.problem, self.problem.tree
        free = np.zeros_like(problem.free)
        nodes = slice(int(tree.first_node[vertex]), int(tree.end_node[vertex]))
        free[nodes] = problem.free[nodes]
        return best_values(problem, self.jobs, free, problem.uplink_free)

    def _gpus(self, vertex: int) -> int:
        tree = self.problem.tree
        return int(self.problem.free_gpus[tree.first_node[vertex] : tree.end_node[vertex]].sum())

    def _ceiling(self, vertex: int) -> FloatArray:
        problem, outlook, tree = self.problem, self.finder.outlook, self.problem.tree
        nodes = slice(int(tree.first_node[vertex]), int(tree.end_node[vertex]))
        room = problem.free[nodes] + problem.node_slack[nodes]
        hardware = problem.hardware_of[nodes]
        alone = outlook.alone[:, hardware] - outlook.failure_cost[:, None] * problem.failures[nodes]
        alone[~(outlook.need[:, None, :] <= room[None]).all(axis=2)] = -np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            caps = np.floor(
                np.where(outlook.demand[:, None] > 0, room[None] / outlook.demand[:, None], np.inf).min(axis=2)
            )
        caps = np.clip(np.where(outlook.usable[:, hardware], caps, 0), 0, outlook.k[:, None])
        across = outlook.across[:, int(tree.depth[vertex]) :].max(axis=1, initial=-np.inf)
        across = np.where(caps.sum(axis=1) >= outlook.k, across, -np.inf)
        values: FloatArray = np.maximum(alone.max(axis=1, initial=-np.inf), across)[self.kinds]
        for i in np.flatnonzero(np.isin(self.jobs, list(problem.current))):
            job = int(self.jobs[i])
            values[i] -= problem.migration_cost[job]
            home = problem.current[job]
            if nodes.start <= min(home) and max(home) < nodes.stop:
                values[i] = max(values[i], utility(problem, job, home))
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


def place_in_order(
    finder: Finder, board: Board, jobs: Iterable[int], below: int = 0, floors: FloatArray | None = None
) -> list[int]:
    """Place jobs one by one, each at its best place in what is left; jobs already on the board are passed over.

    Parameters
    ----------
    below
        Vertex whose subtree must hold each job.
    floors
        (J) utility that a job must exceed; 0 if left out.

    Returns
    -------
    list of int
        The jobs that were placed.
    """
    problem, tree = finder.problem, finder.problem.tree
    left = round(float(board.state.free[tree.first_node[below] : tree.end_node[below], 0].sum()))
    # While capacity only shrinks, a kind that found nothing better than a floor finds nothing better than a higher one.
    refused: dict[int, float] = {}
    placed = []
    for job in jobs:
        if left <= 0:
            break
        kind = int(problem.kind_of[job])
        floor = 0.0 if floors is None else float(floors[job])
        movable = job in problem.current
        if job in board.placement or finder.outlook.k[kind] > left:
            continue
        if not movable and floor >= refused.get(kind, np.inf):
            continue
        place = finder.best(board, job, below, floor)
        if place is None:
            if not movable:
                refused[kind] = min(floor, refused.get(kind, np.inf))
            continue
        board.take(job, place.counts, place.utility)
        left -= int(finder.outlook.k[kind])
        placed.append(job)
    return placed


def fractional_knapsack(gains: FloatArray, sizes: IntArray, capacity: int) -> float:
    """Largest gain within a capacity when jobs may be cut; items in descending order of gain per size."""
    before = np.cumsum(sizes) - sizes
    share = np.clip((capacity - before) / sizes, 0.0, 1.0)
    return float((gains * share).sum())
