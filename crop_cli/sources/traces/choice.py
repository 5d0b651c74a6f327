"""Which part of a trace is wanted, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from crop_cli.errors import UsageError
from crop_cli.model.instance import Instance, Job
from crop_cli.model.limits import LIMITS
from crop_cli.model.trace import TraceJob
from crop_cli.names import plural
from crop_cli.sources.draft import Draft, Skipped
from crop_cli.sources.dress import skipped_text
from crop_cli.sources.profiles import Profiles
from crop_cli.sources.traces.models import DRAWN, Maker
from crop_cli.sources.traces.reading import Reading, Record

T = TypeVar("T")

STAND_IN_TYPE = "A100"
"""GPU type whose seconds a trace without a cluster gets."""


LENGTH = LIMITS[TraceJob]["duration_s"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a trace is wanted.

    Attributes
    ----------
    at
        A time on the trace's clock, seconds: what runs and what waits then.
    window
        First and last time, the last not included: what arrives in between waits at once.
    limit
        Most jobs, those that run not counted; None: all.
    seed
        By which models are drawn.
    """

    at: float | None = None
    window: tuple[float, float] | None = None
    limit: int | None = None
    seed: int = 0


def maker_for(cluster: Instance | None, profiles: Profiles, seed: int) -> Maker:
    """What makes jobs for a cluster, or for none in particular."""
    if cluster is None:
        return Maker(profiles, seed, [STAND_IN_TYPE])
    nodes = cluster.cluster.nodes
    return Maker(
        profiles,
        seed,
        types=sorted({node.gpu_type for node in nodes}),
        level=cluster.cluster.levels[-1],
        resources={name for node in nodes for name in node.resources},
    )


def timed(records: Iterable[Record], maker: Maker, skipped: list[Skipped]) -> Iterator[tuple[Record, Job, float]]:
    """Jobs with the seconds that they run; records of which those are not known are skipped."""
    for record in records:
        if not record.timed:
            skipped.append(Skipped("job", record.name, "its run time is not known"))
            continue
        job = maker.job(record)
        if job is None:
            continue
        fastest = min(job.compute_s.values()) if isinstance(job.compute_s, dict) else job.compute_s
        seconds = record.duration_s if record.duration_s is not None else (record.iterations or 0.0) * fastest
        if not LENGTH.low <= seconds <= LENGTH.high:
            skipped.append(Skipped("job", record.name, f"its run time is not {LENGTH.expected}, in seconds"))
            continue
        yield record, job, seconds


def require_times(reading: Reading) -> None:
    """Refuse a trace of which no job's run time is known, where times are asked for.

    Raises
    ------
    UsageError
        Such a trace has no more than a queue that waits.
    """
    if reading.records and not any(record.timed for record in reading.records):
        raise UsageError(f"the {reading.title} trace states no run times: give --cluster and --window FROM..TO")


def limited(items: Sequence[T], limit: int | None) -> tuple[Sequence[T], list[str]]:
    """The first of some jobs in order of arrival, and a sentence on it where there are more."""
    if limit is None or len(items) <= limit:
        return items, []
    return items[:limit], [f"Only the first {plural(limit, 'job')} of {len(items)} in order of arrival."]


def assumed(records: Iterable[Record], cluster: Instance | None, profiles: Profiles, choice: Choice) -> list[str]:
    """What is assumed for the jobs of some records, a sentence each."""
    maker = maker_for(cluster, profiles, choice.seed)
    records = [record for record in records if maker.job(record) is not None]
    said = [DRAWN] if any(record.model is None for record in records) else []
    if any(record.duration_s is not None for record in records):
        said.append("Durations are the source's, taken to be of undisturbed runs.")
    return [*said, *maker.assumptions()]


def left_out(reading: Reading, skipped: list[Skipped]) -> list[str]:
    """What was left out, counted by reason."""
    return skipped_text(Draft(reading.title, [], [], [], [], skipped=skipped))
