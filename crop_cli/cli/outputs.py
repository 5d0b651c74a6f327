"""Output files of a command: refused early where they could not be written or would replace an input."""

from __future__ import annotations

import os
import stat
import sys

from crop_cli.errors import UsageError


def check_outputs(outputs: dict[str, str | None], inputs: list[str]) -> None:
    """Refuse what could not be written in the end, before any work is done.

    Parameters
    ----------
    outputs
        Path by option; None where the option is not given.
    inputs
        Paths of input files.

    Raises
    ------
    UsageError
        If a file cannot be written, is an input, or two of them are the same.
    """
    from crop_cli.model.files import require_writable  # noqa: PLC0415 (--help must not load numpy)

    given = {option: path for option, path in outputs.items() if path is not None}
    seen: dict[str, str] = {}
    for option, path in given.items():
        same = "-" if path == "-" else os.path.realpath(path)
        if same in seen:
            raise UsageError(f"{option} {path}: {seen[same]} names the same file")
        seen[same] = option
        if path != "-" and any(_is_input(path, source) for source in inputs):
            raise UsageError(f"{option} {path}: that is an input file")
        require_writable(path)


def _is_input(output: str, source: str) -> bool:
    """Whether a path is the regular file that an input is read from, by name or as standard input."""
    try:
        status = os.fstat(sys.stdin.fileno()) if source == "-" else os.stat(source)  # noqa: PTH116
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(output))  # noqa: PTH116
    except (OSError, ValueError, AttributeError):  # no such file, a closed or replaced standard input
        return False
