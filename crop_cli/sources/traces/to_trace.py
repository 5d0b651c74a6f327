"""From a reading to a trace file."""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.model.instance import Instance, Job
from crop_cli.model.trace import Trace, TraceJob
from crop_cli.names import plural
from crop_cli.sources.profiles import Profiles
from crop_cli.sources.traces.choice import (
    STAND_IN_TYPE,
    Choice,
    assumed,
    left_out,
    limited,
    maker_for,
    require_times,
    timed,
)
from crop_cli.sources.traces.reading import Reading


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """A trace with all that should be said about where it came from; fields as of `crop_cli.sources.dress.Imported`."""

    trace: Trace
    counts: dict[str, int]
    skipped: list[str]
    warnings: list[str]


def trace_of(reading: Reading, cluster: Instance | None, profiles: Profiles, choice: Choice) -> ImportedTrace:
    """All jobs of a trace, with seconds for a cluster's GPU types or for one usual type.

    Raises
    ------
    UsageError
        If no job's run time is known.
    """
    require_times(reading)
    maker = maker_for(cluster, profiles, choice.seed)
    skipped = list(reading.skipped)
    records, more = limited(reading.records, choice.limit)
    jobs = [
        TraceJob(
            **{name: getattr(job, name) for name in Job.__struct_fields__},
            arrival_s=record.arrival_s,
            duration_s=seconds,
            user=record.user,
            group=record.group,
        )
        for record, job, seconds in timed(records, maker, skipped)
    ]
    out = left_out(reading, [*skipped, *maker.skipped])
    where = (
        "on the cluster's GPU types" if cluster is not None else f"on one {STAND_IN_TYPE}, the same on every GPU type"
    )
    start = [f"The clock starts at {reading.start.isoformat(' ')}, local time."] if reading.start is not None else []
    trace = Trace(
        format="crop-trace/1",
        name=reading.title,
        description=f"{plural(len(jobs), 'job')} in order of arrival.",
        source=reading.source,
        licence=reading.licence,
        assumptions=[
            *reading.assumptions,
            *start,
            *more,
            f"Seconds of computation are those {where}.",
            *assumed([record for record in records if record.timed], cluster, profiles, choice),
            *(f"Left out: {text}." for text in out),
        ],
        jobs=jobs,
    )
    warnings = []
    if cluster is None and any(job.resources_per_gpu for job in jobs):
        warnings.append(
            "jobs ask for cores and memory: a cluster whose nodes state none has no room for them (--cluster)"
        )
    return ImportedTrace(trace, {**reading.counts, "jobs in the trace": len(jobs)}, out, warnings)
