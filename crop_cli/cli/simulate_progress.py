"""Progress of simulations on standard error: one line redrawn on a terminal, one per simulation elsewhere."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field

from crop_cli.cli.environment import Environment
from crop_cli.names import number
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.labels import time_scale
from crop_cli.simulate.records import Simulation

REDRAW_S = 0.1
SAY_S = 10.0
"""Between lines where nothing can be redrawn, if much is to be said."""


@dataclass(slots=True)
class SimulationProgress:
    """Told after every event and every simulation; `quiet` says nothing, `verbose` speaks up also in a log."""

    environment: Environment
    quiet: bool
    verbose: bool
    total: int = 1
    policy: str = ""
    ended: int = 0
    events: int = 0
    began: float = 0.0
    told: float = field(default=-1.0)
    drawn: bool = False

    def begin(self, policy: str) -> None:
        """The simulation of a policy starts."""
        self.policy, self.events, self.began = policy, 0, time.monotonic()
        self.told = self.began

    def watch(self, engine: Engine) -> None:
        """After an event."""
        self.events += 1
        live = self.environment.live_progress
        if self.quiet or not (live or self.verbose):
            return
        now = time.monotonic()
        if now - self.told < (REDRAW_S if live else SAY_S):
            return
        self.told = now
        if live:
            self.drawn = True
            line = self._line(engine)[: shutil.get_terminal_size().columns - 1]
            self.environment.stderr.write(f"\r\x1b[K{line}")
            self.environment.stderr.flush()
        else:
            self.environment.err(self._line(engine))

    def done(self, simulation: Simulation) -> None:
        """A simulation ended."""
        self.ended += 1
        self.clear()
        if self.quiet:
            return
        figures = simulation.figures
        unit, scale = time_scale(figures.makespan_s)
        self.environment.err(
            f"{self._head()}: {number(figures.makespan_s / scale)} {unit} simulated in {self._elapsed():.1f} s "
            f"({_many(self.events, 'event')}, {_many(figures.decisions, 'decision')}): "
            f"{_many(figures.finished, 'job')} finished, "
            f"{figures.running:,} running, {figures.waiting - figures.coming:,} waiting, {figures.coming:,} coming, "
            f"{figures.rejected:,} rejected"
        )

    def clear(self) -> None:
        """Take the live line away."""
        if self.drawn:
            self.drawn = False
            self.environment.stderr.write("\r\x1b[K")
            self.environment.stderr.flush()

    def _line(self, engine: Engine) -> str:
        span = engine.now - engine.meter.start
        unit, scale = time_scale(span)
        finished = sum(job.phase == "finished" for job in engine.jobs)
        speed = span / max(self._elapsed(), 1e-3)
        return (
            f"{self._head(1)}: {number(span / scale)} {unit}, {finished:,} of {len(engine.jobs):,} jobs ended, "
            f"{len(engine.cluster.running):,} run, {len(engine.queue):,} wait, {speed:,.0f} times real time"
        )

    def _head(self, ahead: int = 0) -> str:
        return f"[{self.ended + ahead}/{self.total}] {self.policy}" if self.total > 1 else self.policy

    def _elapsed(self) -> float:
        return time.monotonic() - self.began


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
