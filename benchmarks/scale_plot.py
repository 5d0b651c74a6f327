"""The picture of the scale benchmark, drawn as SVG without a plotting library: gap and time against nodes."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 420, 300, 60
COLOURS = {
    "greedy": "#7f7f7f",
    "search": "#1f77b4",
    "columns": "#2ca02c",
    "exact": "#d62728",
    "textbook": "#8c564b",
    "auto": "#9467bd",
}
LEAST_GAP = 1e-6
"""Gaps below are drawn there: proven, within the tolerance."""


def plot(rows: list[dict[str, Any]]) -> str:
    """Two panels per family, both axes logarithmic: gap against nodes, and seconds against nodes."""
    families = list(dict.fromkeys(row["family"] for row in rows))
    panels = []
    for i, family in enumerate(families):
        # A model that cannot express the instance did not run: it has no time to draw.
        mine = [row for row in rows if row["family"] == family and row["status"] != "not expressible"]
        gaps = [(r["solver"], r["nodes"], max(LEAST_GAP, r["gap"])) for r in mine if r["gap"] is not None]
        times = [(r["solver"], r["nodes"], max(0.1, r["seconds"]["total"])) for r in mine]
        panels.append(_panel(0, i, f"{family}: gap", gaps, (1e-6, 1.0)))
        panels.append(_panel(1, i, f"{family}: seconds", times, (0.1, 1000.0)))
    width, height = 2 * WIDTH + 120, max(1, len(families)) * HEIGHT
    names = [name for name in COLOURS if any(row["solver"] == name for row in rows)]
    legend = "".join(
        f'<rect x="{2 * WIDTH + 10}" y="{30 + 22 * n}" width="12" height="12" fill="{COLOURS[name]}"/>'
        f'<text x="{2 * WIDTH + 28}" y="{41 + 22 * n}">{escape(name)}</text>'
        for n, name in enumerate(names)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>{"".join(panels)}{legend}</svg>\n'
    )


def _panel(column: int, row: int, title: str, points: list[tuple[str, int, float]], span: tuple[float, float]) -> str:
    """One panel: axes with a tick per power of ten, a line per solver."""
    left, top = column * WIDTH + MARGIN, row * HEIGHT + 30
    wide, high = WIDTH - MARGIN - 20, HEIGHT - 80
    nodes = (10.0, 20_000.0)

    def at(n: float, y: float) -> tuple[float, float]:
        return left + wide * _share(n, nodes), top + high * (1 - _share(y, span))

    parts = [f'<text x="{left}" y="{top - 10}" font-weight="bold">{escape(title)}</text>']
    for power in range(math.ceil(math.log10(span[0])), math.floor(math.log10(span[1])) + 1):
        _, y = at(nodes[0], 10.0**power)
        parts.append(f'<line x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for n in (16, 64, 256, 1024, 10_240):
        x, _ = at(n, span[0])
        parts.append(f'<text x="{x:.1f}" y="{top + high + 16}" text-anchor="middle">{n}</text>')
    for name, colour in COLOURS.items():
        line = [at(n, y) for solver, n, y in sorted(points, key=lambda p: p[1]) if solver == name]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        if line:
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
    parts.append(f'<text x="{left + wide / 2}" y="{top + high + 34}" text-anchor="middle">nodes</text>')
    return "".join(parts)


def _share(value: float, span: tuple[float, float]) -> float:
    """Position on a logarithmic axis, 0 to 1."""
    low, high = map(math.log10, span)
    return (math.log10(value) - low) / (high - low)
