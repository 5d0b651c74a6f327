"""`runs.jsonl`: one record per line, appended as runs finish, read back to go on where a bench was interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from crop_cli.bench.records import Run
from crop_cli.errors import Defect, InputError, UsageError

BEGIN = b'{"format":"crop-run/1"'
"""How every record begins."""


class Journal:
    """An open `runs.jsonl`; every record is on the disk before the next run's is written."""

    def __init__(self, path: Path) -> None:
        try:
            self._file: BinaryIO = path.open("ab")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None

    def add(self, run: Run) -> None:
        """Append a record."""
        self._file.write(msgspec.json.encode(run) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_journal(path: Path) -> list[Run]:
    """All records of a file. A last line that was cut off in the middle of its writing is dropped from the file.

    A file with anything else in it is left as it is.

    Raises
    ------
    InputError
        If a line is no record.
    UsageError
        If the file cannot be read or mended.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    whole = data.rfind(b"\n") + 1
    runs, defects = [], []
    for number, line in enumerate(data[:whole].splitlines(), start=1):
        try:
            runs.append(msgspec.json.decode(line, type=Run))
        except msgspec.DecodeError as error:
            defects.append(Defect(f"line {number}", str(error), 'a record of "crop-run/1"'))
    rest = data[whole:]
    if not (rest.startswith(BEGIN) or BEGIN.startswith(rest)):
        defects.append(Defect("the last line", "something else", 'the beginning of a record of "crop-run/1"'))
    if defects:
        raise InputError(str(path), defects)
    if rest:
        try:
            os.truncate(path, whole)
        except OSError as error:
            raise UsageError(f"{path} cannot be mended: {error.strerror or error}") from None
    return runs


def require_file(path: Path) -> None:
    """Refuse what is there but keeps no records: a device, a pipe, a folder.

    Raises
    ------
    UsageError
        Naming it. Renaming /dev/null out of the way, as of an earlier bench, would break the whole machine.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no regular file: records go to a file, from which --resume goes on")


def set_aside(path: Path) -> Path | None:
    """Rename an existing journal to the first free of FILE.1, FILE.2, ...; None if there is none.

    Raises
    ------
    UsageError
        If it is no regular file, or cannot be renamed.
    """
    require_file(path)
    if not path.exists():
        return None
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    try:
        path.rename(aside)
    except OSError as error:
        raise UsageError(f"{path} cannot be renamed: {error.strerror or error}") from None
    return aside
