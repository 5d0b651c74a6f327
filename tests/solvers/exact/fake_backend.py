"""A back end that behaves badly on request: the option `act` names the way. Runs in a solver process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from crop_cli.solvers.exact.protocol import Model, Outcome, Settings
from crop_cli.solvers.exact.worker import Channel


def solve(model: Model, settings: Settings, channel: Channel) -> Outcome:
    """Report the point and the bound of the options, then do what the option `act` says."""
    options = settings.options
    if "point" in options:
        channel.incumbent(np.array(options["point"].split(","), dtype=np.float64))
    if "bound" in options:
        channel.bound(float(options["bound"]))
    return _ACTS[options["act"]](model, settings, channel)


def _end(model: Model, settings: Settings, channel: Channel) -> Outcome:
    ending, _, bound = settings.options["say"].partition(" ")
    return Outcome(ending, bound=float(bound) if bound else None, message="as told", version="1.2")  # type: ignore[arg-type]


def _hang(model: Model, settings: Settings, channel: Channel) -> Outcome:
    time.sleep(600)
    raise AssertionError


def _obey(model: Model, settings: Settings, channel: Channel) -> Outcome:
    channel.stopping.wait()
    return Outcome("interrupted", version="1.2")


def _crash(model: Model, settings: Settings, channel: Channel) -> Outcome:
    print("about to crash", flush=True)
    ctypes.string_at(0)
    raise AssertionError


def _exit(model: Model, settings: Settings, channel: Channel) -> Outcome:
    os._exit(3)


def _raise(model: Model, settings: Settings, channel: Channel) -> Outcome:
    raise RuntimeError("no such luck")


def _gorge(model: Model, settings: Settings, channel: Channel) -> Outcome:
    return Outcome("error", message=str(len(bytearray(3 * 10**9))))


def _shout(model: Model, settings: Settings, channel: Channel) -> Outcome:
    os.write(1, b"to standard output\n")
    os.write(2, b"to standard error\n")
    print("through python", flush=True)
    print("through python", file=sys.stderr, flush=True)
    return Outcome("time_limit")


def _breed(model: Model, settings: Settings, channel: Channel) -> Outcome:
    child = subprocess.Popen(["sleep", "600"])
    print(f"bred {child.pid}", flush=True)
    if settings.options.get("then") == "hang":
        time.sleep(600)
    return Outcome("time_limit")


def _place(model: Model, settings: Settings, channel: Channel) -> Outcome:
    print(f"cwd {Path.cwd()}\nTMPDIR {os.environ['TMPDIR']}\nsession {os.getsid(0) == os.getpid()}", flush=True)
    return Outcome("time_limit")


def _babble(model: Model, settings: Settings, channel: Channel) -> Outcome:
    os.write(int(sys.argv[2]), b"Welcome to the solver, version 1.2")
    return Outcome("time_limit")


def _flood(model: Model, settings: Settings, channel: Channel) -> Outcome:
    for value in range(20_000):
        channel.bound(-20_000.0 + value)
    return Outcome("time_limit")


_ACTS = {
    "end": _end,
    "hang": _hang,
    "obey": _obey,
    "crash": _crash,
    "exit": _exit,
    "raise": _raise,
    "gorge": _gorge,
    "shout": _shout,
    "breed": _breed,
    "place": _place,
    "babble": _babble,
    "flood": _flood,
}
