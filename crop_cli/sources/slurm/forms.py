"""Which form a file has: JSON of one of Slurm's commands, or text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import unpack, unusable
from crop_cli.model.findings import quoted
from crop_cli.sources.slurm.records import Input
from crop_cli.sources.slurm.text import EMPTY, Record, records

T = TypeVar("T")
R = TypeVar("R")

MOST_DEFECTS = 20
"""Defects of one file that are told; the rest would be more of the same."""


def decoded(source: Input) -> str:
    """The text of a file, plain or gzip; a byte order mark is skipped.

    Raises
    ------
    InputError
        If it is not UTF-8.
    """
    data = unpack(source.file, source.data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"the byte 0x{data[error.start]:02x}, which is not UTF-8"
        raise unusable(source.file, found, "text in UTF-8", f"byte {error.start}") from None


def is_json(text: str) -> bool:
    """Whether a file is JSON rather than key=value text."""
    return text.lstrip()[:1] in ("{", "[")


def slim_document(source: Input, text: str, key: str, row: type[msgspec.Struct], expected: str) -> list[dict[str, Any]]:
    """The list of a JSON document, of its rows only the fields of a struct: what is not wanted costs no memory.

    Where the rows do not have the struct's types, or there is no such list, it is what `document` makes of it.

    Raises
    ------
    InputError
        As `document`.
    """
    try:
        rows = msgspec.json.decode(msgspec.json.decode(text, type=dict[str, msgspec.Raw])[key], type=list[row])  # type: ignore[valid-type]
    except (msgspec.DecodeError, KeyError):
        return document(source, text, (key,), expected)[1]
    return [msgspec.to_builtins(found) for found in rows]


def document(
    source: Input, text: str, keys: tuple[str, ...], expected: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A JSON document, and its list under the first of the keys that it has.

    Raises
    ------
    InputError
        If it is no JSON, is the output of another command, or reports errors of Slurm and has no list.
    """
    try:
        whole = msgspec.json.decode(text)
    except msgspec.DecodeError:
        # The slower decoder also takes the NaN and Infinity of old releases, and tells the line.
        try:
            whole = json.loads(text)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise unusable(source.file, f"broken JSON ({error.msg})", expected, where) from None
        except RecursionError:
            raise unusable(source.file, "lists or objects nested too deeply", expected) from None
    if not isinstance(whole, dict):
        raise unusable(source.file, f"a JSON {'list' if isinstance(whole, list) else 'value'}", expected)
    key = next((key for key in keys if isinstance(whole.get(key), list)), None)
    if key is None:
        raise unusable(source.file, _other(whole), expected)
    defects = [
        Defect(f"$.{key}[{i}]", quoted(str(row)), "an object")
        for i, row in enumerate(whole[key])
        if not isinstance(row, dict)
    ]
    if defects:
        raise InputError(source.file, defects[:MOST_DEFECTS])
    return whole, whole[key]


def text_records(source: Input, text: str, kinds: tuple[str, ...], expected: str) -> list[Record]:
    """The records of a text that are of one of the kinds.

    Raises
    ------
    InputError
        If there are none, unless Slurm says that there are none.
    """
    found = records(text)
    kept = [record for record in found if record.kind in kinds]
    if not kept and (found or not EMPTY.fullmatch(text.strip())):
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        raise unusable(source.file, quoted(first) if first else "an empty file", expected, "line 1")
    return kept


def each(source: Input, rows: Iterable[T], read: Callable[[T], R], where: Callable[[int, T], str]) -> list[R]:
    """Every row read; all rows that cannot be are told at once.

    Raises
    ------
    InputError
        With a defect for each row for which `read` raised a ValueError or found a field missing.
    """
    results: list[R] = []
    defects: list[Defect] = []
    for i, row in enumerate(rows):
        try:
            results.append(read(row))
        except KeyError as error:
            defects.append(Defect(where(i, row), f"no {error.args[0]}", "a record with all of its fields"))
        except (ValueError, TypeError, AttributeError) as error:
            defects.append(Defect(where(i, row), str(error), "values as Slurm prints them"))
        if len(defects) == MOST_DEFECTS:
            break
    if defects:
        raise InputError(source.file, defects)
    return results


def _other(whole: dict[str, Any]) -> str:
    """What a JSON document is instead."""
    errors = whole.get("errors")
    if isinstance(errors, list) and errors:
        return f"an error of Slurm: {quoted(json.dumps(errors[0]))}"
    lists = [key for key, value in whole.items() if isinstance(value, list) and key not in ("errors", "warnings")]
    return f"a JSON document with {', '.join(map(quoted, lists[:3]))}" if lists else "a JSON document without a list"
