"""Entry point of a worker process: `python -m crop_cli.bench.worker TASK RUN` reads a task and writes its record.

The process ends when its standard input does: that is the leash by which whoever started it pulls it back, even from
beyond the grave.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import msgspec

from crop_cli.bench.attempt import attempt
from crop_cli.bench.task import Task


def main() -> None:
    """Run the task of the first file, put the record into the second."""
    threading.Thread(target=_watch_leash, daemon=True).start()
    source, target = map(Path, sys.argv[1:3])
    run = attempt(msgspec.msgpack.decode(source.read_bytes(), type=Task))
    partial = target.with_suffix(".part")
    partial.write_bytes(msgspec.msgpack.encode(run))
    partial.rename(target)


def _watch_leash() -> None:
    # Not through sys.stdin, whose lock the interpreter would wait for at its own end.
    while os.read(0, 4096):
        pass
    # The process leads a group of its own: what a solver started ends too.
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
