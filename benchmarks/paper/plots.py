"""Pictures of the evaluation, drawn as SVG without a plotting library: one line per policy from worst to best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

LEFT, WIDE, LINE, MARGIN = 190, 420, 22, 60
OWN, OTHER = "#d62728", "#1f77b4"


def ranges(title: str, axis: str, rows: Sequence[tuple[str, float, float, float]], own: Sequence[str] = ()) -> str:
    """Low, mean and high of every policy on one axis; the names in `own` are drawn in another colour."""
    low, high = _ends(rows)
    height = MARGIN + LINE * len(rows) + 50
    step = _step(high - low)

    def at(value: float) -> float:
        return LEFT + WIDE * (value - low) / (high - low)

    parts = [f'<text x="{LEFT}" y="24" font-weight="bold">{escape(title)}</text>']
    bottom = MARGIN + LINE * len(rows)
    for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        x = at(k * step)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{MARGIN - 14}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{k * step:g}</text>')
    for i, (name, least, mean, most) in enumerate(rows):
        y, colour = MARGIN + LINE * i, OWN if name in own else OTHER
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        parts.append(
            f'<line x1="{at(least):.1f}" x2="{at(most):.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(f'<circle cx="{at(mean):.1f}" cy="{y}" r="4" fill="{colour}"/>')
    parts.append(f'<text x="{LEFT + WIDE / 2}" y="{bottom + 36}" text-anchor="middle">{escape(axis)}</text>')
    width = LEFT + WIDE + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _ends(rows: Sequence[tuple[str, float, float, float]]) -> tuple[float, float]:
    """Of the axis: all values, and a little more."""
    low, high = min(row[1] for row in rows), max(row[3] for row in rows)
    room = max(0.05 * (high - low), 1e-6)
    return low - room, high + room


def _step(span: float) -> float:
    """A round distance of ticks, some six of them."""
    power: float = 10.0 ** math.floor(math.log10(span / 6))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if span / (power * factor) <= 7)
