"""Reports as plain text, Markdown and CSV. Nothing is cut off: a line is as long as it must be."""

from __future__ import annotations

import csv
import io

from crop_cli.cli.report import Report, Table


def plain(report: Report) -> str:
    """Aligned columns, for pipes and logs."""
    blocks = []
    if report.facts:
        width = max(len(name) for name, _ in report.facts)
        blocks.append("\n".join(f"{name:<{width}}  {text}" for name, text in report.facts))
    blocks += [_plain_table(table) for table in report.tables if table.rows]
    return "\n\n".join(blocks)


def _plain_table(table: Table) -> str:
    lines = [table.columns, *table.rows]
    widths = [max(len(line[c]) for line in lines) for c in range(len(table.columns))]
    text = [table.title] if table.title else []
    for line in lines:
        cells = [
            f"{cell:>{width}}" if c in table.right else f"{cell:<{width}}"
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def markdown(report: Report) -> str:
    """A table of facts, then each table under its title."""
    blocks = []
    if report.facts:
        blocks.append(_markdown_table(Table("", ["", ""], [[name, text] for name, text in report.facts])))
    blocks += [_markdown_table(table) for table in report.tables if table.rows]
    return "\n\n".join(blocks)


def _markdown_table(table: Table) -> str:
    rule = ["---:" if c in table.right else "---" for c in range(len(table.columns))]
    lines = [table.columns, rule, *([_escaped(cell) for cell in row] for row in table.rows)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"### {table.title}\n\n{text}" if table.title else text


def _escaped(cell: str) -> str:
    """A cell with the characters that would end it or start markup made harmless."""
    for character in "\\|`*_<>[]":
        cell = cell.replace(character, "\\" + character)
    return cell.replace("\n", " ")


def comma_separated(columns: list[str], rows: list[list[object]]) -> str:
    """RFC 4180 without the last line end; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")
