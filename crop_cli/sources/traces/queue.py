"""What runs at some time: a queue simulated from the start of the trace, first come, first served, first fit.

At every arrival and every end, jobs that wait are tried in order of arrival; one that does not fit does not hold up
those behind it. A job takes the first node that holds it whole; else the first free GPUs in the order of the file; else
the first nodes that are wholly free. It never overbooks an uplink. It runs as long as the trace says, wherever it is.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from crop_cli.model.instance import Cluster, Job
from crop_cli.sources.traces.room import Counts, Room

SAID = (
    "What runs is what a queue simulated from the start of the trace holds: jobs are tried in order of arrival, and "
    "one that does not fit does not hold up those behind it; a job takes the first node that holds it whole, else the "
    "first free GPUs, else the first nodes that are wholly free; uplinks are not overbooked; each runs as long as the "
    "trace says"
)
"""The rule, for people."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job with its time of arrival and the seconds that it runs."""

    job: Job
    arrival_s: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Jobs at the time asked for, by their index among the arrivals.

    Attributes
    ----------
    running
        Workers by node name, in order of arrival.
    waiting, too_large
        In order of arrival; what is too large would not even fit into the empty cluster.
    """

    running: dict[int, dict[str, int]]
    waiting: list[int]
    too_large: list[int]


def run_until(cluster: Cluster, arrivals: list[Arrival], time_s: float) -> Outcome:
    """Simulate the queue up to and including a time.

    Parameters
    ----------
    cluster
        Its nodes that are up, less what is used.
    arrivals
        In order of arrival.
    time_s
        On the clock of the arrivals.
    """
    arrivals = [arrival for arrival in arrivals if arrival.arrival_s <= time_s]
    too_large = never_fit(cluster, [arrival.job for arrival in arrivals])
    queue = _Queue(arrivals, Room(cluster))
    for i, arrival in enumerate(arrivals):
        if i not in too_large:
            queue.finish_until(arrival.arrival_s)
            queue.arrive(i, arrival.arrival_s)
    queue.finish_until(time_s)
    names = queue.room.names
    running = {i: {names[n]: x for n, x in queue.running[i].items()} for i in sorted(queue.running)}
    return Outcome(running, queue.waiting(), sorted(too_large))


def never_fit(cluster: Cluster, jobs: list[Job]) -> set[int]:
    """Indices of jobs for which the rule finds no place even where nothing else runs."""
    empty = Room(cluster)
    fits: dict[Hashable, bool] = {}
    for job in jobs:
        alike = _alike(job)
        if alike not in fits:
            fits[alike] = empty.find(job) is not None
    return {i for i, job in enumerate(jobs) if not fits[_alike(job)]}


@dataclass(slots=True)
class _Queue:
    """Jobs that run and jobs that wait.

    Those that wait are kept by what decides where they fit. Of equal jobs only the first is tried, and only when
    something has ended since it was tried last: till then none of them finds a place.
    """

    arrivals: list[Arrival]
    room: Room
    running: dict[int, Counts] = field(default_factory=dict)
    _lines: dict[Hashable, deque[int]] = field(default_factory=dict)
    _ends: list[tuple[float, int]] = field(default_factory=list)

    def arrive(self, i: int, now: float) -> None:
        """Start a job or let it wait."""
        alike = _alike(self.arrivals[i].job)
        if alike in self._lines or not self._start(i, now):
            self._lines.setdefault(alike, deque()).append(i)

    def finish_until(self, limit: float) -> None:
        """End what ends up to a time, and start what then fits."""
        while self._ends and self._ends[0][0] <= limit:
            now = self._ends[0][0]
            while self._ends and self._ends[0][0] == now:
                _, i = heapq.heappop(self._ends)
                self.room.give(self.arrivals[i].job, self.running.pop(i))
            self._refill(now)

    def waiting(self) -> list[int]:
        """All that wait, in order of arrival."""
        return sorted(i for line in self._lines.values() for i in line)

    def _refill(self, now: float) -> None:
        heads = [(line[0], alike) for alike, line in self._lines.items()]
        heapq.heapify(heads)
        while heads and self.room.gpus_free:
            i, alike = heapq.heappop(heads)
            if not self._start(i, now):
                continue
            line = self._lines[alike]
            line.popleft()
            if line:
                heapq.heappush(heads, (line[0], alike))
            else:
                del self._lines[alike]

    def _start(self, i: int, now: float) -> bool:
        job = self.arrivals[i].job
        counts = self.room.find(job)
        if counts is None:
            return False
        self.room.take(job, counts)
        self.running[i] = counts
        heapq.heappush(self._ends, (now + self.arrivals[i].duration_s, i))
        return True


def _alike(job: Job) -> tuple[object, ...]:
    """What decides where a job fits; sortable, as ties among indices cannot occur."""
    compute = tuple(sorted(job.compute_s.items())) if isinstance(job.compute_s, dict) else job.compute_s
    return (job.gpus, compute, job.message_mb, job.pattern, job.within, tuple(sorted(job.resources_per_gpu.items())))
