"""From records to jobs: the model of each, its times on the GPU types at hand, and whether it may run there at all."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass, field

from crop_cli.model.instance import Job
from crop_cli.names import plural
from crop_cli.sources.draft import DraftJob, Skipped
from crop_cli.sources.dress import dressed_job
from crop_cli.sources.profiles import ANY, Profiles, measured_type
from crop_cli.sources.traces.reading import Record

SMALL_MB, LARGE_MB, HUGE_MB = 200.0, 300.0, 1000.0
"""Messages by which models are drawn for jobs of 1, of 2 to 8, and of more GPUs."""


@dataclass(slots=True)
class Maker:
    """Makes jobs of records.

    Attributes
    ----------
    profiles, seed
        The table of models, and the seed by which a model is drawn for a job that names none.
    types
        GPU types of the cluster; without one, the type whose seconds a job gets.
    level
        Name of the nodes' level.
    resources
        Resources that the cluster's nodes have; None: all are kept.
    skipped
        Records that no node of the cluster may run.
    """

    profiles: Profiles
    seed: int
    types: list[str]
    level: str = "node"
    resources: set[str] | None = None
    skipped: list[Skipped] = field(default_factory=list)
    _said: Counter[str] = field(default_factory=Counter)
    _notes: Counter[str] = field(default_factory=Counter)
    _pool: list[str] = field(default_factory=list)
    _batches: dict[str, dict[float, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = []
        for name in self.profiles.table:
            variant = re.fullmatch(r"(.+)-b([0-9]+)", name)
            if variant is not None and variant[1] in self.profiles.table:
                self._batches.setdefault(variant[1], {})[float(variant[2])] = name
            elif name != ANY:
                names.append(name)
        measured = [
            name for name in names if any(measured_type(t, self.profiles.table[name].compute_s) for t in self.types)
        ]
        self._pool = measured or names or [ANY]

    def job(self, record: Record) -> Job | None:
        """The job of a record; None if no node of the cluster has a GPU type that it may use."""
        allowed = self._allowed(record)
        if allowed == ():
            self.skipped.append(Skipped("job", record.name, "no node has a GPU type that it may use"))
            return None
        resources = record.resources_per_gpu
        if self.resources is not None:
            dropped = resources.keys() - self.resources
            for name in sorted(dropped):
                self._notes[f"need of {name} left out: the cluster's nodes do not state it"] += 1
            resources = {name: amount for name, amount in resources.items() if name not in dropped}
        job = Job(
            name=record.name,
            gpus=record.gpus,
            resources_per_gpu=resources,
            within=self.level if record.one_node and record.gpus > 1 else None,
        )
        return dressed_job(DraftJob(job, self._model(record), allowed), self.types, self.profiles, self._said)

    def assumptions(self) -> list[str]:
        """What was assumed for the jobs made so far, a sentence each."""
        return [f"{plural(n, 'job')}: {text}." for text, n in (*self._notes.items(), *self._said.most_common())]

    def _allowed(self, record: Record) -> tuple[str, ...] | None:
        """Types that the record may use as the cluster calls them."""
        if record.gpu_types is None or self.resources is None:
            return record.gpu_types
        wanted = dict.fromkeys(record.gpu_types, 0.0)
        return tuple(t for t in self.types if t in wanted or measured_type(t, wanted) is not None)

    def _model(self, record: Record) -> str:
        """Name of the record's model in the table, or what it calls it itself."""
        if record.model is None:
            name = self._drawn(record)
            self._notes[f"the source names no model: drawn by size with seed {self.seed}"] += 1
            return name
        profile = self.profiles.match(record.model)
        if profile is None or record.batch is None:
            return record.model
        batches = self._batches.get(profile.model)
        if not batches:
            return profile.model
        batch = record.batch
        nearest = min(batches, key=lambda known: (abs(math.log(known / batch)), known))
        if nearest != batch:
            self._notes["its batch size was not measured: the nearest one that was"] += 1
        return batches[nearest]

    def _drawn(self, record: Record) -> str:
        """A model for a job of the record's size; the same one whatever other jobs there are."""

        def fits(message_mb: float) -> bool:
            if record.gpus == 1:
                return message_mb <= SMALL_MB
            return 0 < message_mb <= HUGE_MB if record.gpus <= 8 else message_mb >= LARGE_MB

        table = self.profiles.table
        pool = [name for name in self._pool if fits(table[name].message_mb)] or self._pool
        return random.Random(f"{self.seed}/{record.name}").choice(sorted(pool))


DRAWN = (
    f"Models are drawn among those measured on the GPU type: for one GPU with messages up to {SMALL_MB:g} MB, "
    f"for 2 to 8 up to {HUGE_MB:g} MB, for more from {LARGE_MB:g} MB on."
)
"""How models are drawn, for people."""
