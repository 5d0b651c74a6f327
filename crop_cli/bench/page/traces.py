"""How the gap of each run fell over time, thinned to what a plot can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crop_cli.bench.page.figures import short
from crop_cli.bench.records import Point, Reference, Run

MOST_POINTS = 60
"""Points kept of one trace: a step line of 600 pixels shows no more."""


def traces(
    runs: Sequence[Run], references: Sequence[Reference], instance_at: Mapping[str, int], solver_at: Mapping[str, int]
) -> dict[str, list[Any]]:
    """Per instance position: [solver position, seed, [seconds, own gap, gap to the least bound known] ...].

    The own gap is that of the run's F and bound at that time, None where one of them is unknown; the other one holds
    the run's F against the reference's bound.
    """
    bounds = {one.instance: one.bound for one in references}
    found: dict[str, list[Any]] = {}
    for run in runs:
        if not run.trace or run.instance not in instance_at or run.solver not in solver_at:
            continue
        points = _steps(run.trace, bounds[run.instance])
        if points:
            entry = [solver_at[run.solver], run.seed, _thin(points)]
            found.setdefault(str(instance_at[run.instance]), []).append(entry)
    return found


def gap(objective: float | None, bound: float | None) -> float | None:
    """(bound − F)/|F|, never below 0; None where one is unknown or F alone is 0 (model.md, section 8)."""
    if objective is None or bound is None:
        return None
    if objective == 0:
        return 0.0 if bound <= 0 else None
    return max(0.0, (bound - objective) / abs(objective))


def _steps(trace: Sequence[Point], best_bound: float | None) -> list[list[float | int | None]]:
    """Points at which one of the gaps changes, and the last one."""
    points: list[list[float | int | None]] = []
    for point in trace:
        both = [short(gap(point.objective, point.bound), 4), short(gap(point.objective, best_bound), 4)]
        last = point is trace[-1]
        if both != [None, None] and (last or not points or points[-1][1:] != both):
            points.append([short(point.seconds, 4), *both])
    return points


def _thin(points: list[list[float | int | None]]) -> list[list[float | int | None]]:
    """At most `MOST_POINTS` of them, evenly, first and last included."""
    if len(points) <= MOST_POINTS:
        return points
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(k * step)] for k in range(MOST_POINTS)]
