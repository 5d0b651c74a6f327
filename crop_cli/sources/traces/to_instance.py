"""From a reading to an instance: what runs and waits at a time, or all that arrives in a window."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from crop_cli.errors import InputError
from crop_cli.model.instance import Instance, Job
from crop_cli.model.validate import validate
from crop_cli.names import plural
from crop_cli.sources.draft import Skipped
from crop_cli.sources.dress import Imported
from crop_cli.sources.profiles import Profiles
from crop_cli.sources.traces.choice import Choice, assumed, left_out, limited, maker_for, require_times, timed
from crop_cli.sources.traces.models import Maker
from crop_cli.sources.traces.queue import SAID, Arrival, never_fit, run_until
from crop_cli.sources.traces.reading import Reading


@dataclass(frozen=True, slots=True)
class _Scene:
    """Jobs of an instance, and what is said about them."""

    running: list[Job]
    waiting: list[Job]
    skipped: list[Skipped]
    said: list[str]
    when: str


def instance_of(reading: Reading, cluster: Instance, profiles: Profiles, choice: Choice) -> Imported:
    """The cluster, its own jobs left out, with jobs of the trace.

    Parameters
    ----------
    choice
        With `at` or `window`.

    Raises
    ------
    UsageError
        If a time is chosen and no job's run time is known.
    InputError
        If what comes out is no valid instance.
    """
    maker = maker_for(cluster, profiles, choice.seed)
    scene = _window(reading, cluster, maker, choice) if choice.window else _snapshot(reading, cluster, maker, choice)
    out = left_out(reading, [*reading.skipped, *scene.skipped, *maker.skipped])
    names = {job.name for job in [*scene.running, *scene.waiting]}
    own = [f"{plural(len(cluster.jobs), 'job')} of the cluster's own file left out."] if cluster.jobs else []
    # What is assumed there speaks of those jobs, too.
    of_file = "The cluster's own file: " if cluster.jobs else ""
    instance = msgspec.structs.replace(
        cluster,
        name=f"{cluster.name or 'cluster'}-{reading.title}",
        description=f"{cluster.description} Jobs of the {reading.title} trace, {scene.when}.".strip(),
        source=_joined(cluster.source, reading.source),
        licence=_joined(cluster.licence, reading.licence),
        assumptions=[
            *own,
            *(f"{of_file}{text}" for text in cluster.assumptions),
            *reading.assumptions,
            *scene.said,
            *assumed([record for record in reading.records if record.name in names], cluster, profiles, choice),
            *(f"Left out: {text}." for text in out),
        ],
        jobs=[*scene.running, *scene.waiting],
    )
    defects, warnings = validate(instance)
    if defects:
        raise InputError(reading.title, defects)
    counts = {**reading.counts, "jobs running": len(scene.running), "jobs waiting": len(scene.waiting)}
    return Imported(instance, counts, out, [*_outside(reading, scene), *warnings])


def _window(reading: Reading, cluster: Instance, maker: Maker, choice: Choice) -> _Scene:
    """All that arrives in the window waits."""
    first, last = choice.window or (0.0, 0.0)
    records = [record for record in reading.records if first <= record.arrival_s < last]
    jobs = [job for record in records if (job := maker.job(record)) is not None]
    too_large = never_fit(cluster.cluster, jobs)
    waiting, more = limited([job for i, job in enumerate(jobs) if i not in too_large], choice.limit)
    when = f"arrivals from {first:g} to {last:g} s"
    return _Scene(
        running=[],
        waiting=list(waiting),
        skipped=[_larger(jobs[i]) for i in sorted(too_large)],
        said=[f"All jobs that arrive from {first:g} s of the trace on and before {last:g} s wait at once.", *more],
        when=when,
    )


def _snapshot(reading: Reading, cluster: Instance, maker: Maker, choice: Choice) -> _Scene:
    """What a simulated queue holds at the time."""
    require_times(reading)
    time = choice.at or 0.0
    records = [record for record in reading.records if record.arrival_s <= time]
    skipped: list[Skipped] = []
    arrivals = [Arrival(job, record.arrival_s, seconds) for record, job, seconds in timed(records, maker, skipped)]
    outcome = run_until(cluster.cluster, arrivals, time)
    waiting, more = limited([arrivals[i].job for i in outcome.waiting], choice.limit)
    return _Scene(
        running=[msgspec.structs.replace(arrivals[i].job, placement=places) for i, places in outcome.running.items()],
        waiting=list(waiting),
        skipped=[*skipped, *(_larger(arrivals[i].job) for i in outcome.too_large)],
        said=[f"{SAID}. The time is {time:g} s of the trace.", *more],
        when=f"at {time:g} s",
    )


def _outside(reading: Reading, scene: _Scene) -> list[str]:
    """A warning where no job was chosen, which a time on another clock would explain."""
    if scene.running or scene.waiting or not reading.records:
        return []
    first, last = reading.records[0].arrival_s, reading.records[-1].arrival_s
    dates = f", from {reading.start.isoformat(' ')} on" if reading.start is not None else ""
    return [f"no job runs or waits: the trace's jobs arrive from {first:g} to {last:g} s{dates}"]


def _larger(job: Job) -> Skipped:
    return Skipped("job", job.name, "larger than the cluster: it would not fit even alone")


def _joined(one: str, other: str) -> str:
    """Two sources or licences in one text."""
    return "; ".join(dict.fromkeys(text for text in (one, other) if text))
