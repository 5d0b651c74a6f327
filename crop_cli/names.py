"""Numbers and lists of names as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

_NUMBERED = re.compile(r"^(.*?)([0-9]+)([^0-9]*)$", re.DOTALL)


def number(value: float) -> str:
    """Four significant digits, whole numbers in full: 0.1235, 12.35, 123456."""
    if value == round(value) and abs(value) < 1e15:
        return str(round(value))
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def percent(share: float | None, digits: int = 3) -> str:
    """A share of one in percent; "-" where it is unknown."""
    return "-" if share is None else f"{100 * share:.{digits}g} %"


def plural(count: int, noun: str) -> str:
    """ "1 GPU", "2 GPUs"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def one(names: list[str]) -> str:
    """ "a", "a or b", "a, b or c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def compress(names: Iterable[str], most: int = 8) -> str:
    """Names with runs of numbers folded, as cluster tools write them: "n[1-4,7],login"; the first `most` groups."""
    groups = list(folded(names))
    more = f" and {len(groups) - most} more" if len(groups) > most else ""
    return ",".join(groups[:most]) + more


def folded(names: Iterable[str]) -> Iterable[str]:
    """Groups of neighbours that differ in one number only: n1, n2, n3 become "n[1-3]"."""
    for key, members in groupby(map(_split, names), key=lambda part: (part[0], part[2])):
        numbers = [digits for _, digits, _ in members]
        if len(numbers) == 1:
            yield f"{key[0]}{numbers[0]}{key[1]}"
        else:
            yield f"{key[0]}[{','.join(_runs(numbers))}]{key[1]}"


def _split(name: str) -> tuple[str, str, str]:
    """Text before the last number, the number, text after it; a name without a number is all text."""
    found = _NUMBERED.match(name)
    return (found[1], found[2], found[3]) if found else (name, "", "")


def _runs(numbers: list[str]) -> Iterable[str]:
    """ "7", "08-11": neighbours that count up by one with the same number of digits."""
    first = last = numbers[0]
    for digits in numbers[1:]:
        if len(digits) == len(last) and digits and int(digits) == int(last) + 1:
            last = digits
            continue
        yield first if first == last else f"{first}-{last}"
        first = last = digits
    yield first if first == last else f"{first}-{last}"
