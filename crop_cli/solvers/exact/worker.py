"""Entry of a solver process: `python -m crop_cli.solvers.exact.worker DIRECTORY FD`.

Loads one back end's module and no other library, solves the task of the directory, and streams frames to file
descriptor FD. Output goes wherever the parent has pointed descriptors 1 and 2. Descriptor 0 is the parent's leash: a
byte on it asks the library to stop, its end means that the parent is gone, and then nothing of this session lives on.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import resource
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.protocol import (
    Bound,
    FloatArray,
    Frame,
    Incumbent,
    Model,
    Outcome,
    Settings,
    encode,
    read_model,
    read_settings,
)

REPEAT_STOP = 0.1
"""Seconds between requests to stop: a library that has not quite started yet would miss a single one."""


class Channel:
    """The child's end of the pipe; safe to use from the threads of a library's callbacks.

    Attributes
    ----------
    stopping
        Set once the parent has asked to stop.
    unit
        What the back end's costs are multiples of.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._best_bound = -np.inf
        self._stop_hooks: list[Callable[[], object]] = []
        self.stopping = threading.Event()
        self.unit = 1.0

    def incumbent(self, values: NDArray[np.float64] | NDArray[np.int64]) -> None:
        """Report a point; it is rounded here and verified by the parent."""
        self._send(Incumbent(np.rint(values).astype(np.int64)))

    def bound(self, value: float) -> None:
        """Report a lower bound of the cost, if it is one and better than those before."""
        if np.isfinite(value) and value > self._best_bound:
            self._best_bound = value
            self._send(Bound(float(value) * self.unit))

    def outcome(self, outcome: Outcome) -> None:
        """Report the end."""
        self._send(outcome)

    def on_stop(self, hook: Callable[[], object]) -> None:
        """Call `hook` from another thread when the parent asks to stop, more than once if need be."""
        self._stop_hooks.append(hook)

    def request_stop(self) -> None:
        """Pass the parent's wish on to the library."""
        self.stopping.set()
        for hook in self._stop_hooks:
            hook()

    def _send(self, frame: Frame) -> None:
        data = memoryview(encode(frame))
        with self._lock:
            while data:
                data = data[os.write(self._fd, data) :]


def cost_unit(cost: FloatArray) -> float:
    """A power of two ≤ 1 by which to divide costs: libraries cut off what is below 10^-7 or so in absolute terms."""
    largest = float(np.abs(cost).max(initial=0.0))
    return min(1.0, 2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0


class Backend(Protocol):
    """The module of a back end."""

    def solve(self, model: Model, settings: Settings, channel: Channel) -> Outcome: ...


def watch_leash(channel: Channel, directory: Path) -> None:
    """Wait for the parent's word; end the whole session, and its directory, when the parent is gone."""
    while word := os.read(0, 1):
        if word == b"s":
            threading.Thread(target=_keep_asking, args=(channel,), daemon=True).start()
    shutil.rmtree(directory, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _keep_asking(channel: Channel) -> None:
    pause = threading.Event()
    while True:
        channel.request_stop()
        pause.wait(REPEAT_STOP)


def run(directory: Path, channel: Channel) -> Outcome:
    """Solve the task of the directory with the back end that it names; every failure becomes an outcome."""
    try:
        settings = read_settings(directory)
        if settings.memory_mb is not None:
            resource.setrlimit(resource.RLIMIT_AS, (settings.memory_mb * 10**6,) * 2)
        backend: Backend = importlib.import_module(settings.module)
        model = read_model(directory)
        channel.unit = unit = cost_unit(model.cost)
        model = replace(model, cost=model.cost / unit)
        settings = replace(settings, absolute_gap=settings.absolute_gap / unit)
        outcome = backend.solve(model, settings, channel)
        return outcome if outcome.bound is None else replace(outcome, bound=outcome.bound * unit)
    except UsageError as error:
        return Outcome("usage", message=str(error))
    except MemoryError:
        traceback.print_exc()
        return Outcome("error", message="out of memory")
    except Exception as error:
        traceback.print_exc()
        return Outcome("error", message=f"{type(error).__name__}: {error}")


def main() -> None:
    """Solve one task and leave without running the library's destructors, which may hang or crash."""
    faulthandler.enable()
    directory, fd = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(fd, False)
    signal.signal(signal.SIGINT, lambda *_: None)  # reaches a solver program of this session, which has its own handler
    channel = Channel(fd)
    threading.Thread(target=watch_leash, args=(channel, directory), daemon=True).start()
    channel.outcome(run(directory, channel))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
