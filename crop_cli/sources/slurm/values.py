"""Values of Slurm's JSON: plain up to release 22.05; then objects {"set", "infinite", "number"}, lists of words."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any) -> float | None:
    """A number in either form; None where it is not set, infinite, or missing.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if isinstance(value, dict):
        if not value.get("set", True) or value.get("infinite"):
            return None
        value = value.get("number")
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r} is no number")
    amount = float(value)
    return amount if math.isfinite(amount) else None


def count(value: Any) -> int:
    """A whole number, 0 where it is not set."""
    return int(number(value) or 0)


def text(value: Any) -> str:
    """Text; lists are joined by commas, "" where there is none."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(text(part) for part in value)
    return str(value)


def words(value: Any) -> tuple[str, ...]:
    """A list of words, also where an older release has one word or a list as text."""
    return tuple(part.strip() for part in text(value).split(",") if part.strip())
