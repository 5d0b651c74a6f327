"""An explanation as reports: one for all, and one for each job that was asked for."""

from __future__ import annotations

from crop_cli.cli.render_prices import MOST_ROWS, price_tables
from crop_cli.cli.render_solution import nodes_text
from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.explanation.answers import Change, Displaced, Explanation, JobAnswer, Place, UplinkUse
from crop_cli.names import compress, number, percent, plural

MOST_GROUPS = 6
"""Groups of nodes of a place that are shown unless all are asked for."""

CSV_COLUMNS = [
    "job",
    "gpus",
    "weight",
    "placed",
    "utility",
    "best_now_utility",
    "best_empty_utility",
    "value_at_prices",
    "excluded",
    "objective_change",
    "lost",
    "limit",
]


def explanation_reports(found: Explanation, *, full: bool = False) -> list[Report]:
    """What a person wants to read; `full`: every row of every table."""
    facts = [
        ("instance", found.instance or "-"),
        ("status", f"{found.status} ({found.solver})"),
        ("objective", "unknown" if found.objective is None else f"{found.objective:.9g}"),
        ("bound", "unknown" if found.bound is None else f"{found.bound:.9g}"),
    ]
    if found.detailed:
        most = None if full else MOST_GROUPS
        return [Report(facts), *(_job(answer, most) for answer in found.jobs)]
    left = f" ({found.jobs_left} of them not looked at: the time was over)" if found.jobs_left else ""
    facts.append(("waiting", plural(len(found.jobs) + found.jobs_left, "job") + left))
    tables = [_waiting(found.jobs), _uplinks(found.uplinks, full=full), *price_tables(found.prices, full=full)]
    return [Report(facts, tables)]


def explanation_csv(found: Explanation) -> str:
    """A row for each job, in full precision."""
    rows: list[list[object]] = [
        [
            row.job,
            row.gpus,
            row.weight,
            row.place is not None,
            *(None if place is None else place.utility for place in (row.place, row.best_now, row.best_empty)),
            row.value_at_prices,
            row.excluded,
            None if row.displaced is None else row.displaced.objective_change,
            None if row.displaced is None else " ".join(row.displaced.lost),
            row.limit,
        ]
        for row in found.jobs
    ]
    return comma_separated(CSV_COLUMNS, rows)


def _waiting(jobs: list[JobAnswer]) -> Table:
    rows = [
        [
            row.job,
            str(row.gpus),
            "-" if row.best_empty is None else number(row.best_empty.utility),
            "-" if row.value_at_prices is None else number(row.value_at_prices),
            row.limit or "",
        ]
        for row in jobs
    ]
    return Table(
        "Not placed", ["job", "GPUs", "in empty cluster", "at the prices", "limit"], rows, frozenset({1, 2, 3})
    )


def _uplinks(uplinks: list[UplinkUse], *, full: bool) -> Table:
    shown = uplinks if full else uplinks[:MOST_ROWS]
    rows = [
        [
            f"{row.level} {row.uplink}",
            f"{number(row.reserved_gbps)} of {number(row.allowed_gbps)} Gbit/s",
            number(row.price),
        ]
        for row in shown
    ]
    if len(shown) < len(uplinks):
        rows.append([f"and {len(uplinks) - len(shown)} more (-v)", "", ""])
    return Table("Uplinks that are nearly full or have a price", ["uplink", "reserved", "price"], rows, frozenset({2}))


def _job(answer: JobAnswer, most: int | None) -> Report:
    facts = [("job", f"{answer.job} ({plural(answer.gpus, 'GPU')}, weight {number(answer.weight)})")]
    facts.append(
        ("placed", _place(answer.place, most) if answer.place is not None else f"no: {answer.limit or 'unknown'}")
    )
    facts.append(("best if empty", _place(answer.best_empty, most)))
    facts.append(("best now", _place(answer.best_now, most)))
    if answer.value_at_prices is not None:
        facts.append(("at the prices", _at_prices(answer)))
    if answer.displaced is not None:
        facts += _displaced(answer.displaced, most)
    if answer.displaced_note:
        facts.append(("displaces", answer.displaced_note))
    if answer.changes_note:
        facts.append(("changes", answer.changes_note))
    rows = [_change(change, most) for change in answer.changes]
    title = f"Changes that admit {answer.job}, each alone, all others unmoved"
    return Report(facts, [Table(title, ["change", "then on", "utility", "smallest", "checked"], rows, frozenset({2}))])


def _place(place: Place | None, most: int | None) -> str:
    if place is None:
        return "none"
    inside = f"inside one {place.level}" if place.level != "cluster" else "across the cluster"
    worth = f"efficiency {percent(place.efficiency)}, utility {number(place.utility)}"
    return f"{_nodes(place.nodes, most)} ({inside}, {worth})"


def _nodes(nodes: dict[str, int], most: int | None) -> str:
    """Workers per node, the first groups of equal neighbours only."""
    groups = nodes_text(nodes).split(" ")
    if most is None or len(groups) <= most:
        return " ".join(groups)
    return f"{' '.join(groups[:most])} and {len(groups) - most} more (-v)"


def _at_prices(answer: JobAnswer) -> str:
    value = number(answer.value_at_prices or 0.0)
    if answer.place is not None:
        return f"worth {value} more than what it takes"
    if answer.excluded:
        return f"{value}: priced out; no placement as good as this one contains it (proved)"
    if answer.value_at_prices is not None and answer.value_at_prices <= 0:
        return f"{value}: priced out, but that is not proved for whole jobs"
    return f"{value} more than what it takes: not priced out"


def _displaced(displaced: Displaced, most: int | None) -> list[tuple[str, str]]:
    """The best placement with the job in it."""
    change = displaced.objective_change
    facts = [
        ("if placed", f"on {_place(displaced.place, most)}"),
        ("F changes by", f"{'+' if change >= 0 else ''}{number(change)} (best found, by {displaced.found_by})"),
        ("displaces", compress(displaced.lost, 12) or "no job"),
    ]
    if displaced.gained:
        facts.append(("brings in", compress(displaced.gained, 12)))
    if displaced.moved:
        facts.append(("moves", compress(displaced.moved, 12)))
    return facts


def _change(change: Change, most: int | None) -> list[str]:
    return [
        change.text,
        _nodes(change.place.nodes, most),
        number(change.place.utility),
        "yes" if change.minimal else "not proved",
        "verified" if change.verified else "no",
    ]
