"""Large neighbourhood search: a part of the cluster at a time is solved anew as an integer program over columns.

A part's jobs and jobs that are left out compete for its nodes. Column generation inside the part finds their candidate
placements, and the LP's optimum says what there is to gain; the integer program takes the best of them together, so
that moves, swaps and whole chains of ejections are one step. A placement that is not better is not taken: F never
drops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem
from crop_cli.solvers.columns.bound import ColumnBound
from crop_cli.solvers.columns.column import Column
from crop_cli.solvers.columns.integer import best_of_columns, distinct
from crop_cli.solvers.columns.nearby import Nearby
from crop_cli.solvers.contract import Budget, Event, Listener
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.oracle import Prices, best_values
from crop_cli.solvers.search.guided import guided
from crop_cli.solvers.search.ledger import Ledger
from crop_cli.solvers.search.neighbourhood import Chooser
from crop_cli.solvers.search.part import cut_out
from crop_cli.solvers.search.relax import Candidates, candidates
from crop_cli.solvers.state import State

SIZE, LARGEST = 24, 128
"""Nodes of a part: at first, and at most."""

GROWTH = 1.5
"""Parts grow by this factor when parts without a gain could have covered the cluster."""

OUTSIDE = 2.0
"""Jobs left out that compete for a part: so many times its free GPUs, those first that are worth most at the prices."""

NODES = 100
"""Nodes of branch and bound for a part."""

QUESTIONS = 40
"""How often the integer program may ask whether to go on: about a second. More, by the square, for larger parts."""

NEAR = 0.1
"""Share of what a part can gain at most that may be left."""

AGAIN = 1.0
"""How often parts without a gain cover the cluster before columns beyond those of the LP take part."""

PASSES, STRENGTHS, SEQUENCES = 10, (0.1, 1.0), 10
"""Of these: passes of pricing at noisy prices, for each strength of the noise, and sequences of jobs."""

LITTLE = 1e-5
"""Gain, as a share of F, that does not count when it is decided whether parts have to be larger."""

WORTHWHILE = 1e-7
"""Gain, as a share of F, below which a part is left as it is."""


@dataclass
class LocalSearch:
    """State of a search; `step` is one part.

    Attributes
    ----------
    board
        The best placement so far.
    steps, idle
        Parts looked at, and how many of them since the last gain.
    fruitless
        How often the parts since the last gain could have covered the cluster.
    size
        Nodes of the next part.
    """

    problem: Problem
    board: Board
    chooser: Chooser
    budget: Budget
    listen: Listener
    steps: int = 0
    idle: int = 0
    fruitless: float = 0.0
    size: int = SIZE
    at: list[set[int]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        problem: Problem,
        start: Placement,
        relaxation: ColumnBound | None,
        seed: int,
        budget: Budget,
        listen: Listener,
    ) -> LocalSearch:
        """A search from a placement that runs every job that must run, or from the price-guided greedy's if better."""
        board = Board.empty(problem)
        board.load(start)
        prices, values = _guide(problem, relaxation)
        other = guided(problem, prices, values, budget)
        if other is not None:
            before = board.value
            board.load(other)
            if board.value > before:
                start = other
                listen(Event("incumbent", budget.elapsed, board.value))
            else:
                board.load(start)
        chooser = Chooser(problem, Ledger.of(problem, prices, values), np.random.default_rng(seed))
        search = cls(problem, board, chooser, budget, listen)
        search.at = [set() for _ in range(problem.n_nodes)]
        for job, counts in start.items():
            for n in counts:
                search.at[n].add(job)
        return search

    @property
    def placement(self) -> Placement:
        """The best placement so far."""
        return {job: dict(counts) for job, counts in self.board.placement.items()}

    @property
    def value(self) -> float:
        """Its F."""
        return self.board.value

    def follow(self, relaxation: ColumnBound) -> None:
        """Go on with other prices, as if everything were still to be tried."""
        prices, values = _guide(self.problem, relaxation)
        self.chooser.ledger = Ledger.of(self.problem, prices, values)
        self.idle, self.fruitless = 0, 0.0

    def step(self) -> float:
        """Solve one part; returns what F rose by."""
        way = self.chooser.way()
        nodes = self.chooser.nodes(way, self.board, min(self.size, self.problem.n_nodes))
        gain, columns = self._resolve(nodes)
        self.chooser.learn(way, gain, columns)
        self.steps += 1
        if gain > 0:
            self.listen(Event("incumbent", self.budget.elapsed, self.board.value))
        if gain > LITTLE * abs(self.board.value):
            self.idle, self.fruitless = 0, 0.0
            return gain
        rounds = int(self.fruitless)
        self.idle += 1
        self.fruitless += len(nodes) / self.problem.n_nodes
        if int(self.fruitless) > rounds:
            self.size = min(LARGEST, round(self.size * GROWTH))
        return gain

    def _resolve(self, nodes: np.typing.NDArray[np.int64]) -> tuple[float, int]:
        """Place the jobs of some nodes and jobs left out anew; the gain, and the columns looked at."""
        problem, board = self.problem, self.board
        inside = set(nodes.tolist())
        mine = sorted({job for n in inside for job in self.at[n] if self._belongs(job, inside)})
        before = {job: board.placement[job] for job in mine}
        worth = {job: self._release(job) for job in mine}
        jobs = mine + self._outside(nodes, before)
        after, columns = before, 0
        if jobs:
            part = cut_out(problem, nodes, jobs, board.state)
            start = part.inward(before)
            found = candidates(part.problem, start, part.prices(self.chooser.ledger.prices), self.budget)
            held = sum(worth.values())
            least = held + WORTHWHILE * max(1.0, abs(board.value) + abs(held))
            if found is not None:
                columns = len(found.columns)
            if found is not None and found.value > least:
                pool = found.columns
                if self.fruitless >= AGAIN:
                    pool = self._more(part.problem, found, jobs)
                placed = best_of_columns(
                    part.problem,
                    found.groups,
                    pool,
                    jobs,
                    part.problem.free,
                    part.problem.uplink_free,
                    above=held,
                    enough=found.value - NEAR * (found.value - held),
                    nodes=NODES,
                    questions=round(QUESTIONS * (self.size / SIZE) ** 2),
                    budget=self.budget,
                )
                after = before if placed is None else part.outward(placed)
        for job, counts in after.items():
            self._take(job, counts)
        gain = sum(board.utilities[job] for job in after) - sum(worth.values())
        if gain < 0:  # rounding: nothing that came back is worth less than what was there
            for job in after:
                self._release(job)
            for job, counts in before.items():
                self._take(job, counts)
            gain = 0.0
        return gain, columns

    def _more(self, part: Problem, found: Candidates, jobs: list[int]) -> list[Column]:
        """The columns of a part's LP, and others near its optimum: whole placements need more than the LP does."""
        nearby = Nearby(part, found.groups, found.prices, int(self.chooser.rng.integers(2**31)))
        columns = list(found.columns)
        for strength in STRENGTHS:
            columns += nearby.draw(PASSES, self.budget, strength=strength)
        columns += nearby.sequences(SEQUENCES, jobs, State.empty(part), self.budget)
        return distinct(columns)

    def _belongs(self, job: int, inside: set[int]) -> bool:
        """Whether a job is wholly on these nodes, and could stay at home there if it may be moved."""
        home = self.problem.current.get(job, {})
        return inside.issuperset(self.board.placement[job]) and inside.issuperset(home)

    def _outside(self, nodes: np.typing.NDArray[np.int64], mine: Placement) -> list[int]:
        """Jobs left out that may compete for nodes, best value at the prices first."""
        problem, values = self.problem, self.chooser.ledger.values
        free = float(self.board.state.free[nodes, 0].sum())
        out = [j for j in problem.open_jobs.tolist() if j not in self.board.placement and j not in mine]
        sizes = np.array([problem.kind(j).k for j in out], dtype=np.float64)
        fitting = np.flatnonzero(sizes <= free)
        order = fitting[np.lexsort((sizes[fitting], -values[out][fitting]))] if len(fitting) else fitting
        enough = int(np.searchsorted(np.cumsum(sizes[order]), OUTSIDE * free, side="right")) + 1
        return [out[i] for i in order[:enough].tolist()]

    def _take(self, job: int, counts: dict[int, int]) -> None:
        self.board.take(job, counts)
        for n in counts:
            self.at[n].add(job)

    def _release(self, job: int) -> float:
        counts, value = self.board.release(job)
        for n in counts:
            self.at[n].discard(job)
        return value


def _guide(problem: Problem, relaxation: ColumnBound | None) -> tuple[Prices, FloatArray]:
    """Prices, and (J) every job's best value at them, at least 0; without a relaxation all is free."""
    values = np.zeros(problem.n_jobs)
    jobs = problem.open_jobs
    if relaxation is not None and relaxation.prices is not None and relaxation.values is not None:
        values[jobs] = relaxation.values[relaxation.groups.of_job[jobs]]
        prices = relaxation.prices
    else:
        prices = Prices(node=np.zeros_like(problem.free), uplink=np.zeros(problem.tree.n_vertices))
        values[jobs] = best_values(problem, jobs, problem.free, problem.uplink_free)
    return prices, np.maximum(values, 0.0)
