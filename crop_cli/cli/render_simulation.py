"""Simulations as tables: a column per policy, every figure with its unit; CSV of figures and of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.names import number, plural
from crop_cli.simulate.labels import LABELS, lines, time_scale
from crop_cli.simulate.records import JobRecord, Simulation
from crop_cli.simulate.words import policy_words, reaction_words, weather_words

MOST_JOBS = 20
"""Jobs that did not end, listed one by one."""

JOB_COLUMNS = [
    "policy",
    "name",
    "gpus",
    "weight",
    "arrival_s",
    "duration_s",
    "state",
    "reason",
    "first_start_s",
    "end_s",
    "queueing_s",
    "completion_s",
    "finish_ratio",
    "service_gpu_s",
    "done_s",
    "lost_s",
    "starts",
    "interruptions",
    "moves",
]


def simulation_report(simulations: Sequence[Simulation], replayed: str | None = None, *, full: bool = False) -> Report:
    """What `crop simulate` prints.

    Parameters
    ----------
    simulations
        Of one trace, cluster and weather.
    replayed
        What is said of a fault trace.
    full
        Also every job that did not end.
    """
    first = simulations[0]
    facts = [
        ("trace", f"{first.trace or '(no name)'}, {plural(len(first.jobs), 'job')}"),
        ("cluster", f"{first.cluster or '(no name)'}, {plural(first.nodes, 'node')}, {plural(first.gpus, 'GPU')}"),
        ("queue", policy_words(first.settings.policy)),
        ("reaction", reaction_words(first.settings.policy)),
        ("devices", "; ".join(filter(None, [weather_words(first.settings), replayed and f"replayed: {replayed}"]))),
    ]
    for one in simulations:
        if one.interrupted:
            scale, seconds = time_scale(one.figures.makespan_s)
            after = number(one.figures.makespan_s / seconds)
            facts.append(
                ("interrupted", f"{one.settings.policy.solver}: figures are those of the first {after} {scale}")
            )
    return Report(facts, [_figures(simulations), *_reasons(simulations), *(_unended(simulations) if full else [])])


def figures_csv(simulations: Sequence[Simulation]) -> str:
    """A line per policy; times in seconds, shares of one."""
    columns = ["policy", "trace", "cluster", "gpus", "nodes", "jobs", "interrupted", *(label.key for label in LABELS)]
    return comma_separated(
        columns,
        [
            [
                one.settings.policy.solver,
                one.trace,
                one.cluster,
                one.gpus,
                one.nodes,
                len(one.jobs),
                one.interrupted,
                *(label.value(one.figures) for label in LABELS),
            ]
            for one in simulations
        ],
    )


def jobs_csv(simulations: Sequence[Simulation]) -> str:
    """A line per policy and job; seconds and GPU-seconds."""
    return comma_separated(
        JOB_COLUMNS, [[one.settings.policy.solver, *_job(job)] for one in simulations for job in one.jobs]
    )


def _job(job: JobRecord) -> list[object]:
    completion = None if job.end is None else job.end - job.arrival
    return [
        job.name,
        job.gpus,
        job.weight,
        job.arrival,
        job.duration,
        job.state,
        job.reason,
        job.first_start,
        job.end,
        None if job.first_start is None else job.first_start - job.arrival,
        completion,
        None if completion is None else completion / job.duration,
        job.service,
        job.done,
        job.lost,
        job.starts,
        job.interruptions,
        job.moves,
    ]


def _figures(simulations: Sequence[Simulation]) -> Table:
    columns = ["figure", "unit", *(one.settings.policy.solver for one in simulations)]
    rows = [[line.label.title, line.unit, *line.texts] for line in lines([one.figures for one in simulations])]
    return Table("Figures", columns, rows, frozenset(range(2, len(columns))))


def _reasons(simulations: Sequence[Simulation]) -> list[Table]:
    """Why jobs were rejected: the same under every policy."""
    reasons = Counter(job.reason or "" for job in simulations[0].jobs if job.state == "rejected")
    if not reasons:
        return []
    rows = [[str(count), reason] for reason, count in reasons.most_common()]
    return [Table("Rejected", ["jobs", "why"], rows, frozenset({0}))]


def _unended(simulations: Sequence[Simulation]) -> list[Table]:
    rows = []
    for one in simulations:
        end = one.series[-1].time
        left = [job for job in one.jobs if job.state != "finished" and job.arrival <= end]
        name = one.settings.policy.solver
        rows += [
            [name, job.name, job.state, str(job.gpus), number(job.done), number(job.duration), str(job.interruptions)]
            for job in left[:MOST_JOBS]
        ]
        if len(left) > MOST_JOBS:
            rows.append([name, f"and {len(left) - MOST_JOBS} more", "", "", "", "", ""])
    columns = ["policy", "job", "state", "GPUs", "work done, s", "of, s", "interruptions"]
    return [Table("Jobs that did not end", columns, rows, frozenset({3, 4, 5, 6}))] if rows else []
