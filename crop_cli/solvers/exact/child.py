"""The parent's side of a solver process: starting it, reading its pipe, ending it and all that it started."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

WORKER = "crop_cli.solvers.exact.worker"

EXIT = 0.2
"""Seconds that a child gets to end by itself after its last word, and its group to vanish after the kill."""

LOG_TAIL = 20_000
"""Bytes of the end of the log that are kept."""


class Child:
    """A solver process in a session of its own, so that Ctrl-C at the terminal does not reach it.

    Parameters
    ----------
    directory
        Private directory with the task; output, temporary files and working directory of the child are there too.
    """

    def __init__(self, directory: Path) -> None:
        self._log = directory / "log.txt"
        self._pipe, write_end = os.pipe()
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", WORKER, str(directory), str(write_end)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    cwd=directory,
                    env=_environment(directory),
                    pass_fds=[write_end],
                    start_new_session=True,
                )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(write_end)
        assert self._process.stdin is not None
        self._leash = self._process.stdin

    def read(self, timeout: float) -> bytes | None:
        """What the child has sent; None if nothing comes within the timeout (s), empty at the end of its pipe."""
        ready, _, _ = select.select([self._pipe], [], [], timeout)
        return os.read(self._pipe, 1 << 20) if ready else None

    def ask_to_stop(self) -> None:
        """Send the byte that asks; a child that is gone does not mind."""
        with contextlib.suppress(BrokenPipeError):
            self._leash.write(b"s")
            self._leash.flush()

    def end(self) -> int:
        """Leave nothing of the session alive, reap the child, close the pipes.

        Returns
        -------
        int
            Exit code as of `subprocess.Popen`.
        """
        group = self._process.pid
        until = time.monotonic() + EXIT
        while os.waitid(os.P_PID, group, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None and time.monotonic() < until:
            time.sleep(0.002)
        # The child is not reaped yet, so its number, which is also the group's, cannot belong to anyone else.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        code = self._process.wait()
        os.close(self._pipe)
        with contextlib.suppress(BrokenPipeError):
            self._leash.close()
        _wait_for_group(group)
        return code

    def log_tail(self) -> str:
        """End of what the child and its library printed."""
        with self._log.open("rb") as file:
            file.seek(max(0, self._log.stat().st_size - LOG_TAIL))
            return file.read().decode("utf-8", errors="replace")


def _wait_for_group(group: int) -> None:
    """Wait until no killed process is left to write into the directory that is about to be removed."""
    until = time.monotonic() + EXIT
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < until:
            os.killpg(group, 0)
            time.sleep(0.002)


def _environment(directory: Path) -> dict[str, str]:
    """The child imports from where this process does, and keeps its temporary files in the private directory."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": str(directory),
    }
