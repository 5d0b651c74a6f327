"""Tables of text: rows, cells, and every way in which a file is none."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from crop_cli.errors import InputError
from crop_cli.sources.table import MOST_DEFECTS, Row, Table

COLUMNS = ("name", "gpus")


def rows_of(data: bytes) -> list[Row]:
    """All rows of a sound table."""
    table = Table("t.csv")
    rows = list(table.rows(data, COLUMNS))
    table.finish()
    return rows


@pytest.mark.parametrize(
    "data",
    [
        b"name,gpus\na,1\nb,2\n",
        b"gpus,name\r\n1,a\r\n\r\n2,b",
        b"\xef\xbb\xbfname, gpus,more\na,1,x\nb,2,y\n",
        gzip.compress(b"name,gpus\na,1\nb,2\n"),
    ],
)
def test_order_line_ends_marks_and_packing_do_not_matter(data: bytes) -> None:
    """Columns are found by name, further ones are left alone, empty lines skipped."""
    assert [(row.text("name"), row.whole("gpus")) for row in rows_of(data)] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b" \n", "an empty file"),
        (b"name,gpu\na,1\n", "columns gpus too"),
        (b"name,gpus\na\n", "line 2: found 1 cells; expected 2: name, gpus"),
        (b"name,gpus\na,1,2\n", "line 2: found 3 cells"),
        (b"name,gpus\n\xff,1\n", "line 2: found the byte 0xff"),
        (gzip.compress(b"name,gpus\na,1\n")[:-6], "gzip"),
        (b"\x00\x01\x02", "columns name, gpus too"),
        (b"name,gpus\n" + b"x" * 200_000 + b",1\n", "field larger"),
    ],
)
def test_another_kind_of_file_is_named(data: bytes, words: str) -> None:
    """With line and finding."""
    with pytest.raises(InputError, match=r"t\.csv") as caught:
        rows_of(data)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        (b"x", lambda row: row.whole("gpus")),
        (b"-1", lambda row: row.whole("gpus")),
        (b"1.5", lambda row: row.whole("gpus")),
        (b"nan", lambda row: row.number("gpus")),
        (b"1e999", lambda row: row.number("gpus")),
        (b"", lambda row: row.number("gpus")),
        (b" ", lambda row: row.text("gpus")),
        (b"a\x1b[31m", lambda row: row.text("gpus")),
    ],
    ids=["word", "negative", "fraction", "nan", "infinite", "empty", "blank", "control"],
)
def test_a_cell_that_cannot_be_read_is_named(cell: bytes, read: Callable[[Row], object]) -> None:
    """Line and column; reading goes on."""
    table = Table("t.csv")
    for row in table.rows(b"name,gpus\na," + cell + b"\n", COLUMNS):
        read(row)
    with pytest.raises(InputError) as caught:
        table.finish()
    assert [defect.path for defect in caught.value.defects] == ["line 2, gpus"]


def test_whole_numbers_may_be_written_with_a_point() -> None:
    """Tables that went through pandas have 8.0."""
    assert rows_of(b"name,gpus\na,8.0\n")[0].whole("gpus") == 8


def test_a_file_that_is_wrong_throughout_does_not_flood() -> None:
    """The first defects are listed, the others counted."""
    table = Table("t.csv")
    for row in table.rows(b"name,gpus\n" + b"a,x\n" * 200, COLUMNS):
        row.whole("gpus")
    with pytest.raises(InputError) as caught:
        table.finish()
    assert len(caught.value.defects) == MOST_DEFECTS + 1
    assert "150 more" in str(caught.value)


@pytest.mark.parametrize(("cell", "column"), [(b"1_000", "gpus"), ("\u0663".encode(), "gpus"), (b"2000000", "gpus")])
def test_numbers_that_no_file_of_crop_holds_are_named(cell: bytes, column: str) -> None:
    """Python's own spellings of numbers and more workers than an instance may have."""
    table = Table("t.csv")
    for row in table.rows(b"name,gpus\na," + cell + b"\n", COLUMNS):
        row.whole(column)
    with pytest.raises(InputError, match=f"line 2, {column}"):
        table.finish()


def test_a_column_that_stands_twice_is_refused() -> None:
    """Nobody can tell which of both is meant."""
    with pytest.raises(InputError, match="line 1: found gpus twice"):
        rows_of(b"name,gpus,gpus\na,1,5\n")


def test_a_table_without_rows_is_refused_where_some_are_needed() -> None:
    """A download that ended early looks like this; a list of faults may be empty."""
    assert rows_of(b"name,gpus\n") == []
    with pytest.raises(InputError, match="a table without rows"):
        list(Table("t.csv").rows(b"name,gpus\n", COLUMNS, some=True))
