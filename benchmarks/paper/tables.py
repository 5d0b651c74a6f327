"""Means, spreads and Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, least, greatest and number of some figures; the standard deviation is that of the sample."""

    mean: float
    low: float
    high: float
    deviation: float
    count: int


def spread(figures: Iterable[float]) -> Spread:
    """Spread of figures.

    Raises
    ------
    ValueError
        Of none.
    """
    values = list(figures)
    if not values:
        raise ValueError("no figures")
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0
    return Spread(mean, min(values), max(values), deviation, len(values))


def gain(own: float, other: float) -> float:
    """By how much one figure is above another, as a share of the other; infinite above nothing, 0 of nothing."""
    if other == 0:
        return math.inf if own > 0 else 0.0
    return own / other - 1.0


def percent(share: float, digits: int = 1, *, sign: bool = False) -> str:
    """A share for people."""
    if not math.isfinite(share):
        return "∞"
    text = f"{100 * share:+.{digits}f} %" if sign else f"{100 * share:.{digits}f} %"
    return text.replace("-0.0 %", "0.0 %").replace("+0.0 %", "0.0 %")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> list[str]:
    """Lines of a Markdown table; all but the first columns are set to the right."""
    rule = ["---"] * text_columns + ["---:"] * (len(heads) - text_columns)
    return ["| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows)]
