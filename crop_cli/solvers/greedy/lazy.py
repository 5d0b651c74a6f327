"""The submodular greedy: one arrangement per domain, largest gain first, evaluated lazily (model.md, section 9)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.arrangement import Arrangement, ArrangementOracle
from crop_cli.solvers.greedy.domains import Domains
from crop_cli.solvers.greedy.finder import Place

PATIENCE = 4
"""Classes that one step looks at, at most, before it takes the best of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """A domain was given an arrangement: its gain, and an upper bound of any arrangement's gain there at that time."""

    domain: int
    gain: float
    bound: float


@dataclass(frozen=True)
class PureRun:
    """The greedy before fill and improvement.

    Attributes
    ----------
    domains
        The domains it ran over.
    steps
        One per domain, in the order taken; fewer when the budget ran out.
    best
        Of every placed job its best place, and f = Σ of their utilities.
    """

    domains: Domains
    steps: tuple[Step, ...]
    best: dict[int, Place]

    @property
    def complete(self) -> bool:
        """Whether every domain had its turn."""
        return len(self.steps) == self.domains.count

    @property
    def value(self) -> float:
        """f of the chosen arrangements."""
        return float(sum(place.utility for place in self.best.values()))

    @property
    def placement(self) -> Placement:
        """Every job at its best place only."""
        return {job: dict(place.counts) for job, place in self.best.items()}


def run_greedy(
    problem: Problem,
    domains: Domains,
    oracle: ArrangementOracle,
    budget: Budget,
    patience: int = PATIENCE,
) -> PureRun:
    """Give every domain an arrangement.

    Gains only fall while jobs are placed (f is submodular), so a class's last gain bounds its present one, and a class
    whose fresh gain is the largest of all is the eager choice. Among many classes that differ a little that may take an
    evaluation of each per step, so a step evaluates at most `patience` of them: with differing domains the factor does
    not depend on the order in which they get their turn (docs/guarantees.md), with a single class nothing changes.
    """
    current = np.zeros(problem.n_jobs)
    best: dict[int, Place] = {}
    steps: list[Step] = []
    waiting = [list(reversed(members)) for members in domains.classes]
    # Entries: minus the gain, class, step of its evaluation. At first a bound: no job is worth more than w per GPU.
    most = max((float(problem.kind(j).weight) for j in problem.open_jobs), default=0.0)
    gpus = problem.tree.sum_below(problem.free_gpus)
    heap = [(-most * float(gpus[members[0]]), c, -1) for c, members in enumerate(domains.classes)]
    heapq.heapify(heap)
    while heap and not budget.should_stop:
        chosen, arrangement = _choose(heap, waiting, oracle, current, len(steps), patience)
        steps.append(Step(waiting[chosen].pop(), arrangement.gain, arrangement.bound))
        for job, place in arrangement.places.items():
            if place.utility > current[job]:
                current[job] = place.utility
                best[job] = place
        if waiting[chosen]:
            heapq.heappush(heap, (-arrangement.gain, chosen, -1))
    return PureRun(domains, tuple(steps), best)


def _choose(
    heap: list[tuple[float, int, int]],
    waiting: list[list[int]],
    oracle: ArrangementOracle,
    current: FloatArray,
    step: int,
    patience: int,
) -> tuple[int, Arrangement]:
    """Take the class with the largest gain off the heap, evaluating classes from the top until it is known."""
    fresh: dict[int, Arrangement] = {}
    while True:
        if len(fresh) == patience:
            chosen = min(fresh, key=lambda c: (-fresh[c].gain, c))
            heap.remove((-fresh[chosen].gain, chosen, step))
            heapq.heapify(heap)
            return chosen, fresh[chosen]
        _, c, evaluated = heapq.heappop(heap)
        if evaluated == step:
            return c, fresh[c]
        fresh[c] = oracle(waiting[c][-1], current)
        heapq.heappush(heap, (-fresh[c].gain, c, step))
