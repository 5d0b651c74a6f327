"""Tables of text: CSV files as rows of cells, each cell read with a message that names line, column and value."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import shown, unpack, unusable
from crop_cli.model.findings import quoted
from crop_cli.names import one

WORKERS, AMOUNT = 1e6, 1e12
"""Largest whole number (GPUs) and number (seconds, resources) of a cell: those of `crop_cli.model.limits`."""

MOST_DEFECTS = 50
"""Defects of one file that are listed: a wrong file has as many as lines."""


def text_of(data: bytes, file: str) -> str:
    """The text of a file, plain or gzip.

    Raises
    ------
    InputError
        If it is empty or not UTF-8.
    """
    content = unpack(file, data)
    if not content.strip():
        raise unusable(file, "an empty file", "a table")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{content[error.start]:02x}, which is not UTF-8"
        raise unusable(file, found, "text in UTF-8", f"line {line}") from None


@dataclass(slots=True)
class Table:
    """A file's rows and what is wrong with them.

    Attributes
    ----------
    file
        Name for messages.
    defects
        Grows while rows are read; `finish` raises when there are any.
    """

    file: str
    defects: list[Defect] = field(default_factory=list)

    def rows(
        self, data: bytes, columns: Sequence[str], *, header: bool = True, delimiter: str = ",", some: bool = False
    ) -> Iterator[Row]:
        """Rows of a CSV file that has at least these columns, in any order; without a header, exactly these.

        Rows with too few or too many cells are noted and left out. With `some`, a table without rows is none.

        Raises
        ------
        InputError
            If the file is no such table.
        """
        lines = io.StringIO(text_of(data, self.file), newline="")
        # Tab-separated lines have no quoting: a quote is a character of a command.
        reader = (
            csv.reader(lines) if delimiter == "," else csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        )
        try:
            names = [name.strip() for name in next(reader)] if header else list(columns)
            missing = [column for column in columns if column not in names]
            if missing:
                found = quoted(", ".join(names))
                raise InputError(shown(self.file), [Defect("line 1", found, f"columns {', '.join(missing)} too")])
            twice = [column for column in columns if names.count(column) > 1]
            if twice:
                raise InputError(shown(self.file), [Defect("line 1", f"{one(twice)} twice", "each column once")])
            empty = True
            for cells in reader:
                if not cells:
                    continue
                empty = False
                if len(cells) != len(names):
                    self.note(reader.line_num, f"{len(cells)} cells", f"{len(names)}: {', '.join(names)}")
                    continue
                yield Row(self, reader.line_num, dict(zip(names, cells, strict=True)))
            if empty and some:
                raise unusable(self.file, "a table without rows", "a row below the names of the columns", "line 1")
        except csv.Error as error:
            self.note(reader.line_num, str(error), "a row of a table")

    def note(self, line: int, found: str, expected: str, column: str = "") -> None:
        """One more defect."""
        self.defects.append(Defect(f"line {line}{f', {column}' if column else ''}", found, expected))

    def finish(self) -> None:
        """End of the file.

        Raises
        ------
        InputError
            If anything was noted, with the first `MOST_DEFECTS`.
        """
        if not self.defects:
            return
        listed = self.defects[:MOST_DEFECTS]
        rest = len(self.defects) - len(listed)
        if rest:
            listed.append(Defect("$", f"{rest} more of the kind", "a file of the form described"))
        raise InputError(shown(self.file), listed)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; a cell that cannot be read is noted and reads as the least value allowed."""

    table: Table
    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """A cell that is not empty."""
        value = self.cells[column].strip()
        if not value or not value.isprintable():
            self.table.note(self.line, quoted(value) if value else "nothing", "printable text", column)
        return value

    def whole(self, column: str, least: int = 0) -> int:
        """A whole number, also if written as 8.0."""
        value = self.number(column, least, WORKERS)
        if value != int(value):
            self.table.note(self.line, quoted(self.cells[column]), f"a whole number of at least {least}", column)
        return int(value)

    def number(self, column: str, least: float = 0.0, most: float = AMOUNT) -> float:
        """A finite number, not above what a file of crop may hold."""
        text = self.cells[column]
        try:
            # Python would read 1_000 and other scripts' digits.
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            at_most = f", at most {most:.0e}" if value > most else ""
            self.table.note(self.line, quoted(text), f"a number of at least {least:g}{at_most}", column)
            return float(least)
        return value
