"""The streams of a command: where results and messages go, and what they can show."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO


@dataclass(slots=True)
class Environment:
    """Standard output for results, standard error for everything else.

    A reader that closes the pipe early (`crop solve ... | head`) has seen what it wanted: what is left is dropped
    silently, and the command goes on to its own exit code.
    """

    stdout: TextIO
    stderr: TextIO
    colour: bool

    @classmethod
    def current(cls) -> Environment:
        """The process's streams, made safe for names that the terminal's encoding lacks."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(sys.stdout, sys.stderr, colour=not plain)

    @property
    def rich_output(self) -> bool:
        """Whether standard output is a terminal, so that tables may be drawn to its width."""
        return self.stdout.isatty()

    @property
    def live_progress(self) -> bool:
        """Whether standard error is a terminal on which a line may be redrawn."""
        return self.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def out(self, text: str) -> None:
        """Write a line of results."""
        try:
            self.stdout.write(text + "\n")
            self.stdout.flush()
        except BrokenPipeError:
            self.drop_stdout()

    def out_bytes(self, data: bytes) -> None:
        """Write a document as it is, whatever the terminal's encoding."""
        buffer = getattr(self.stdout, "buffer", None)
        try:
            self.stdout.flush()
            if buffer is None:
                self.stdout.write(data.decode())
            else:
                buffer.write(data)
                buffer.flush()
            self.stdout.flush()
        except BrokenPipeError:
            self.drop_stdout()

    def err(self, text: str) -> None:
        """Write a line of messages; a closed standard error does not stop the work."""
        try:
            self.stderr.write(text + "\n")
            self.stderr.flush()
        except (BrokenPipeError, ValueError):
            return

    def drop_stdout(self) -> None:
        """Point standard output to nowhere, so that the interpreter's last flush does not fail either."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stdout.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            pass
        self.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (lives as long as the process)
