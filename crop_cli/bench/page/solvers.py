"""In which order the page names solvers, and how it draws each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crop_cli.bench.records import Summary

COLOURS = 10
"""Colours that `page.css` defines, for light and for dark pages."""
MARKERS = 8
DASHES = 4
"""Shapes and dashes that `core.js` knows."""


@dataclass(frozen=True, slots=True)
class Style:
    """One solver as drawn: colour, marker and dash differ together, so that none of them alone has to be told apart."""

    name: str
    role: str
    baseline: bool
    colour: int
    marker: int
    dash: int


def styles(summary: Summary) -> list[Style]:
    """All solvers of the summary in its order, baselines last."""
    roles = {row.solver: row.role for row in summary.rows} | {one.solver: one.role for one in summary.aggregates}
    names = list(dict.fromkeys([*summary.solvers, *roles]))
    own = [name for name in names if roles.get(name) != "baseline"]
    rules = [name for name in names if roles.get(name) == "baseline"]
    return [*_styled(own, roles, baseline=False), *_styled(rules, roles, baseline=True)]


def _styled(names: Iterable[str], roles: dict[str, str], *, baseline: bool) -> Iterable[Style]:
    """Count colours, markers and dashes up side by side; their cycles have different lengths."""
    for k, name in enumerate(names):
        # Ten solvers in, the colours start again; the marker has then moved on by two, the dash by two.
        yield Style(name, roles.get(name, ""), baseline, k % COLOURS, k % MARKERS, (k + k // COLOURS) % DASHES)
