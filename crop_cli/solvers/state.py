"""What is still free while a placement is built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts, Placement, Problem, reserved_gbps

FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class State:
    """Free resources of nodes (N, R) and free bandwidth of uplinks (V, Gbit/s); changed in place."""

    problem: Problem
    free: FloatArray
    uplink_free: FloatArray

    @classmethod
    def empty(cls, problem: Problem) -> State:
        """Nothing placed but what is pinned."""
        return cls(problem, problem.free.copy(), problem.uplink_free.copy())

    @classmethod
    def of(cls, problem: Problem, placement: Placement) -> State:
        """After a placement of open jobs."""
        state = cls.empty(problem)
        for job, counts in placement.items():
            state.take(job, counts)
        return state

    def take(self, job: int, counts: Counts) -> None:
        """Occupy what the job needs there."""
        self._change(job, counts, -1.0)

    def release(self, job: int, counts: Counts) -> None:
        """Give back what the job held there."""
        self._change(job, counts, 1.0)

    def _change(self, job: int, counts: Counts, sign: float) -> None:
        nodes = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
        workers = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
        self.free[nodes] += sign * workers[:, None] * self.problem.kind(job).demand
        vertices, rates = reserved_gbps(self.problem, job, counts)
        self.uplink_free[vertices] += sign * rates
