"""Two benches side by side as tables, JSON and CSV."""

from __future__ import annotations

import msgspec

from crop_cli.bench.records import Row, Summary
from crop_cli.bench.regression import Change, Comparison
from crop_cli.bench.rows import ENDED
from crop_cli.bench.statistics import ALL
from crop_cli.cli.render_bench import ratio, seconds
from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.names import plural


def comparison_report(before: Summary, after: Summary, compared: Comparison) -> Report:
    """What `crop compare` prints."""
    worse = [change for change in compared.changes if change.worse]
    better = [change for change in compared.changes if change.better]
    equal = len(compared.changes) - len(worse) - len(better)
    split = f"{len(better)} better, {len(worse)} worse, {equal} the same"
    facts = [
        ("before", f"crop {before.crop_version}, {before.started}, {plural(len(before.rows), 'run')}"),
        ("after", f"crop {after.crop_version}, {after.started}, {plural(len(after.rows), 'run')}"),
        (
            "in both",
            f"{plural(len(compared.changes), 'run')}: {split}",
        ),
        ("only before", str(len(compared.gone))),
        ("only after", str(len(compared.new))),
    ]
    if compared.other_file:
        facts.append(("other file", f"{plural(len(compared.other_file), 'run')} on changed instances: not compared"))
    if before.settings != after.settings:
        facts.append(("settings", "differ: differences may come from them"))
    changes = [
        [
            change.after.instance,
            change.after.solver,
            str(change.after.seed),
            "worse" if change.worse else "better",
            "-" if change.before.objective is None else f"{change.before.objective:.9g}",
            "-" if change.after.objective is None else f"{change.after.objective:.9g}",
            change.worse or f"{change.before.verdict} to {change.after.verdict}",
            _excuse(change, settled=before.settings == after.settings),
        ]
        for change in [*worse, *better]
    ]
    columns = ["instance", "solver", "seed", "is", "before", "after", "what", ""]
    return Report(
        facts, [_solvers_compared(before, after), Table("Runs that differ", columns, changes, frozenset({4, 5}))]
    )


def _excuse(change: Change, *, settled: bool) -> str:
    """Why what got worse need not be the solver's doing; empty where it is."""
    if change.certain or not change.worse:
        return ""
    if not settled:
        return "the settings differ"
    ended = change.before.stop_reason in ENDED and change.after.stop_reason in ENDED
    return "may be chance: several threads" if ended else "may be chance: a limit ended it"


def _solvers_compared(before: Summary, after: Summary) -> Table:
    old = {a.solver: a for a in before.aggregates if a.instances == ALL}
    rows = []
    for now in (a for a in after.aggregates if a.instances == ALL and a.solver in old):
        was = old[now.solver]
        rows.append(
            [
                now.solver,
                ratio(was.mean_ratio),
                ratio(now.mean_ratio),
                ratio(was.worst_ratio),
                ratio(now.worst_ratio),
                f"{was.optimal}/{was.runs}",
                f"{now.optimal}/{now.runs}",
                seconds(was.seconds),
                seconds(now.seconds),
            ]
        )
    columns = [
        "solver",
        "mean before",
        "after",
        "worst before",
        "after",
        "optimal before",
        "after",
        "time before",
        "after",
    ]
    return Table("Solvers, over the runs of each file", columns, rows, frozenset(range(1, 9)))


def comparison_json(compared: Comparison) -> bytes:
    """Everything that differs, and what could not be compared."""
    document = {
        "changes": [_document(change) for change in compared.changes if change.worse or change.better],
        "same": sum(not (change.worse or change.better) for change in compared.changes),
        "only_before": [_name(row) for row in compared.gone],
        "only_after": [_name(row) for row in compared.new],
        "other_file": [_name(row) for row in compared.other_file],
    }
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def changes_csv(compared: Comparison) -> str:
    """A line per run in both."""
    columns = ["instance", "solver", "seed", "is", "certain", "verdict_before", "verdict_after", "before", "after"]
    columns += ["seconds_before", "seconds_after", "what"]
    return comma_separated(columns, [list(_document(change).values()) for change in compared.changes])


def _document(change: Change) -> dict[str, object]:
    old, new = change.before, change.after
    return {
        **_name(new),
        "is": "worse" if change.worse else "better" if change.better else "same",
        "certain": change.certain,
        "verdict_before": old.verdict,
        "verdict_after": new.verdict,
        "before": old.objective,
        "after": new.objective,
        "seconds_before": old.seconds,
        "seconds_after": new.seconds,
        "what": change.worse,
    }


def _name(row: Row) -> dict[str, object]:
    return {"instance": row.instance, "solver": row.solver, "seed": row.seed}
