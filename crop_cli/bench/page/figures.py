"""Numbers as the page prints and embeds them."""

from __future__ import annotations

import math

from crop_cli import names

ABSENT = "–"


def number(value: float | None) -> str:
    """Four significant digits with thousands separated by commas where whole."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{round(value):,}" if value == round(value) and abs(value) < 1e15 else names.number(value)


def ratio(value: float | None) -> str:
    """A ratio with four decimals, cut rather than rounded below 1: 0.99999 is not "1.0000"."""
    if value is None:
        return ABSENT
    # The tiny shift undoes binary noise of a value that has four decimals.
    shown = math.floor(value * 1e4 + 1e-7) / 1e4 if value < 1 else value
    return f"{shown:.4f}"


def percent(value: float | None) -> str:
    """A share of one in percent."""
    return ABSENT if value is None else names.percent(value)


def span(seconds: float) -> str:
    """ "42 s", "3 min 20 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{names.number(seconds)} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def short(value: float | None, digits: int = 6) -> float | int | None:
    """The value with so many significant digits, for the embedded data; None where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded
