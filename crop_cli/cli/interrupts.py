"""Ctrl-C and SIGTERM while a solver runs: the first asks it to end with what it has, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from crop_cli.cli.environment import Environment
from crop_cli.solvers.contract import Budget

MESSAGE = b"crop: interrupted: ending with the best solution so far (again: end at once)\n"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible(budget: Budget, environment: Environment, message: bytes = MESSAGE) -> Iterator[None]:
    """Let signals interrupt a budget; handlers are restored afterwards. Does nothing outside the main thread.

    `message` goes to standard error at the first one.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupt()
        # Not through the stream: the interrupted code may be in the middle of a write to it.
        with suppress(OSError, ValueError):
            os.write(environment.stderr.fileno(), message)

    with _handled_by(on_signal):
        yield


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let SIGINT, even where whoever started the process ignores it, and SIGTERM end the work as Ctrl-C does.

    Does nothing outside the main thread.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled_by(on_signal):
        yield


@contextmanager
def _handled_by(on_signal: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handlers of both signals; those of before are restored. Nothing is done outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
