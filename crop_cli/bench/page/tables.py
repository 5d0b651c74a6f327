"""The tables of solvers, as cells with a text, a value to sort by and whether they are the best of their column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crop_cli.bench.page import figures
from crop_cli.bench.page.solvers import Style
from crop_cli.bench.records import Aggregate, Summary


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, what the heading means, how to read and write a cell, and which end is best (±1, 0)."""

    title: str
    meaning: str
    value: Callable[[Aggregate], float | None]
    text: Callable[[float | None], str] = figures.number
    best: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: what is shown, what sorting goes by, a hint, and whether no other solver has a better one."""

    text: str
    value: float | None
    hint: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One solver of a table."""

    style: Style
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """All solvers on all instances (`instances` is "*") or on one set."""

    instances: str
    lines: list[Line]


COLUMNS = [
    Column("runs", "runs", lambda a: a.runs),
    Column("solved", "runs with a verified feasible placement or a proof that none exists", lambda a: a.solved, best=1),
    Column("optimal", "runs proven optimal by themselves", lambda a: a.optimal, best=1),
    Column("over-booked", "runs scored under fair sharing: uplinks overbooked", lambda a: a.overbooked),
    Column("failed", "all other runs", lambda a: a.failed),
    Column("mean ratio", "mean ratio; a run without an answer counts 0", lambda a: a.mean_ratio, figures.ratio, 1),
    Column("median ratio", "median ratio", lambda a: a.median_ratio, figures.ratio, 1),
    Column("worst ratio", "lowest ratio of a run", lambda a: a.worst_ratio, figures.ratio, 1),
    Column("time,\u00a0s", "shifted geometric mean, shift 1 s", lambda a: a.seconds, best=-1),
    Column("PAR\u20112,\u00a0s", "mean seconds, unfinished runs at twice the time limit", lambda a: a.par2, best=-1),
    Column("wins", "runs that no other solver beats", lambda a: a.wins, best=1),
    Column("over-head", "mean communication overhead", lambda a: a.mean_overhead, figures.percent),
    Column("overhead ratio", "mean of overhead over the best known placement's", lambda a: a.mean_overhead_ratio),
    Column("throughput ratio", "mean of throughput over the best known placement's", lambda a: a.mean_throughput_ratio),
    Column("peak,\u00a0MiB", "largest resident memory", lambda a: a.peak_mib),
]


def tables(summary: Summary, styles: Sequence[Style]) -> list[Table]:
    """The table over all instances, then one per set in the order of the references."""
    seen = dict.fromkeys(one.instance.partition("/")[0] for one in summary.references)
    names = dict.fromkeys(["*", *seen, *(one.instances for one in summary.aggregates)])
    found = {(one.instances, one.solver): one for one in summary.aggregates}
    made = []
    for name in names:
        lines = [(style, found[name, style.name]) for style in styles if (name, style.name) in found]
        if lines:
            made.append(_table(name, lines))
    return made


def _table(name: str, lines: Sequence[tuple[Style, Aggregate]]) -> Table:
    bests = [_best(column, [aggregate for _, aggregate in lines]) for column in COLUMNS]
    return Table(
        name,
        [
            Line(style, [_cell(column, aggregate, best) for column, best in zip(COLUMNS, bests, strict=True)])
            for style, aggregate in lines
        ],
    )


def _best(column: Column, aggregates: Sequence[Aggregate]) -> str | None:
    """The best cell of a column as shown: cells that look alike are best together. None where all cells look alike."""
    values = [value for value in map(column.value, aggregates) if value is not None]
    texts = {column.text(value) for value in values}
    if not column.best or len(texts) < 2:
        return None
    return column.text(max(values) if column.best > 0 else min(values))


def _cell(column: Column, aggregate: Aggregate, best: str | None) -> Cell:
    value = column.value(aggregate)
    text = column.text(value)
    hint = f"on {aggregate.worst_instance}" if column.title == "worst ratio" and aggregate.worst_instance else ""
    return Cell(text, value, hint, value is not None and text == best)
