"""Prices of a solution as tables: GPUs by domain and type, other resources, uplinks, and jobs that are priced out."""

from __future__ import annotations

from crop_cli.cli.report import Table
from crop_cli.model.solution import AreaPrice, SolutionPrices
from crop_cli.names import compress, number

MOST_ROWS = 6
"""Rows of each table unless all are asked for."""


def price_tables(prices: SolutionPrices | None, *, full: bool = False) -> list[Table]:
    """Tables of what has a price, dearest first; `full` for every row."""
    if prices is None:
        return []
    gpus = [_area(row) for row in prices.areas if row.highest > 0]
    others = [[row.resource, number(row.price), compress(row.nodes)] for row in prices.nodes if row.resource != "gpus"]
    uplinks = [
        [f"{row.level} {compress(row.uplinks)}", number(row.price)]
        for row in sorted(prices.uplinks, key=lambda row: -row.price)
    ]
    waiting = [
        [row.job, "no place" if row.value is None else number(row.value), "yes" if row.excluded else "not proved"]
        for row in prices.priced_out
    ]
    numbers = frozenset({2, 3, 4})
    return [
        _limited(
            "Prices: what one more GPU is worth", ["domain", "type", "free", "mean", "range"], gpus, numbers, full
        ),
        _limited("Prices per unit of other resources", ["resource", "price", "nodes"], others, frozenset({1}), full),
        _limited("Prices per Gbit/s of uplinks", ["uplink", "price"], uplinks, frozenset({1}), full),
        _limited(
            "Priced out: worth less than what they would take",
            ["job", "value at the prices", "in no placement as good"],
            waiting,
            frozenset({1}),
            full,
        ),
    ]


def _area(row: AreaPrice) -> list[str]:
    span = number(row.lowest) if row.lowest == row.highest else f"{number(row.lowest)} to {number(row.highest)}"
    return [row.domain, row.gpu_type, str(row.gpus_free), number(row.mean), span]


def _limited(title: str, columns: list[str], rows: list[list[str]], right: frozenset[int], full: bool) -> Table:
    """The first rows, and how many there are beside them."""
    if full or len(rows) <= MOST_ROWS:
        return Table(title, columns, rows, right)
    rest = [f"and {len(rows) - MOST_ROWS} more (-v)", *[""] * (len(columns) - 1)]
    return Table(title, columns, [*rows[:MOST_ROWS], rest], right)
