"""The event loop: arrivals, completions, failures, repairs, slow spells, scheduling rounds.

At one moment, completions come first, then repairs and failures, then arrivals, then the round. The same trace,
cluster, settings and seed give the same events, as long as the solver ends by itself in every round.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.problem import Counts, Problem
from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.metrics import Meter
from crop_cli.simulate.policy import Scheduler
from crop_cli.simulate.queue import Queue
from crop_cli.simulate.settings import DAY, Settings
from crop_cli.simulate.weather import Change
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.fits import Fit, Room

NEVER = math.inf

PATIENCE = (365.0 * DAY, 20.0)
"""A simulation without an end ends when no job has come or finished for so many seconds, and so many times the longest
time that a job takes without failures: gangs that fail more often than they checkpoint, or need nodes that are hardly
ever up together, never finish.
"""

STALE = (2, 64)
"""Completions that may be foreseen per running job, and beyond that, before those of old versions are thrown away."""

Watch = Callable[["Engine"], None]


@dataclass(slots=True)
class Engine:
    """A simulation in the making.

    Attributes
    ----------
    now
        Seconds since the start of the trace.
    arrivals
        Jobs that have not arrived yet, the next one last.
    ends
        Heap of (time, job index, version): completions as foreseen; those of an old version do not happen.
    weather, change
        Changes to come, in order, and the next one.
    releases
        Heap of times at which nodes that were left alone after a failure may be used again.
    dirty, next_round
        Whether something happened since the last round, and when the next one is due.
    progress
        When a job last came or finished.
    longest
        Seconds that any job takes without failures, at its duration or at any rate so far: slow links can make it any
        multiple of the duration.
    budget
        Whoever interrupts it ends the simulation after the event at hand.
    """

    problem: Problem
    settings: Settings
    jobs: list[SimJob]
    cluster: SimCluster
    queue: Queue
    scheduler: Scheduler
    weather: Iterator[Change]
    meter: Meter = field(default_factory=Meter)
    now: float = 0.0
    arrivals: list[SimJob] = field(default_factory=list)
    ends: list[tuple[float, int, int]] = field(default_factory=list)
    change: Change | None = None
    releases: list[float] = field(default_factory=list)
    dirty: bool = False
    next_round: float = NEVER
    progress: float = 0.0
    longest: float = 0.0
    after: Watch = lambda _engine: None
    budget: Budget = field(default_factory=Budget)

    def run(self) -> None:
        """Until nobody runs, waits or will come; until the end that was set; or until nothing can happen any more."""
        coming = [job for job in self.jobs if job.phase == "waiting"]
        self.arrivals = sorted(coming, key=lambda job: (-job.arrival, -job.index))
        self.meter.start = self.meter.at = self.now = self.arrivals[-1].arrival if self.arrivals else 0.0
        self.longest = max((job.duration for job in coming), default=0.0)
        self.change = next(self.weather, None)
        until = NEVER if self.settings.until_s is None else self.settings.until_s
        while not self.budget.interrupted and (moment := self._next()) <= until and moment < NEVER:
            patience = max(PATIENCE[0], PATIENCE[1] * self.longest)
            if until == NEVER and not self.arrivals and moment - self.progress > patience:
                break
            self._move_to(moment)
            self._complete()
            self._change_devices()
            self._release()
            self._arrive()
            if self.dirty and self.now >= self.next_round:
                self._round()
            self.meter.sample(self.now, self.cluster, len(self.queue))
            self.after(self)
        if until < NEVER and not self.budget.interrupted:
            self._move_to(until)
        for job in self.cluster.running.values():
            job.advance(self.now)
        self.meter.sample(self.now, self.cluster, len(self.queue), last=True)

    def _next(self) -> float:
        """When something happens next; never, if no job is left or none can ever go on."""
        while self.ends and self.jobs[self.ends[0][1]].version != self.ends[0][2]:
            heapq.heappop(self.ends)
        arrival = self.arrivals[-1].arrival if self.arrivals else NEVER
        end = self.ends[0][0] if self.ends else NEVER
        change = self.change.time if self.change else NEVER
        if arrival == NEVER and end == NEVER and not len(self.queue):
            # With a set end, nodes fail and are repaired until then.
            return NEVER if self.settings.until_s is None else change
        soon = self.next_round if self.dirty else NEVER
        release = self.releases[0] if self.releases else NEVER
        return min(arrival, end, change, soon, release)

    def _move_to(self, moment: float) -> None:
        moment = max(moment, self.now)
        self.meter.advance(moment, self.cluster, len(self.queue))
        self.now = moment

    def _complete(self) -> None:
        while self.ends and self.ends[0][0] <= self.now:
            _, index, version = heapq.heappop(self.ends)
            job = self.jobs[index]
            if job.version == version:
                touched = self.cluster.stop(job)
                job.finish(self.now)
                self.progress = self.now
                self._again(touched)
                self._want_round()

    def _change_devices(self) -> None:
        while self.change is not None and self.change.time <= self.now:
            for node in self.change.nodes:
                self._change_node(self.change.kind, node, self.change.time)
            self.change = next(self.weather, None)

    def _change_node(self, kind: str, node: int, time: float) -> None:
        """The time of a change is before now only if it came before the first job."""
        if kind == "fail":
            if self.cluster.fail(node):
                release = self.scheduler.note_failure(node, time)
                if release is not None:
                    heapq.heappush(self.releases, release)
                for job in self.cluster.jobs_on(node):
                    touched = self.cluster.stop(job)
                    job.interrupt(self.now)
                    self.queue.add(job)
                    self._again(touched)
                self._want_round()
        elif kind == "repair":
            if self.cluster.repair(node):
                self._want_round()
        else:
            self._again(self.cluster.set_slow(node, kind == "slow"))
            self._want_round()

    def _release(self) -> None:
        while self.releases and self.releases[0] <= self.now:
            heapq.heappop(self.releases)
            self._want_round()

    def _arrive(self) -> None:
        while self.arrivals and self.arrivals[-1].arrival <= self.now:
            self.queue.add(self.arrivals.pop())
            self.progress = self.now
            self._want_round()

    def _want_round(self) -> None:
        """A round at the next moment at which one is due."""
        step = self.settings.policy.round_s
        if not self.dirty:
            self.next_round = self.now if step <= 0 else math.ceil(self.now / step - 1e-9) * step
        self.dirty = True

    def _round(self) -> None:
        self.dirty = False
        policy, moves, more = self.settings.policy, True, True
        while more and len(self.queue):
            waiting = len(self.queue)
            for job, counts in self.scheduler.decide(self.now, self.queue, self.cluster, moves=moves):
                if job.phase == "running":
                    self._move(job, counts)
                else:
                    self._start(job, counts)
            # Whoever starts lets others into the window.
            more = policy.backfill and len(self.queue) < waiting and waiting > policy.window
            moves = False

    def _start(self, job: SimJob, counts: Counts) -> None:
        self.queue.remove(job)
        job.begin(self.now, counts, job.restart_s if job.interruptions else 0.0)
        self._again(self.cluster.start(job, counts))

    def _move(self, job: SimJob, counts: Counts) -> None:
        """A running job goes somewhere else with all it has done, and pays for it in time."""
        job.advance(self.now)
        touched = self.cluster.stop(job)
        job.saved = job.done
        minutes = self.problem.instance.jobs[job.index].migration_minutes or self.settings.policy.migration_minutes
        job.begin(self.now, counts, 60.0 * minutes)
        job.moves += 1
        job.starts -= 1
        touched |= self.cluster.start(job, counts)
        self._again(touched)

    def _again(self, touched: set[int]) -> None:
        """New rates for jobs whose uplinks or nodes changed, and when they will end now."""
        for index, rate in self.cluster.rates(touched).items():
            job = self.jobs[index]
            job.advance(self.now)
            waiting = self.cluster.waiting_share(job, rate)
            if rate != job.rate or waiting != job.wait_share or index in touched:
                job.rate, job.wait_share = rate, waiting
                if rate > 0:
                    self.longest = max(self.longest, job.restart_s + job.duration / rate)
                job.version += 1
                heapq.heappush(self.ends, (job.finish_time(), index, job.version))
        if len(self.ends) > STALE[0] * len(self.cluster.running) + STALE[1]:
            self.ends = [end for end in self.ends if self.jobs[end[1]].version == end[2]]
            heapq.heapify(self.ends)


def reject_hopeless(problem: Problem, jobs: list[SimJob]) -> None:
    """Jobs that would not fit even if no other job of the trace ran are rejected, with the reason.

    Also those that no uplink limit would stop under a rule that ignores them: the same jobs under every policy.
    """
    room = Room(problem, problem.free, problem.uplink_free)
    hopeless: dict[int, str | None] = {}
    for job in jobs:
        kind = int(problem.kind_of[job.index])
        if kind not in hopeless:
            table = problem.kinds[kind]
            fit = Fit(room, table)
            fits = fit.attainable(table.allowed, uplinks=True).fits(table.k)
            if fits:
                hopeless[kind] = None
            elif not np.isfinite(table.compute_s[problem.hardware_of]).any():
                hopeless[kind] = "the cluster has no node of a type that it may use"
            else:
                hopeless[kind] = f"its gang of {table.k} does not fit into the empty cluster under its constraints"
        if hopeless[kind] is not None:
            job.phase, job.reason = "rejected", hopeless[kind]
