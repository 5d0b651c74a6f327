"""Reports for a terminal. Cells wrap; nothing is cut off."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from crop_cli.cli.environment import Environment
from crop_cli.cli.report import Report, Table

WHOLE_NAMES = 24
"""Names up to this length are not broken, if a third of the terminal is as wide."""

COLOURS = {"optimal": "green", "feasible": "yellow", "infeasible": "red", "no_solution": "red"}


def show(report: Report, environment: Environment) -> None:
    """Draw a report to the width of the terminal."""
    console = Console(file=environment.stdout, no_color=not environment.colour, highlight=False, emoji=False)
    with environment.writing():
        if report.facts:
            console.print(_facts(report.facts))
        for table in report.tables:
            if table.rows:
                console.print()
                console.print(_table(table, console.width))
        environment.stdout.flush()


def _facts(facts: list[tuple[str, str]]) -> RichTable:
    drawn = RichTable(box=None, show_header=False, pad_edge=False)
    drawn.add_column(style="bold", no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, text in facts:
        colour = COLOURS.get(text.split(" ")[0], "") if name == "status" else ""
        drawn.add_row(Text(name), Text(text, style=colour))
    return drawn


def _table(table: Table, width: int) -> RichTable:
    drawn = RichTable(title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    longest = max(len(row[0]) for row in table.rows)
    for c, name in enumerate(table.columns):
        drawn.add_column(
            Text(name),
            justify="right" if c in table.right else "left",
            overflow="fold",
            min_width=min(longest, WHOLE_NAMES, width // 3) if c == 0 else None,
        )
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
