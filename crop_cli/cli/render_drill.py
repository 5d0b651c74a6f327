"""A drill as a report: the figures of the whole, and the worst failures."""

from __future__ import annotations

import msgspec

from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.names import number, percent, plural
from crop_cli.repair.results import Drill, FailureRow, NodeMean


def drill_report(found: Drill, top: int) -> Report:
    """What a person wants to read: `top` rows."""
    rows = found.failures[:top]
    facts = [
        ("instance", found.instance or "-"),
        ("goodput", f"{number(found.goodput_before)} (GPUs of perfect work, weighted)"),
        ("failures", _failures(found)),
        ("harmless", ", ".join(f"{count} of level {level}" for level, count in found.harmless.items())),
        ("worst node", _worst(found, found.worst_node)),
        ("worst switch", _worst(found, found.worst_switch)),
        *_mean(found.mean, found.outage_hours),
        ("time", f"{found.total_s:.3f} s"),
    ]
    title = f"Failures, worst first ({len(rows)} of {len(found.failures)})"
    columns = ["level", "name", "jobs hit", "lost at once", "waiting", "after repair", "kept"]
    return Report(facts, [Table(title, columns, [_row(row) for row in rows], frozenset({2, 3, 4, 5, 6}))])


def drill_csv(found: Drill) -> str:
    """A row for each failure, in full precision."""
    columns = list(FailureRow.__struct_fields__)
    return comma_separated(columns, [list(msgspec.structs.astuple(row)) for row in found.failures])


def _failures(found: Drill) -> str:
    text = f"{len(found.failures)} that hit a job"
    text += f", {found.computed} repairs computed with {found.solver}, the others are the same"
    if found.computed == len(found.failures):
        text = f"{len(found.failures)} that hit a job, each repaired with {found.solver}"
    return f"{text}; {found.left} not looked at: the time was over" if found.left else text


def _worst(found: Drill, name: str | None) -> str:
    row = next((row for row in found.failures if row.name == name), None)
    if row is None:
        return "none"
    return (
        f"{row.name}: hits {plural(row.jobs_hit, 'job')}, {number(row.goodput_lost)} lost at once, "
        f"{percent(row.goodput_kept, 4)} kept after the repair, {row.jobs_waiting} waiting"
    )


def _mean(mean: NodeMean | None, hours: float) -> list[tuple[str, str]]:
    if mean is None:
        return [("mean", "unknown: no failure rates, or not every node's failure was looked at")]
    return [
        (
            "mean",
            f"{number(mean.failures_per_day)} node failures per day; one loses {number(mean.goodput_lost)} at once, "
            f"{percent(mean.goodput_kept, 4)} kept after the repair",
        ),
        (
            "expected loss",
            f"{number(mean.loss_per_day)} GPU-days per day: {number(mean.restart_loss_per_day)} to restarts and half a "
            f"checkpoint interval, {number(mean.outage_loss_per_day)} to outages of {number(hours)} h",
        ),
    ]


def _row(row: FailureRow) -> list[str]:
    return [
        row.level,
        row.name,
        str(row.jobs_hit),
        number(row.goodput_lost),
        str(row.jobs_waiting),
        number(row.goodput_after),
        percent(row.goodput_kept, 4),
    ]
