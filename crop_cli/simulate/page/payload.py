"""The data that the page's scripts draw from: series over time and distributions, thinned to what a plot can show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from crop_cli.bench.page.figures import short
from crop_cli.bench.page.solvers import COLOURS, DASHES, MARKERS, Style
from crop_cli.simulate.labels import time_scale
from crop_cli.simulate.records import Sample, Simulation

MOST_POINTS = 400
"""Points kept of one distribution, and of one series."""


def styles(simulations: Sequence[Simulation]) -> list[Style]:
    """How each policy is drawn; none is drawn as a mere baseline here."""
    return [
        Style(one.settings.policy.solver, "policy", False, k % COLOURS, k % MARKERS, (k + k // COLOURS) % DASHES)
        for k, one in enumerate(simulations)
    ]


def payload(simulations: Sequence[Simulation], drawn: Sequence[Style]) -> dict[str, Any]:
    """Everything that the scripts need; `rows`, `fields` and `instances` are of the bench's pages, and empty here."""
    unit, scale = time_scale(max((one.figures.makespan_s for one in simulations), default=0.0))
    return {
        "solvers": [asdict(style) for style in drawn],
        "instances": [],
        "rows": [],
        "fields": [],
        "time_unit": unit,
        "gpus": simulations[0].gpus,
        "series": [_series(one, scale) for one in simulations],
        "completion": [_completion(one) for one in simulations],
        "queueing": [_queueing(one) for one in simulations],
    }


def _series(simulation: Simulation, scale: float) -> dict[str, list[float | int | None]]:
    """Time since the first sample in the page's unit, goodput, share of GPUs that are up in use, jobs that wait."""
    samples = thinned(simulation.series)
    start = samples[0].time if samples else 0.0
    return {
        "time": [short((one.time - start) / scale) for one in samples],
        "goodput": [short(one.goodput) for one in samples],
        "utilisation": [short(one.gpus_held / one.gpus_up if one.gpus_up else 0.0, 4) for one in samples],
        "waiting": [one.waiting for one in samples],
    }


def thinned(samples: Sequence[Sample]) -> list[Sample]:
    """At most `MOST_POINTS`, evenly; the last one is kept."""
    if len(samples) <= MOST_POINTS:
        return list(samples)
    step = (len(samples) - 1) / (MOST_POINTS - 1)
    return [samples[round(k * step)] for k in range(MOST_POINTS)]


def distribution(values: Iterable[float]) -> dict[str, list[float | int | None]]:
    """The empirical distribution function: values that rise, and the share of all that is at most as high."""
    ranked = sorted(values)
    count = len(ranked)
    kept = (
        range(count)
        if count <= MOST_POINTS
        else sorted({round(k * (count - 1) / (MOST_POINTS - 1)) for k in range(MOST_POINTS)})
    )
    # Of equal values the last one tells the share.
    points = {ranked[k]: (k + 1) / count for k in kept}
    return {"x": [short(x) for x in points], "share": [short(share, 4) for share in points.values()]}


def _completion(simulation: Simulation) -> dict[str, list[float | int | None]]:
    return distribution(job.end - job.arrival for job in simulation.jobs if job.end is not None)


def _queueing(simulation: Simulation) -> dict[str, list[float | int | None]]:
    return distribution(job.first_start - job.arrival for job in simulation.jobs if job.first_start is not None)
