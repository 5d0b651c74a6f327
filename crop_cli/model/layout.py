"""How crop writes JSON: what fits into a line stays on it, so that a node or a job is one line of a diff."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 320
"""Longest object or list, in characters, that is written on one line."""


def lay_out(document: dict[str, Any]) -> bytes:
    """A JSON document in UTF-8 with a line break at its end; the same for the same data.

    Raises
    ------
    ValueError
        If a number is not finite or a text not proper Unicode.
    """
    lines: list[str] = []
    _break_up(document, 0, "", "", lines)
    return ("\n".join(lines) + "\n").encode()


def _write(value: Any, depth: int, before: str, after: str, lines: list[str]) -> None:
    """Append a value as one line, or broken up where it is long or a table of objects."""
    if not (_is_table(value) or (isinstance(value, dict) and any(map(_is_table, value.values())))):
        line = _dumps(value)
        if len(line) <= WIDTH or not isinstance(value, dict | list):
            lines.append(f"{' ' * depth}{before}{line}{after}")
            return
    _break_up(value, depth, before, after, lines)


def _break_up(value: dict[str, Any] | list[Any], depth: int, before: str, after: str, lines: list[str]) -> None:
    """Append an object or list with its members one step further in."""
    indent = " " * depth
    if isinstance(value, dict):
        opening, closing = "{}"
        members = [(f"{_dumps(name)}: ", member) for name, member in value.items()]
    else:
        opening, closing = "[]"
        members = [("", member) for member in value]
    lines.append(f"{indent}{before}{opening}")
    for i, (name, member) in enumerate(members, start=1):
        _write(member, depth + 1, name, "," if i < len(members) else "", lines)
    lines.append(f"{indent}{closing}{after}")


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
