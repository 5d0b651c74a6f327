"""The waiting jobs in the policy's order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.settings import Order

RANK: dict[Order, Callable[[SimJob], float]] = {
    "fifo": lambda job: job.arrival,
    "sjf": lambda job: job.duration - job.done,
    "las": lambda job: job.service,
    "weight": lambda job: -job.weight,
}
"""What each order sorts by; ties by arrival and index."""


class Queue:
    """Waiting jobs; a job's rank does not change while it waits."""

    def __init__(self, order: Order) -> None:
        self._rank = RANK[order]
        self._jobs: dict[int, tuple[float, float, int]] = {}
        self._members: dict[int, SimJob] = {}
        self._sorted: list[int] | None = None

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: SimJob) -> None:
        """A job waits."""
        self._jobs[job.index] = (self._rank(job), job.arrival, job.index)
        self._members[job.index] = job
        if self._sorted is not None:
            insort(self._sorted, job.index, key=self._jobs.__getitem__)

    def remove(self, job: SimJob) -> None:
        """A job waits no longer."""
        if self._sorted is not None:
            del self._sorted[bisect_left(self._sorted, self._jobs[job.index], key=self._jobs.__getitem__)]
        del self._jobs[job.index], self._members[job.index]

    def first(self, most: int) -> list[SimJob]:
        """The first of the queue."""
        return [self._members[j] for j in self._in_order()[:most]]

    def __iter__(self) -> Iterator[SimJob]:
        return (self._members[j] for j in self._in_order())

    def _in_order(self) -> list[int]:
        if self._sorted is None:
            self._sorted = sorted(self._jobs, key=self._jobs.__getitem__)
        return self._sorted
