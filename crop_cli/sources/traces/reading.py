"""What a trace's reader found: one record per job, and all that has to be said about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath

from crop_cli.sources.draft import Skipped


@dataclass(frozen=True, slots=True)
class Record:
    """A job as a trace tells it.

    Attributes
    ----------
    name, gpus
        GPUs are whole ones, at least 1.
    arrival_s
        On the trace's own clock.
    duration_s
        Seconds that it ran; None where the trace does not tell.
    iterations
        Of each worker, where the trace states work instead of time.
    model, batch
        What is trained, by a name that profiles may know, and samples per GPU and step.
    gpu_types
        Types that it may run on; None: any.
    one_node
        Whether all its workers have to be on one node.
    resources_per_gpu
        cpu, memory_gib, ...
    user, group
        Whose it is.
    """

    name: str
    gpus: int
    arrival_s: float
    duration_s: float | None = None
    iterations: float | None = None
    model: str | None = None
    batch: float | None = None
    gpu_types: tuple[str, ...] | None = None
    one_node: bool = False
    resources_per_gpu: dict[str, float] = field(default_factory=dict)
    user: str | None = None
    group: str | None = None

    @property
    def timed(self) -> bool:
        """Whether it is known how long the job runs."""
        return self.duration_s is not None or self.iterations is not None


@dataclass(slots=True)
class Reading:
    """All of a trace.

    Attributes
    ----------
    title, source, licence
        Of what is made from it.
    records
        In order of arrival.
    start
        Date and time at which the trace's clock shows 0, where the trace has dates.
    assumptions, skipped
        A sentence each, and what was left out.
    counts
        The source's totals.
    """

    title: str
    source: str
    licence: str
    records: list[Record] = field(default_factory=list)
    start: datetime | None = None
    assumptions: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def sort(self) -> Reading:
        """Put the records in order of arrival, equal ones as in the file, and count them."""
        self.records.sort(key=lambda record: record.arrival_s)
        self.counts["jobs read"] += len(self.records)
        self.counts["GPUs they ask for"] += sum(record.gpus for record in self.records)
        return self


def merged(readings: dict[str, Reading]) -> Reading:
    """Several files of one source as one trace; with dates on one calendar, without on one clock.

    Names get their file's stem in front where there are several files, the second of one stem as "stem.2".
    """
    if len(readings) == 1:
        return next(iter(readings.values()))
    first = next(iter(readings.values()))
    starts = [reading.start for reading in readings.values() if reading.start is not None]
    start = min(starts) if len(starts) == len(readings) else None
    whole = Reading(first.title, first.source, first.licence, start=start)
    stems: Counter[str] = Counter()
    for number, (file, reading) in enumerate(readings.items(), start=1):
        stem = PurePath(file).name.split(".")[0] or str(number)
        stems[stem] += 1
        if stems[stem] > 1:
            # Files of one name in different folders; a point is in no stem.
            stem = f"{stem}.{stems[stem]}"
        late = (reading.start - start).total_seconds() if start is not None and reading.start is not None else 0.0
        whole.records += [
            replace(record, name=f"{stem}-{record.name}", arrival_s=record.arrival_s + late)
            for record in reading.records
        ]
        whole.skipped += [replace(skip, name=f"{stem}-{skip.name}") for skip in reading.skipped]
        whole.counts.update(reading.counts)
        whole.assumptions += [said for said in reading.assumptions if said not in whole.assumptions]
    whole.records.sort(key=lambda record: record.arrival_s)
    return whole
