"""A bench as tables: solvers over all sets and per set, runs that did not go well, gates."""

from __future__ import annotations

from crop_cli.bench.gates import Failure
from crop_cli.bench.page import figures
from crop_cli.bench.records import Aggregate, Row, Summary
from crop_cli.bench.statistics import ALL
from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.names import number, percent, plural

AGGREGATE_COLUMNS = [
    "solver",
    "runs",
    "solved",
    "optimal",
    "overbooked",
    "failed",
    "mean ratio",
    "median",
    "worst",
    "wins",
    "time",
    "PAR-2",
    "overhead",
    "throughput",
    "memory",
]

MOST_ROWS = 40
"""Rows of the table of single runs on a terminal; the summary has all."""

HOW_TO_READ = (
    "ratio: F over the proven optimum, else over the least bound; time: shifted geometric mean (shift 1 s); PAR-2: "
    "mean time, a run that a limit ended or that failed counts twice the limit; wins: runs nobody beats; overhead: "
    "mean communication overhead; throughput: mean over that of the best known placement; overbooked: scored under "
    "fair sharing"
)


def bench_report(summary: Summary, failed: list[Failure], *, runs: bool = True) -> Report:
    """What `crop bench` prints."""
    machine = summary.machine
    proven = f"of {sum(reference.optimal for reference in summary.references)} the optimum is proven"
    empty = sum(reference.infeasible for reference in summary.references)
    proven += f", of {empty} that no placement exists" if empty else ""
    facts = [
        ("instances", f"{len(summary.references)}, {proven}"),
        ("runs", f"{len(summary.rows)}{'' if summary.complete else ' (interrupted: not all that were asked for)'}"),
        ("limits", _limits(summary)),
        (
            "machine",
            f"{machine.processor}, {plural(machine.cores, 'core')}, {summary.parallel} at a time",
        ),
        ("figures", HOW_TO_READ),
    ]
    sets = list(dict.fromkeys(a.instances for a in summary.aggregates))
    names = sets if len(sets) != 2 else [ALL]
    tables = [aggregate_table(summary.aggregates, name) for name in names]
    if runs:
        tables.append(_runs_table(summary.rows))
    if failed:
        rows = [[failure.gate, failure.where, failure.found] for failure in failed]
        tables.append(Table("Gates that failed", ["gate", "where", "found"], rows))
    return Report(facts=facts, tables=tables)


def aggregate_table(aggregates: list[Aggregate], name: str) -> Table:
    """One row per solver over the instances of a name, best mean ratio first."""
    own = [a for a in aggregates if a.instances == name]
    own.sort(key=lambda a: (-(a.mean_ratio if a.mean_ratio is not None else -1.0), a.seconds or 0.0))
    return Table(
        "All sets" if name == ALL else f"Set {name}",
        AGGREGATE_COLUMNS,
        [_aggregate_cells(a) for a in own],
        frozenset(range(1, len(AGGREGATE_COLUMNS))),
    )


def _aggregate_cells(a: Aggregate) -> list[str]:
    return [
        a.solver,
        str(a.runs),
        str(a.solved),
        str(a.optimal),
        str(a.overbooked),
        str(a.failed),
        ratio(a.mean_ratio),
        ratio(a.median_ratio),
        ratio(a.worst_ratio),
        str(a.wins),
        seconds(a.seconds),
        seconds(a.par2),
        percent(a.mean_overhead),
        ratio(a.mean_throughput_ratio),
        "-" if a.peak_mib is None else f"{a.peak_mib:.0f} MiB",
    ]


def _runs_table(rows: list[Row]) -> Table:
    """Runs that are worth a look: no answer, overbooked, far from the reference; the worst first."""
    ranked = sorted(rows, key=lambda row: (row.verdict != "failed", row.ratio if row.ratio is not None else -1.0))
    below = [row for row in ranked if row.ratio is None or row.ratio < 1.0 or row.verdict == "failed"]
    shown = [row for row in below if row.verdict != "infeasible"][:MOST_ROWS]
    columns = ["instance", "solver", "seed", "status", "objective", "ratio", "own gap", "uplinks", "time", "why"]
    return Table(
        f"Runs below the reference ({len(shown)} worst of {len(rows)})",
        columns,
        [
            [
                row.instance,
                row.solver,
                str(row.seed),
                row.verdict,
                "-" if row.objective is None else number(row.objective),
                ratio(row.ratio),
                percent(row.gap),
                f"{row.overbooked_uplinks} to {row.worst_load:.3g}" if row.worst_load is not None else "",
                seconds(row.seconds),
                row.error or row.stop_reason,
            ]
            for row in shown
        ],
        frozenset({2, 4, 5, 6, 8}),
    )


def rows_csv(summary: Summary) -> str:
    """Every run as a line of CSV."""
    columns = [name for name in Row.__struct_fields__ if name != "size"]
    names = ["nodes", "gpus", "jobs", *columns]
    return comma_separated(
        names,
        [
            [row.size.nodes, row.size.gpus, row.size.jobs, *(getattr(row, name) for name in columns)]
            for row in summary.rows
        ],
    )


def _limits(summary: Summary) -> str:
    settings = summary.settings
    limit = "none" if settings.time_limit is None else f"{settings.time_limit:g} s"
    gap = "each solver's own" if settings.gap is None else f"{settings.gap:g}"
    return f"time {limit}, gap {gap}, {plural(settings.threads, 'thread')} per run"


def ratio(value: float | None) -> str:
    return "-" if value is None else figures.ratio(value)


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
