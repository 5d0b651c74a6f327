"""Ctrl-C and SIGTERM while a solver runs: the first asks it to end with what it has, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
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
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupt()
        # Not through the stream: the interrupted code may be in the middle of a write to it.
        with suppress(OSError, ValueError):
            os.write(environment.stderr.fileno(), message)

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does. Does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
