"""Listeners to a running solver: nothing, log lines, one live line, or JSON lines."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass

import msgspec

from crop_cli.cli.environment import Environment
from crop_cli.model.certificate import gap_of
from crop_cli.model.solution import Solution
from crop_cli.names import percent
from crop_cli.solvers.contract import Event

REDRAW_S = 0.1


@dataclass(slots=True)
class Best:
    """The best F and bound so far, and the phase."""

    phase: str = ""
    objective: float | None = None
    bound: float | None = None

    def take(self, event: Event) -> bool:
        """Note an event; whether it says anything new."""
        if event.kind == "phase":
            self.phase = event.text
        elif event.kind == "incumbent" and event.value is not None:
            if self.objective is not None and event.value <= self.objective:
                return False
            self.objective = event.value
        elif event.kind == "bound" and event.value is not None:
            if self.bound is not None and event.value >= self.bound:
                return False
            self.bound = event.value
        return True

    def cells(self) -> tuple[str, str, str]:
        """F, bound and gap as text."""
        known = self.objective is not None and self.bound is not None
        gap = gap_of(self.objective, self.bound) if known else None  # type: ignore[arg-type]
        return (
            "-" if self.objective is None else f"{self.objective:.6f}",
            "-" if self.bound is None else f"{self.bound:.6f}",
            percent(gap),
        )


@dataclass(slots=True)
class Progress:
    """Progress on standard error: a line per event (`verbose`), one line redrawn (`live`), or nothing."""

    environment: Environment
    verbose: bool
    live: bool
    notes: bool
    best: Best
    drawn: float = -1.0
    header: bool = False

    @classmethod
    def of(cls, environment: Environment, *, quiet: bool, verbose: bool) -> Progress:
        """What the flags and the terminal ask for."""
        live = environment.live_progress and not quiet and not verbose
        return cls(environment, verbose=verbose and not quiet, live=live, notes=not quiet, best=Best())

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if event.kind == "note":
            if self.notes:
                self.clear()
                self.environment.err(f"crop: note: {event.text}")
            return
        if not self.best.take(event):
            return
        if self.verbose:
            self._log(event)
        elif self.live and (event.kind == "phase" or time.monotonic() - self.drawn > REDRAW_S):
            objective, bound, gap = self.best.cells()
            phase = self.best.phase.partition(":")[0]
            line = f"{event.seconds:7.1f} s  {phase}  objective {objective}  bound {bound}  gap {gap}"
            # A line that wraps could not be redrawn.
            self.environment.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
            self.environment.stderr.flush()
            self.drawn = time.monotonic()

    def clear(self) -> None:
        """Take the live line away."""
        if self.live and self.drawn >= 0:
            self.environment.stderr.write("\r\x1b[K")
            self.environment.stderr.flush()

    def _log(self, event: Event) -> None:
        if not self.header:
            self.environment.err(f"{'seconds':>9}  {'event':<10}{'objective':>16}{'bound':>16}{'gap':>12}")
            self.header = True
        if event.kind == "phase":
            self.environment.err(f"{event.seconds:>9.2f}  [{event.text}]")
            return
        objective, bound, gap = self.best.cells()
        self.environment.err(f"{event.seconds:>9.2f}  {event.kind:<10}{objective:>16}{bound:>16}{gap:>12}")


@dataclass(slots=True)
class JsonStream:
    """Progress and result on standard output, one JSON object a line, each with its "type"."""

    environment: Environment

    def write(self, kind: str, **members: object) -> None:
        """Write one object."""
        self.environment.out_bytes(msgspec.json.encode({"type": kind, **members}) + b"\n")

    def __call__(self, event: Event) -> None:
        """Write an event."""
        seconds = round(event.seconds, 6)
        match event.kind:
            case "incumbent":
                self.write("incumbent", seconds=seconds, objective=event.value)
            case "bound":
                self.write("bound", seconds=seconds, bound=event.value)
            case kind:
                self.write(kind, seconds=seconds, text=event.text)

    def result(self, solution: Solution) -> None:
        """Write the last object."""
        self.write("result", solution=solution)
