"""How long a solver process is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from crop_cli.model.solution import StopReason

GRACE_AFTER_LIMIT = 0.6
"""Seconds between the deadline, when the child is asked to stop, and its end by force."""

GRACE_AFTER_STOP = 1.0
"""The same after `should_stop`."""


@dataclass(slots=True)
class Patience:
    """The deadline and the flag of one run.

    Attributes
    ----------
    deadline
        `time.monotonic()` at which the child is asked to stop; None for never.
    should_stop
        The caller's flag.
    asked
        Why the child was asked to stop, `time_limit` or `interrupted`; None if it was not.
    over
        Whether the child outlived its grace.
    """

    deadline: float | None
    should_stop: Callable[[], bool]
    asked: StopReason | None = None
    over: bool = False
    _end: float = float("inf")

    def exhausted(self, ask: Callable[[], None]) -> bool:
        """Whether to wait no longer; calls `ask` when it is time for the child to stop."""
        now = time.monotonic()
        late = self.deadline is not None and now >= self.deadline
        if self.asked is None and self.should_stop():
            self.asked, self._end = "interrupted", now + GRACE_AFTER_STOP
            ask()
        elif self.asked is None and late:
            self.asked = "time_limit"
            ask()
        if late and self.deadline is not None:
            self._end = min(self._end, self.deadline + GRACE_AFTER_LIMIT)
        self.over = now >= self._end
        return self.over
