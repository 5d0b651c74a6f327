"""A placement under construction: what is free and what is placed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.problem import Counts, FloatArray, Placement, Problem, reserved_gbps, utility
from crop_cli.solvers.state import State


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment that a board can return to."""

    free: FloatArray
    uplink_free: FloatArray
    placement: Placement
    utilities: dict[int, float]


@dataclass(slots=True)
class Board:
    """Free capacity and placed jobs, changed in place.

    Attributes
    ----------
    state
        Free resources and bandwidth.
    placement, utilities
        Placed open jobs: counts, and U_j.
    """

    problem: Problem
    state: State
    placement: Placement = field(default_factory=dict)
    utilities: dict[int, float] = field(default_factory=dict)

    @classmethod
    def empty(cls, problem: Problem) -> Board:
        """Nothing placed but what is pinned."""
        return cls(problem, State.empty(problem))

    @property
    def value(self) -> float:
        """F of what is placed."""
        return self.problem.pinned_value + math.fsum(self.utilities.values())

    def take(self, job: int, counts: Counts, value: float | None = None) -> None:
        """Place a job; `value` is its utility if it is known."""
        self.placement[job] = counts
        self.utilities[job] = utility(self.problem, job, counts) if value is None else value
        self._change(job, counts, -1.0)

    def release(self, job: int) -> tuple[Counts, float]:
        """Take a job away; returns where it was and its utility."""
        counts = self.placement.pop(job)
        self._change(job, counts, 1.0)
        return counts, self.utilities.pop(job)

    def load(self, placement: Placement) -> None:
        """Replace what is placed."""
        for job in list(self.placement):
            self.release(job)
        for job, counts in placement.items():
            self.take(job, counts)

    def fits(self, job: int, counts: Counts) -> bool:
        """Whether what is free suffices for a placement; its shape is not looked at."""
        return not self.lacking_nodes(job, counts) and not self.lacking_uplinks(job, counts)

    def lacking_nodes(self, job: int, counts: Counts) -> list[int]:
        """Nodes of a placement where a resource does not suffice."""
        nodes = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
        workers = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
        load = workers[:, None] * self.problem.kind(job).demand
        lacking = (load > self.state.free[nodes] + self.problem.node_slack[nodes]).any(axis=1)
        return [int(n) for n in nodes[lacking]]

    def lacking_uplinks(self, job: int, counts: Counts) -> list[int]:
        """Vertices of a placement whose uplink has too little bandwidth left."""
        vertices, rates = reserved_gbps(self.problem, job, counts)
        lacking = rates > self.state.uplink_free[vertices] + self.problem.uplink_slack[vertices]
        return [int(v) for v in vertices[lacking]]

    def mark(self) -> Mark:
        """This moment, to `rewind` to."""
        state = self.state
        return Mark(state.free.copy(), state.uplink_free.copy(), dict(self.placement), dict(self.utilities))

    def rewind(self, mark: Mark) -> None:
        """Undo everything since a mark."""
        self.state.free[:] = mark.free
        self.state.uplink_free[:] = mark.uplink_free
        self.placement = dict(mark.placement)
        self.utilities = dict(mark.utilities)

    def _change(self, job: int, counts: Counts, sign: float) -> None:
        if len(counts) == 1:
            # One node holds the whole job: no uplink is cut.
            ((node, workers),) = counts.items()
            self.state.free[node] += sign * workers * self.problem.kind(job).demand
        elif sign < 0:
            self.state.take(job, counts)
        else:
            self.state.release(job, counts)
