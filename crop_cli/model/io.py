"""Instance and solution files: reading with every defect reported, and what to write."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from crop_cli.errors import InputError
from crop_cli.model.decode import OtherFormatError, decode
from crop_cli.model.dump import dump_instance, dump_solution
from crop_cli.model.files import read_bytes, require_writable, shown, unpack, unusable, write_atomic
from crop_cli.model.findings import Findings, quoted
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Solution
from crop_cli.model.validate import validate
from crop_cli.model.validate_fields import check_unique

__all__ = [
    "Loaded",
    "dump_instance",
    "dump_solution",
    "load_instance",
    "load_solution",
    "read_instance",
    "require_writable",
    "write_atomic",
]

T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid instance, the SHA-256 of its file (of the bytes as stored, packed or not), warnings, the file's name."""

    instance: Instance
    sha256: str
    warnings: list[str]
    file: str


def load_instance(path: str | Path) -> Loaded:
    """Read, decode and check an instance file.

    Parameters
    ----------
    path
        A JSON file, plain or gzip; "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be used, with every defect found.
    """
    return read_instance(read_bytes(path), path)


def read_instance(data: bytes, path: str | Path) -> Loaded:
    """Decode and check the bytes of an instance file, plain or gzip; the path is for messages only.

    Raises
    ------
    InputError
        If it cannot be used, with every defect found.
    """
    instance, structural = parse(path, data, Instance)
    defects, warnings = validate(instance, structural)
    if defects:
        raise InputError(shown(path), defects)
    return Loaded(instance, hashlib.sha256(data).hexdigest(), warnings, shown(path))


def load_solution(path: str | Path) -> Solution:
    """Read and decode a solution file. Whether it is right for an instance is for the evaluator to say.

    Raises
    ------
    InputError
        If it cannot be used, with every defect found.
    """
    solution, structural = parse(path, read_bytes(path), Solution)
    findings = Findings(structural)
    check_unique(findings, "$.placements", [placed.job for placed in solution.placements], field="job")
    check_unique(findings, "$.unplaced", [waiting.job for waiting in solution.unplaced], field="job")
    placed = {placed.job for placed in solution.placements}
    for i, waiting in enumerate(solution.unplaced):
        if waiting.job in placed and waiting.job:
            findings.add(f"$.unplaced[{i}].job", f"{quoted(waiting.job)}, which is placed", "a job without a placement")
    if findings.defects:
        raise InputError(shown(path), findings.defects)
    return solution


def parse(path: str | Path, data: bytes, form: type[T]) -> tuple[T, list[Any]]:
    """Decode the bytes of a file, plain or gzip, and what does not fit the types of its structs.

    Raises
    ------
    InputError
        If nothing of it can be read.
    """
    try:
        return decode(_text(path, unpack(path, data)), form)
    except json.JSONDecodeError as error:
        raise _syntax_error(path, error) from None
    except OtherFormatError as error:
        raise InputError(shown(path), [error.defect]) from None
    except RecursionError:
        raise unusable(path, "lists or objects nested too deeply", "an instance or solution file of crop") from None


def _text(path: str | Path, content: bytes) -> str:
    """The text of a file's content; a byte order mark is skipped."""
    expected = "a JSON file in UTF-8"
    if not content.strip():
        raise unusable(path, "an empty file", expected)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in content[:4]:
        raise unusable(path, "text in UTF-16 or UTF-32, or binary data", expected)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        found = f"the byte 0x{content[error.start]:02x}, which is not UTF-8"
        raise unusable(path, found, expected, f"line {line}, byte {column}") from None


_EXPECTED = {
    "Expecting property name enclosed in double quotes": "a name in double quotes",
    "Expecting ':' delimiter": 'a ":" after the name',
    "Expecting ',' delimiter": 'a "," or the end of the list or object',
    "Expecting value": "a value",
    "Extra data": "the end of the file",
    "Unterminated string starting at": "a closing quote for the text that starts here",
    "Invalid control character at": "text without raw line breaks or control characters",
}
"""What the messages of `json` mean."""


def _syntax_error(path: str | Path, error: json.JSONDecodeError) -> InputError:
    rest = error.doc[error.pos : error.pos + 20].split("\n")[0]
    at_end = not error.doc[error.pos :].strip()
    found = "the end of the file (is it truncated?)" if at_end else quoted(rest) if rest else "the end of the line"
    expected = _EXPECTED.get(error.msg, f"valid JSON ({error.msg})")
    return unusable(path, found, expected, f"line {error.lineno}, column {error.colno}")
