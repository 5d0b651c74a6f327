"""What a command has to say, as data: facts and tables. How they look is the renderers' business."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text cells. Columns in `right` are numbers, aligned to the right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Report:
    """Facts (name and text) and tables, in the order of reading."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
