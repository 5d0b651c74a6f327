"""What every solver takes and gives: the request, the answer, the events on the way, and the time it may use."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from crop_cli.model.problem import Placement, Problem
from crop_cli.model.solution import Guarantee, StopReason

if TYPE_CHECKING:
    from crop_cli.solvers.columns.bound import ColumnBound


@dataclass(frozen=True, slots=True)
class Request:
    """Options of one run.

    Attributes
    ----------
    gap
        Stop when (bound − F)/|F| is at most this; 0 asks for a proof.
    seed, threads
        Passed on to whatever is random or parallel.
    options
        `--set key=value` pairs; a solver refuses keys it does not know with `UsageError`.
    start
        A feasible placement to improve on, if one is known.
    bound
        A proven upper bound of F, if one is known: a run may end as soon as it is met.
    relaxation
        What column generation ended with, if it ran: prices, and the columns of the last LP.
    """

    gap: float = 0.0
    seed: int = 0
    threads: int = 1
    options: dict[str, str] = field(default_factory=dict)
    start: Placement | None = None
    bound: float | None = None
    relaxation: ColumnBound | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solver found out.

    Attributes
    ----------
    placement
        Open jobs only (pinned ones are implied); None when no feasible placement was found.
    bound
        Upper bound of F, pinned jobs included, valid whatever the placement; None when unknown.
    infeasible
        Proven: no placement runs all jobs that must run.
    stop_reason
        Why it ended.
    guarantee
        Factor that held a priori, if any.
    relaxation
        What column generation ended with, if the solver took it further.
    back_end, back_end_version
        Library that did the work, if one did.
    seconds
        Wall-clock seconds by phase: "build", "solve", "bound".
    notes
        Facts for the user, one sentence each.
    """

    placement: Placement | None
    stop_reason: StopReason
    bound: float | None = None
    infeasible: bool = False
    guarantee: Guarantee = field(default_factory=Guarantee)
    relaxation: ColumnBound | None = None
    back_end: str | None = None
    back_end_version: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Progress: `kind` is "phase", "incumbent", "bound" or "note"; `value` is F or the bound; `seconds` are elapsed."""

    kind: str
    seconds: float
    value: float | None = None
    text: str = ""


Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Nobody listens."""


class Budget:
    """Wall-clock budget of a whole run, and the flag that Ctrl-C sets.

    Parameters
    ----------
    limit
        Seconds from now; None for no limit.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._start = time.monotonic()
        self._limit = limit
        self._interrupted = False
        self._whole: Budget | None = None

    def part(self, share: float) -> Budget:
        """A stage's budget: that share of what remains. Its clock and its interruption are the whole's."""
        stage = Budget()
        stage._start, stage._whole = self._start, self
        if self.remaining is not None:
            stage._limit = self.elapsed + share * self.remaining
        return stage

    @property
    def interrupted(self) -> bool:
        """Whether somebody asked the run to end."""
        return self._interrupted or (self._whole is not None and self._whole.interrupted)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds left, not below 0; None for no limit."""
        return None if self._limit is None else max(0.0, self._limit - self.elapsed)

    @property
    def expired(self) -> bool:
        """Whether the limit has passed."""
        return self._limit is not None and self.elapsed >= self._limit

    @property
    def should_stop(self) -> bool:
        """Whether the run is to end now, for whatever reason."""
        return self.interrupted or self.expired

    def interrupt(self) -> None:
        """Ask the run to end; safe in a signal handler."""
        self._interrupted = True

    def stop_reason(self) -> StopReason:
        """`interrupted` or `time_limit`: why `should_stop` is true."""
        return "interrupted" if self.interrupted else "time_limit"


class Solver(Protocol):
    """A solver is one function."""

    def __call__(self, problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer: ...
