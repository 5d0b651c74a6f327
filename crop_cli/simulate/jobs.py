"""A job while it is simulated: what it has done, what it lost, where it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from crop_cli.model.problem import Counts, FloatArray, IntArray

Phase = Literal["waiting", "running", "finished", "rejected"]


@dataclass(slots=True)
class SimJob:
    """State of one job. Work is counted in seconds of perfect work: a job is done when `done` reaches `duration`.

    Attributes
    ----------
    index, name, gpus, weight
        Job index in the problem, and its data.
    arrival, duration
        Seconds.
    checkpoint_s, restart_s
        Seconds between checkpoints (0: nothing is ever lost), and of a restart after a failure.
    phase, reason
        Where it stands; why it was rejected.
    counts
        Workers per node while it runs.
    done, saved
        Work done, and that of it which the last checkpoint has.
    rate, at
        Work per second since `at`, when this state was last brought up to date; `stalled_until` is the end of a restart
        or a move, before which nothing is done.
    next_checkpoint
        Time of the next checkpoint.
    version
        Counts changes of the rate: a completion that was foreseen under another one does not happen.
    first_start, end
        Seconds; None before.
    service, lost, starts, interruptions, moves
        GPU-seconds held, work lost (s), and how often it started, was interrupted, and was moved.
    active, waited, wait_share
        GPU-seconds in which it made progress, those of them that waited for the network, and the share of time that
        does now.
    vertices, link_s, reserved
        Uplinks that it cuts, its seconds per iteration on each when alone, and Gbit/s reserved there.
    compute_s, inside_s, best_s, overlap
        Seconds of computation and of communication inside nodes; of the computation that its duration counts with, and
        the share of computation behind which communication hides.
    """

    index: int
    name: str
    gpus: int
    weight: float
    arrival: float
    duration: float
    checkpoint_s: float
    restart_s: float
    best_s: float
    overlap: float
    phase: Phase = "waiting"
    reason: str | None = None
    counts: Counts = field(default_factory=dict)
    done: float = 0.0
    saved: float = 0.0
    rate: float = 0.0
    at: float = 0.0
    stalled_until: float = 0.0
    next_checkpoint: float = float("inf")
    version: int = 0
    first_start: float | None = None
    end: float | None = None
    service: float = 0.0
    lost: float = 0.0
    starts: int = 0
    interruptions: int = 0
    moves: int = 0
    vertices: IntArray | None = None
    link_s: FloatArray | None = None
    reserved: FloatArray | None = None
    active: float = 0.0
    waited: float = 0.0
    wait_share: float = 0.0
    compute_s: float = 0.0
    inside_s: float = 0.0

    def advance(self, now: float) -> None:
        """Bring work, checkpoints and service up to date; the rate was constant since `at`."""
        if self.phase != "running" or now <= self.at:
            return
        self.service += self.gpus * (now - self.at)
        start = min(max(self.at, self.stalled_until), now)
        self.active += self.gpus * (now - start)
        self.waited += self.gpus * (now - start) * self.wait_share
        if self.checkpoint_s <= 0:
            self.done += self.rate * (now - start)
            self.saved = self.done
        else:
            if self.next_checkpoint <= now:
                passed = int((now - self.next_checkpoint) // self.checkpoint_s)
                last = self.next_checkpoint + passed * self.checkpoint_s
                self.saved = self.done + self.rate * max(0.0, last - start)
                self.next_checkpoint = last + self.checkpoint_s
            self.done += self.rate * (now - start)
        self.at = now

    def finish_time(self) -> float:
        """When it will be done at the present rate."""
        if self.rate <= 0:
            return float("inf")
        return max(self.at, self.stalled_until) + (self.duration - self.done) / self.rate

    def begin(self, now: float, counts: Counts, stall: float) -> None:
        """Start, or start again: the stall (s) comes before any work, and the first checkpoint an interval after it."""
        self.phase, self.counts, self.at = "running", counts, now
        self.stalled_until = now + stall
        self.next_checkpoint = self.stalled_until + self.checkpoint_s if self.checkpoint_s > 0 else float("inf")
        self.starts += 1
        if self.first_start is None:
            self.first_start = now

    def interrupt(self, now: float) -> float:
        """A device failed: fall back to the last checkpoint and wait. Returns the work lost, seconds."""
        self.advance(now)
        lost = self.done - self.saved
        self.lost += lost
        self.done = self.saved
        self.interruptions += 1
        self.version += 1
        self.phase, self.counts, self.rate = "waiting", {}, 0.0
        return lost

    def finish(self, now: float) -> None:
        """Done."""
        self.advance(now)
        self.done = self.saved = self.duration
        self.version += 1
        self.phase, self.end, self.counts, self.rate = "finished", now, {}, 0.0
