"""Slurm's host lists: "r[0-2]n[01-10],login" and back to single names (slurm: `scontrol show hostnames`)."""

from __future__ import annotations

import re

MOST_HOSTS = 1_000_000
"""Hosts that one list may name; a slip such as n[0-99999999] must not fill the memory."""

_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?(?::([0-9]+))?")


def expand(text: str) -> list[str]:
    """Names of a host list, in its order.

    Raises
    ------
    ValueError
        If it is none: brackets that do not close, an empty range, more than `MOST_HOSTS` names. The message says what
        was expected.
    """
    names: list[str] = []
    for part in split(text):
        names += _expand(part) if "[" in part or "]" in part else [part]
        if len(names) > MOST_HOSTS:
            raise ValueError(f"at most {MOST_HOSTS} hosts")
    return names


def split(text: str) -> list[str]:
    """Parts of a list at the commas that are outside of brackets."""
    if "[" not in text and "]" not in text:
        return [part.strip() for part in text.split(",") if part.strip()]
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if not 0 <= depth <= 1:
            raise ValueError("a host list with brackets that open and close")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    if depth:
        raise ValueError("a host list with brackets that open and close")
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def numbers(text: str) -> list[str]:
    """The numbers of "0-3,7,10-20:5", with leading zeros kept as in the first.

    Raises
    ------
    ValueError
        If a part is no number or range of numbers.
    """
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError("numbers and ranges such as 1-4,7")
        low, high, step = match[1], match[2] or match[1], int(match[3] or 1)
        if int(high) < int(low) or step == 0:
            raise ValueError("ranges that count up, such as 1-4")
        if (int(high) - int(low)) // step >= MOST_HOSTS:
            raise ValueError(f"at most {MOST_HOSTS} numbers")
        width = len(low)
        found += [str(n).zfill(width) for n in range(int(low), int(high) + 1, step)]
    return found


def task_ids(text: str) -> tuple[tuple[int, ...], bool]:
    """Task ids of an array, "0-9,12%3", and whether Slurm cut the list short ("0-9,12,...").

    Raises
    ------
    ValueError
        If it is no such list.
    """
    listed = text.partition("%")[0].strip("[]")
    shown = listed.rstrip(".,")
    return tuple(map(int, numbers(shown))), shown != listed


def _expand(part: str) -> list[str]:
    """One part, whose bracket groups count independently of each other: the last one fastest."""
    pieces = re.split(r"\[([^\]]*)\]", part)
    names = [pieces[0]]
    for ranges, text in zip(pieces[1::2], pieces[2::2], strict=True):
        values = numbers(ranges)
        if len(names) * len(values) > MOST_HOSTS:
            raise ValueError(f"at most {MOST_HOSTS} hosts")
        names = [f"{name}{value}{text}" for name in names for value in values]
    return names
