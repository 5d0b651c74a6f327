"""Simulated annealing on F: place, exchange and drop jobs, worse moves ever less likely (Metropolis).

Moves keep every constraint, uplinks included, because the objective does not count what breaks them. The start is the
queue placed job by job. The temperature falls by a constant factor per step, from a tenth of a job's mean worth to a
thousandth of that; the best placement met is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.problem import Counts, Placement, utility
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.fits import Fit, Room
from crop_cli.solvers.queueing.baseline import Queue, whole_queue
from crop_cli.solvers.queueing.counts import descend
from crop_cli.solvers.queueing.domains import holders
from crop_cli.solvers.queueing.options import whole_number
from crop_cli.solvers.queueing.scratch import scratch
from crop_cli.solvers.queueing.view import View

STEPS, STEPS_PER_JOB = 20_000, 20
"""Moves that are tried unless told otherwise: so many at least, and so many for each job of the queue."""

HOTTEST, COLDEST = 0.1, 1e-4
"""Temperature at the start and at the end, as a share of the mean worth w·k of a job."""


@whole_queue(
    source="S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Optimization by Simulated Annealing, Science 220 (1983)",
    knows=("steps",),
)
def place(queue: Queue, view: View, budget: Budget) -> Placement:
    """The best placement on a random walk."""
    steps = whole_number(view.options, "steps", max(STEPS, STEPS_PER_JOB * len(queue)))
    if not queue:
        return {}
    worths = [view.problem.kind(job).weight * view.problem.kind(job).k for job in queue]
    walk = _Walk(scratch(view), bonus=1.0 + sum(worths))
    for job in queue:
        if budget.should_stop:
            return walk.best
        walk.step({job: True}, temperature=0.0)
    mean = sum(worths) / len(worths)
    for step in range(steps):
        if budget.should_stop:
            break
        temperature = mean * HOTTEST * (COLDEST / HOTTEST) ** (step / steps)
        walk.step(_move(queue, walk), temperature)
    return walk.best


def _move(queue: Queue, walk: _Walk) -> dict[int, bool]:
    """Jobs to lift, in the order in which they look for a new place; false: the job is dropped."""
    rng = walk.view.rng
    job, kind = queue[int(rng.integers(len(queue)))], rng.random()
    if kind < 0.1:
        return {job: False}
    if kind < 0.5 or not walk.placed:
        return {job: True}
    placed = list(walk.placed)
    # The job that did not have the other's place looks first, so that it may take it.
    return {job: True, placed[int(rng.integers(len(placed)))]: True}


@dataclass(slots=True)
class _Walk:
    """Where the walk is: the jobs placed and what each adds to F, and the best that was met.

    `bonus` is added for a job that must run: more than all others together can be worth.
    """

    view: View
    bonus: float
    placed: Placement = field(default_factory=dict)
    values: dict[int, float] = field(default_factory=dict)
    best: Placement = field(default_factory=dict)
    lead: float = 0.0

    def step(self, lifted: dict[int, bool], temperature: float) -> None:
        """Try a move: accepted if it is no worse, or with probability exp(change / temperature)."""
        before = {job: self.placed[job] for job in lifted if job in self.placed}
        change = -sum(self.values[job] for job in before)
        for job in before:
            self._lift(job)
        for job, again in lifted.items():
            counts = self._somewhere(job) if again else None
            if counts is not None:
                self._put(job, counts)
                change += self.values[job]
        if change >= 0 or (temperature > 0 and self.view.rng.random() < math.exp(change / temperature)):
            # How far the walk is below the best; at 0 it is the best.
            self.lead += change
            if self.lead > 0:
                self.best, self.lead = dict(self.placed), 0.0
            return
        for job in lifted:
            if job in self.placed:
                self._lift(job)
        for job, counts in before.items():
            self._put(job, counts)

    def _lift(self, job: int) -> None:
        self.view.state.release(job, self.placed.pop(job))
        del self.values[job]

    def _put(self, job: int, counts: Counts) -> None:
        problem = self.view.problem
        self.view.state.take(job, counts)
        self.placed[job] = counts
        self.values[job] = utility(problem, job, counts) + self.bonus * bool(problem.must_place[job])

    def _somewhere(self, job: int) -> Counts | None:
        """A random domain of a random level, or of the next one up that has any; filled emptiest first or at random."""
        view, kind, rng = self.view, self.view.problem.kind(job), self.view.rng
        room = Room(view.problem, np.maximum(view.state.free, 0.0), view.state.uplink_free)
        below = Fit(room, kind).attainable(kind.allowed, uplinks=True).below
        sets = {v: counts for v, counts in below.items() if counts != 1}
        at_random, free = rng.random() < 0.5, view.problem.tree.sum_below(room.gpus)
        for depth in range(int(rng.integers(view.problem.tree.max_depth + 1)), -1, -1):
            domains = holders(view, job, sets, depth)
            if domains:
                domain = domains[int(rng.integers(len(domains)))]
                return descend(
                    view.problem.tree,
                    sets,
                    domain,
                    kind.k,
                    lambda vertices: (
                        rng.permutation(vertices).tolist()
                        if at_random
                        else sorted(vertices, key=lambda v: -int(free[v]))
                    ),
                )
        return None
