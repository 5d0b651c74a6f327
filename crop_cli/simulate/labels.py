"""Every figure of a simulation with its name, unit and meaning: what tables, CSV files and pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from crop_cli import names
from crop_cli.simulate.records import Distribution, Figures

ABSENT = "-"

Unit = Literal["", "s", "GPU·s", "share", "GPUs", "GPU iterations/s", "jobs"]


@dataclass(frozen=True, slots=True)
class Label:
    """One figure.

    Attributes
    ----------
    key
        Column of CSV files; the value there is in `unit` as it is.
    title, meaning
        For people.
    unit
        Of the value.
    best
        Which end is better: 1 the higher, -1 the lower, 0 neither.
    scaled_by
        What chooses the unit that is shown, if not the value: figures of one distribution have one unit.
    """

    key: str
    title: str
    unit: Unit
    meaning: str
    value: Callable[[Figures], float | None]
    best: int = 0
    scaled_by: Callable[[Figures], float | None] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of several simulations, in one unit that suits them all."""

    label: Label
    unit: str
    values: list[float | None]
    texts: list[str]

    @property
    def best(self) -> set[int]:
        """Which of them are the best as shown; none where all look alike."""
        known = [value for value in self.values if value is not None]
        if not self.label.best or len(set(self.texts)) < 2 or not known:
            return set()
        top = max(known) if self.label.best > 0 else min(known)
        text = self.texts[self.values.index(top)]
        return {k for k, one in enumerate(self.texts) if one == text}


def lines(several: Sequence[Figures]) -> list[Line]:
    """Every figure of each of these simulations."""
    made = []
    for label in LABELS:
        values = [label.value(figures) for figures in several]
        by = label.scaled_by
        unit, factor = _scale(label.unit, values if by is None else map(by, several))
        made.append(Line(label, unit, values, [_text(value, unit, factor) for value in values]))
    return made


def time_scale(longest: float) -> tuple[str, float]:
    """The unit in which times up to this (s) are written, and its seconds."""
    for unit, seconds in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if longest >= 2 * seconds:
            return unit, seconds
    return "s", 1.0


def _scale(unit: Unit, values: Iterable[float | None]) -> tuple[str, float]:
    highest = max((value for value in values if value is not None), default=0.0)
    if unit == "s":
        return time_scale(highest)
    if unit == "GPU·s":
        name, seconds = time_scale(highest)
        return f"GPU·{name}", seconds
    if unit == "share":
        return "%", 0.01
    return unit, 1.0


def _text(value: float | None, unit: str, factor: float) -> str:
    if value is None:
        return ABSENT
    shown = value / factor
    # Three digits of a share would make 99.97 % a 100.
    return f"{shown:.2f}" if unit == "%" else names.number(shown)


def _distribution(
    key: str, title: str, unit: Unit, meaning: str, of: Callable[[Figures], Distribution | None]
) -> list[Label]:
    parts = (
        ("mean", "mean"),
        ("median", "median"),
        ("p95", "95th percentile"),
        ("p99", "99th percentile"),
        ("highest", "highest"),
    )

    def part(name: str) -> Callable[[Figures], float | None]:
        return lambda figures: None if (found := of(figures)) is None else getattr(found, name)

    suffix = "_s" if unit == "s" else ""
    return [
        Label(f"{key}_{name}{suffix}", f"{title}, {words}", unit, meaning, part(name), -1, part("mean"))
        for name, words in parts
    ]


LABELS: list[Label] = [
    Label("finished", "finished", "jobs", "jobs that ended", lambda f: f.finished, 1),
    Label("running", "running", "jobs", "jobs that run at the end", lambda f: f.running),
    Label("waiting", "waiting or coming", "jobs", "jobs that wait at the end, or arrive later", lambda f: f.waiting),
    Label("coming", "coming", "jobs", "of those, jobs that had not arrived by the end", lambda f: f.coming),
    Label("rejected", "rejected", "jobs", "jobs that would not even fit into the empty cluster", lambda f: f.rejected),
    Label(
        "makespan_s",
        "makespan",
        "s",
        "from the first arrival to the last completion, or to the end of the simulation",
        lambda f: f.makespan_s,
        -1,
    ),
    Label(
        "goodput",
        "goodput",
        "GPUs",
        "GPUs' worth of perfect work, mean over the makespan; work done again does not count",
        lambda f: f.goodput,
        1,
    ),
    Label(
        "throughput",
        "throughput",
        "GPU iterations/s",
        "iterations per second times the GPUs of their job, mean over the makespan",
        lambda f: f.throughput,
        1,
    ),
    Label(
        "utilisation", "utilisation", "share", "GPU time held over that of nodes that were up", lambda f: f.utilisation
    ),
    Label("efficiency", "efficiency", "share", "useful work over GPU time held", lambda f: f.efficiency, 1),
    Label(
        "communication_overhead",
        "communication overhead",
        "share",
        "of the GPU time of jobs that made progress, what waited for the network",
        lambda f: f.communication_overhead,
        -1,
    ),
    Label(
        "fragmentation",
        "fragmentation",
        "share",
        "GPUs that stood free while a job waited, over those of nodes that were up",
        lambda f: f.fragmentation,
        -1,
    ),
    Label("lost_gpu_s", "work lost", "GPU·s", "work done again because of failures", lambda f: f.lost_gpu_s, -1),
    Label("interruptions", "interruptions", "", "jobs that a failure stopped", lambda f: f.interruptions, -1),
    *_distribution(
        "completion", "completion time", "s", "from arrival to end, jobs that ended", lambda f: f.completion
    ),
    *_distribution("queueing", "queueing time", "s", "from arrival to first start", lambda f: f.queueing),
    *_distribution(
        "finish_ratio",
        "finish ratio",
        "",
        "completion time over the duration of perfect work",
        lambda f: f.finish_ratio,
    ),
    Label("jobs_in_system", "jobs in the system", "jobs", "running or waiting, mean", lambda f: f.jobs_in_system, -1),
    Label("node_down_share", "nodes down", "share", "of all nodes, mean", lambda f: f.node_down_share),
    Label("gpu_s_held", "GPU time held", "GPU·s", "summed over jobs", lambda f: f.gpu_s_held),
    Label(
        "gpu_s_busy",
        "GPU time busy",
        "GPU·s",
        "summed over time: the same, counted differently",
        lambda f: f.gpu_s_busy,
    ),
    Label("decisions", "decisions", "", "rounds that asked the solver", lambda f: f.decisions),
    Label(
        "decision_s",
        "decisions, in all",
        "s",
        "wall clock of the solver; differs from run to run",
        lambda f: f.decision_s,
    ),
    Label(
        "longest_decision_s",
        "decision, longest",
        "s",
        "wall clock of the solver; differs from run to run",
        lambda f: f.longest_decision_s,
    ),
]
"""All of `Figures`, in order of reading."""
