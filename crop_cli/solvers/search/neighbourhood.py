"""Which nodes to solve anew: four ways to choose, and the weights that prefer those that gained most of late."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray, Problem
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.oracle import best_placement
from crop_cli.solvers.search.ledger import Ledger

WAYS = ("spread", "poor", "linked", "wanted")
"""
spread: domains in random order, every one before any comes again.
poor: domains that lose most against the prices.
linked: the nodes and domains of a job that is worth less than it could be, and of those that share them with it.
wanted: the nodes and domains of the best place, at the prices, of a job that is left out.
"""

Choice = tuple[list[int], list[int]]
"""Nodes that have to be among those chosen, and domains that come next, in order."""

SMOOTHING, LEAST = 0.25, 0.08
"""Weight of the latest gain in a way's score, and the least share of choices that each way gets."""


@dataclass
class Chooser:
    """Chooses nodes; learns from what came of it.

    Attributes
    ----------
    scores
        Smoothed gain per unit of work of every way.
    """

    problem: Problem
    ledger: Ledger
    rng: np.random.Generator
    scores: FloatArray = field(default_factory=lambda: np.full(len(WAYS), np.nan))
    deck: list[int] = field(default_factory=list)

    def way(self) -> int:
        """Index of the way to use next: each once, then in proportion to the scores."""
        untried = np.flatnonzero(np.isnan(self.scores))
        if len(untried):
            return int(untried[0])
        total = self.scores.sum()
        share = np.full(len(WAYS), 1 / len(WAYS)) if total <= 0 else self.scores / total
        share = LEAST + (1 - LEAST * len(WAYS)) * share
        return int(self.rng.choice(len(WAYS), p=share / share.sum()))

    def learn(self, way: int, gain: float, work: float) -> None:
        """Note what a choice gained, at what work."""
        rate = gain / max(work, 1.0)
        old = self.scores[way]
        self.scores[way] = rate if np.isnan(old) else (1 - SMOOTHING) * old + SMOOTHING * rate

    def nodes(self, way: int, board: Board, size: int) -> IntArray:
        """So many nodes, ascending; more if the job that the choice is about spans more than half of them."""
        match WAYS[way]:
            case "poor":
                choice: Choice = ([], self._by_loss(board))
            case "linked":
                choice = self._linked(board)
            case "wanted":
                choice = self._wanted(board)
            case _:
                choice = ([], [])
        return self._gather(*choice, size)

    def _gather(self, needed: list[int], domains: Iterable[int], size: int) -> IntArray:
        """The nodes needed, then those of the domains in order, then of the deck; the last domain may be cut."""
        ledger, chosen, seen = self.ledger, [np.array(needed, dtype=np.int64)], set[int]()
        left = min(max(size - len(needed), size // 2), self.problem.n_nodes - len(needed))
        order = itertools.chain(domains, self._drawn())
        while left > 0 and (d := next(order, None)) is not None:
            if d in seen:
                continue
            seen.add(d)
            nodes = np.setdiff1d(np.arange(ledger.first[d], ledger.end[d]), chosen[0], assume_unique=True)
            if len(nodes) > left:
                nodes = self.rng.choice(nodes, size=left, replace=False)
            chosen.append(nodes)
            left -= len(nodes)
        return np.sort(np.concatenate(chosen))

    def _drawn(self) -> Iterator[int]:
        """The next domains of the deck, shuffled anew when it runs out; two decks at most."""
        for _ in range(2 * len(self.ledger)):
            if not self.deck:
                self.deck = self.rng.permutation(len(self.ledger)).tolist()
            yield self.deck.pop()

    def _by_loss(self, board: Board) -> list[int]:
        """Domains in random order, those that lose more more likely first."""
        losses = self.ledger.losses(self.problem, board)
        lossy = np.flatnonzero(losses > 0)
        # Exponential clocks: the order of a draw without replacement with these weights.
        clocks = self.rng.exponential(1.0, size=len(lossy)) / losses[lossy]
        ordered: list[int] = lossy[np.argsort(clocks, kind="stable")].tolist()
        return ordered

    def _linked(self, board: Board) -> Choice:
        """The nodes of a job that loses; its domains, then those of the jobs that run in these and elsewhere too."""
        lag = {
            job: self._ceiling(job) - value
            for job, value in sorted(board.utilities.items())
            if self._ceiling(job) - value > 1e-9
        }
        if not lag:
            return [], self._by_loss(board)
        jobs, weights = list(lag), np.array(list(lag.values()))
        seed = jobs[int(self.rng.choice(len(jobs), p=weights / weights.sum()))]
        first = self._domains(board, seed)
        near = [d for job in board.placement if not first.isdisjoint(ds := self._domains(board, job)) for d in ds]
        others = [d for d in dict.fromkeys(near) if d not in first]
        domains = [*sorted(first), *self.rng.permutation(np.array(others, dtype=np.int64)).tolist()]
        return sorted(board.placement[seed]), domains

    def _wanted(self, board: Board) -> Choice:
        """Nodes and domains of the best place of a job left out; the more it is worth at the prices, the likelier."""
        problem, ledger = self.problem, self.ledger
        out = [j for j in problem.open_jobs.tolist() if j not in board.placement]
        if not out:
            return [], self._by_loss(board)
        value = ledger.values[out]
        weights = value + 1e-3 * np.array([problem.kind(j).weight for j in out])
        job = out[int(self.rng.choice(len(out), p=weights / weights.sum()))]
        best = best_placement(problem, job, problem.free, problem.uplink_free, ledger.prices)
        if best is None:
            return [], self._by_loss(board)
        return sorted(best.counts), sorted({int(ledger.domain_of[n]) for n in best.counts})

    def _domains(self, board: Board, job: int) -> set[int]:
        return {int(self.ledger.domain_of[n]) for n in board.placement[job]}

    def _ceiling(self, job: int) -> float:
        kind = self.problem.kind(job)
        return kind.weight * kind.k * float(kind.levels.efficiency[0])
