"""A run in a process of its own, from the outside: started, watched, ended at its deadline, its record fetched."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from crop_cli.bench.attempt import blank_run
from crop_cli.bench.records import Run
from crop_cli.bench.task import Task
from crop_cli.errors import CropError
from crop_cli.model.io import read_instance
from crop_cli.model.solution import StopReason
from crop_cli.solvers import registry

WORKER = "crop_cli.bench.worker"

GRACE = 30.0
"""Seconds beyond the time limit after which a run is killed: solvers keep their limits within a second or so, and the
bound of a baseline's run, the check and the start of the process come on top."""

POLL = 0.02
"""Seconds between looks at the process in `run_task`."""

LOG_TAIL = 2000
"""Bytes of the end of what a dead process printed that its record tells."""


class Worker:
    """A running task.

    Attributes
    ----------
    task
        What it runs.
    started
        Monotonic seconds.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.started = time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="crop-bench-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        (folder / "task").write_bytes(msgspec.msgpack.encode(task))
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", WORKER, str(folder / "task"), str(folder / "run")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=_environment(task.settings.threads),
                start_new_session=True,
            )

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    def finished(self) -> Run | None:
        """The record, once there is one; a run beyond its deadline is killed and its record says so."""
        # The process is not reaped here, so that its number, which is also its group's, stays its own until `end`.
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        if not ended and not self._overdue:
            return None
        result = Path(self._folder.name) / "run"
        data = result.read_bytes() if result.exists() else None
        tail = self._log.read_bytes()[-LOG_TAIL:].decode(errors="replace").strip().splitlines()
        code = self.end()
        if data is not None:
            return msgspec.msgpack.decode(data, type=Run)
        if not ended:
            text = f"it did not end within {GRACE:g} s of its time limit and was killed"
            return lost(self.task, "killed", text, self.seconds)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return lost(self.task, "error", f"its process died ({how}){': ' + tail[-1] if tail else ''}", self.seconds)

    def end(self) -> int:
        """Leave nothing of it behind; its exit code, as of `subprocess.Popen`."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._folder.cleanup()
        return code

    @property
    def _overdue(self) -> bool:
        limit = self.task.settings.time_limit
        return limit is not None and self.seconds > limit + GRACE


def run_task(task: Task, unwanted: Callable[[], bool] = lambda: False) -> Run:
    """Run a task in a process of its own and wait for the record, or until it is unwanted: asked all the while."""
    worker = Worker(task)
    try:
        while (run := worker.finished()) is None:
            if unwanted():
                return lost(task, "interrupted", "it was cancelled", worker.seconds)
            time.sleep(POLL)
        return run
    finally:
        worker.end()


def lost(task: Task, reason: StopReason, error: str, seconds: float) -> Run:
    """The record of a run whose process gave none."""
    instance = read_instance(task.document, task.instance).instance
    try:
        role = registry.find(task.solver).role
    except CropError:
        role = "baseline"
    blank = blank_run(task, instance, role)
    return msgspec.structs.replace(blank, stop_reason=reason, error=error, seconds={"total": seconds})


def _environment(threads: int) -> dict[str, str]:
    """The child imports from where this process does; libraries get as many threads as the solvers."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry),
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
    }
