"""A repair as a report: what was lost and kept, and a row for each job that was hit, moved or started."""

from __future__ import annotations

from crop_cli.cli.render_solution import nodes_text
from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.names import compress, number, percent
from crop_cli.repair.results import HitJob, RepairReport

MOST_ROWS = 40
"""Rows of a table that are shown unless all are asked for."""

CSV_COLUMNS = ["job", "gpus", "weight", "what", "before", "after", "goodput_before", "goodput_after", "reason"]

WAYS = {
    "nothing": "no job is hit: nothing changes",
    "pinned": "nobody moves but the jobs that were hit",
    "moves": "others move, for jobs that had no place otherwise",
}


def repair_report(found: RepairReport, *, full: bool = False) -> Report:
    """What a person wants to read; `full`: every row of every table."""
    waiting = [row for row in found.hit if row.after is None]
    nodes = "1 node that was" if found.nodes_down == 1 else f"{found.nodes_down} nodes that were"
    facts = [
        ("instance", found.instance or "-"),
        ("down", f"{compress(found.down)} ({nodes} up)"),
        ("repair", WAYS[found.way] + _proved(found)),
        ("jobs", _jobs(found, len(waiting))),
        ("goodput", _goodput(found)),
        ("F", _objective(found)),
        ("bound", _bound(found)),
        ("time", f"{found.total_s:.3f} s"),
    ]
    facts += [("note", note) for note in found.notes]
    tables = [
        Table(
            "Hit",
            ["job", "GPUs", "ran on", "runs on", "goodput before", "after"],
            _hit(found.hit),
            frozenset({1, 4, 5}),
        ),
        Table(
            "Moved",
            ["job", "GPUs", "ran on", "runs on", "goodput before", "after", "cost of the move"],
            [
                [
                    row.job,
                    str(row.gpus),
                    nodes_text(row.before),
                    nodes_text(row.after),
                    number(row.goodput_before),
                    number(row.goodput_after),
                    number(row.cost),
                ]
                for row in found.moved
            ],
            frozenset({1, 4, 5, 6}),
        ),
        Table(
            "Started: waited before, and take what is left",
            ["job", "GPUs", "runs on", "goodput"],
            [[row.job, str(row.gpus), nodes_text(row.nodes), number(row.goodput)] for row in found.started],
            frozenset({1, 3}),
        ),
        Table(
            "Without a place",
            ["job", "GPUs", "reason"],
            [[row.job, str(row.gpus), row.reason or ""] for row in waiting],
            frozenset({1}),
        ),
    ]
    return Report(facts, [table if full else _shortened(table) for table in tables])


def repair_csv(found: RepairReport) -> str:
    """A row for each job that was hit, moved or started, in full precision."""
    rows: list[list[object]] = [
        [
            row.job,
            row.gpus,
            row.weight,
            "waits" if row.after is None else "placed anew",
            _plain(row.before),
            None if row.after is None else _plain(row.after),
            row.goodput_before,
            row.goodput_after,
            row.reason,
        ]
        for row in found.hit
    ]
    for moved in found.moved:
        places = [_plain(moved.before), _plain(moved.after)]
        figures = [moved.goodput_before, moved.goodput_after]
        rows.append([moved.job, moved.gpus, moved.weight, "moved", *places, *figures, None])
    rows += [
        [new.job, new.gpus, new.weight, "started", None, _plain(new.nodes), None, new.goodput, None]
        for new in found.started
    ]
    return comma_separated(CSV_COLUMNS, rows)


def _plain(nodes: dict[str, int]) -> str:
    return " ".join(f"{name}:{count}" for name, count in nodes.items())


def _proved(found: RepairReport) -> str:
    if found.way != "pinned":
        return ""
    return " (the best that way: proved)" if found.pinned_proved else f" (found by {found.solver}, not proved)"


def _jobs(found: RepairReport, waiting: int) -> str:
    text = f"{len(found.hit)} hit: {len(found.hit) - waiting} placed anew, {waiting} without a place"
    text += f"; {len(found.moved)} moved"
    return f"{text}; of those that waited before {len(found.started)} started, {found.waiting_before} still wait"


def _goodput(found: RepairReport) -> str:
    return (
        f"{number(found.goodput_before)} before, {number(found.goodput_lost)} lost at once, "
        f"{number(found.goodput_after)} after the repair: {percent(found.goodput_kept, 4)} kept"
    )


def _objective(found: RepairReport) -> str:
    return (
        f"{found.objective_before:.9g} before, {found.objective_idle:.9g} if nothing were done, "
        f"{found.objective_after:.9g} repaired"
    )


def _bound(found: RepairReport) -> str:
    if found.bound is None:
        return "unknown"
    gap = "unknown" if found.gap is None else f"{100 * found.gap:.3g} %"
    word = "optimal (proved)" if found.status == "optimal" else f"gap {gap}"
    return f"{found.bound:.9g}, of every placement on what is left, each job free to move at its cost: {word}"


def _hit(rows: list[HitJob]) -> list[list[str]]:
    return [
        [
            row.job,
            str(row.gpus),
            nodes_text(row.before),
            "waits" if row.after is None else nodes_text(row.after),
            number(row.goodput_before),
            "-" if row.goodput_after is None else number(row.goodput_after),
        ]
        for row in rows
    ]


def _shortened(table: Table) -> Table:
    if len(table.rows) <= MOST_ROWS:
        return table
    more = [f"and {len(table.rows) - MOST_ROWS} more (-v)", *[""] * (len(table.columns) - 1)]
    return Table(table.title, table.columns, [*table.rows[:MOST_ROWS], more], table.right)
