"""The streams of a command: where results and messages go, and what they can show."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from crop_cli.errors import CropError


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
        # A stream that was closed before the start is None.
        return cls(sys.stdout or _nowhere(), sys.stderr or _nowhere(), colour=not plain)

    @property
    def rich_output(self) -> bool:
        """Whether standard output is a terminal, so that tables may be drawn to its width."""
        return self.stdout.isatty()

    @property
    def piped(self) -> bool:
        """Whether standard output is a pipe to another command."""
        try:
            return stat.S_ISFIFO(os.fstat(self.stdout.fileno()).st_mode)
        except (OSError, ValueError):
            return False

    @property
    def live_progress(self) -> bool:
        """Whether standard error is a terminal on which a line may be redrawn."""
        return self.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def out(self, text: str) -> None:
        """Write a line of results."""
        with self.writing():
            self.stdout.write(text + "\n")
            self.stdout.flush()

    def out_bytes(self, data: bytes) -> None:
        """Write a document as it is, whatever the terminal's encoding."""
        buffer = getattr(self.stdout, "buffer", None)
        with self.writing():
            self.stdout.flush()
            if buffer is None:
                self.stdout.write(data.decode())
            else:
                buffer.write(data)
                buffer.flush()
            self.stdout.flush()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around every write to standard output: a reader that left is no error, a full disk is one.

        Raises
        ------
        CropError
            If standard output cannot be written.
        """
        try:
            yield
        except BrokenPipeError:
            self._drop_stdout()
        except OSError as error:
            self._drop_stdout()
            raise CropError(f"standard output cannot be written: {error.strerror or error}") from None

    def err(self, text: str) -> None:
        """Write a line of messages; a closed standard error does not stop the work."""
        try:
            self.stderr.write(text + "\n")
            self.stderr.flush()
        except (OSError, ValueError):
            return

    def _drop_stdout(self) -> None:
        """Point standard output to nowhere, so that the interpreter's last flush does not fail either."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stdout.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            pass
        self.stdout = _nowhere()


def _nowhere() -> TextIO:
    """A stream that takes everything."""
    return Path(os.devnull).open("w", encoding="utf-8")
