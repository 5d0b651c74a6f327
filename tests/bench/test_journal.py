"""`runs.jsonl`: what is written comes back, what was cut off is dropped, what is something else stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crop_cli.bench.journal import Journal, read_journal, set_aside
from crop_cli.bench.records import Point
from crop_cli.errors import InputError, UsageError
from crop_cli.model.solution import Guarantee
from tests.bench.build import failed, run

RUNS = [
    run(objective=0.1 + 0.2, bound=1e300, placement={"j\n\u2028": {"a": 4}}, guarantee=Guarantee(a_priori=1 / 3)),
    run(seed=1, loads={"r": 1.5}, trace=[Point(seconds=0.1, objective=None, bound=8.0)]),
    failed(seed=2, error="</script>\r\n\0"),
]


def journal(path: Path) -> Path:
    """A file with three records."""
    file = Journal(path)
    for one in RUNS:
        file.add(one)
    file.close()
    return path


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    """A record per line, equal to what was added; a journal goes on where it ended."""
    path = journal(tmp_path / "runs.jsonl")
    assert path.read_bytes().count(b"\n") == 3
    assert read_journal(path) == RUNS
    assert read_journal(journal(path)) == RUNS * 2


def test_every_record_is_on_the_disk_at_once(tmp_path: Path) -> None:
    """A record can be read while the journal is open."""
    file = Journal(tmp_path / "runs.jsonl")
    file.add(RUNS[0])
    assert read_journal(tmp_path / "runs.jsonl") == RUNS[:1]
    file.close()


@pytest.mark.parametrize("left", [1, 10, 22, 23, 200, -1], ids=str)
def test_a_half_written_last_line_is_dropped(tmp_path: Path, left: int) -> None:
    """However much of the last line was written, the records before it count and the file ends after them."""
    path = journal(tmp_path / "runs.jsonl")
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:left])
    assert read_journal(path) == RUNS[:-1]
    assert path.read_bytes() == b"".join(whole)
    assert read_journal(journal(path)) == RUNS[:-1] + RUNS


@pytest.mark.parametrize(
    "garbage", [b"garbage\n", b"\xff\xfe\n", b"{}\n", b'{"format":"crop-run/2"}\n', b"\n"], ids=repr
)
def test_garbage_in_the_middle_is_refused(tmp_path: Path, garbage: bytes) -> None:
    """A line that is no record is named by its number, and the file keeps every byte, a cut last line too."""
    path = journal(tmp_path / "runs.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    data = lines[0] + garbage + b"".join(lines[1:]) + lines[0][:50]
    path.write_bytes(data)
    with pytest.raises(InputError, match="line 2") as refused:
        read_journal(path)
    assert len(refused.value.defects) == 1
    assert path.read_bytes() == data


@pytest.mark.parametrize("data", [b"precious", b'{"format":"crop-instance/1"}', b"# Notes\nlast line"], ids=repr)
def test_another_file_is_left_alone(tmp_path: Path, data: bytes) -> None:
    """A file that is no journal, without an end of its last line, loses nothing."""
    path = tmp_path / "notes"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_journal(path)
    assert path.read_bytes() == data


def test_an_empty_journal_has_no_records(tmp_path: Path) -> None:
    """A bench that was interrupted before its first record goes on from nothing."""
    (tmp_path / "runs.jsonl").touch()
    assert read_journal(tmp_path / "runs.jsonl") == []


def test_an_earlier_journal_is_set_aside(tmp_path: Path) -> None:
    """Journals in the way get the first free number; nothing is overwritten."""
    path = tmp_path / "runs.jsonl"
    assert set_aside(path) is None
    for number in (1, 2):
        path.write_text(str(number))
        assert set_aside(path) == tmp_path / f"runs.jsonl.{number}"
    assert [(tmp_path / f"runs.jsonl.{number}").read_text() for number in (1, 2)] == ["1", "2"]


def test_what_cannot_be_written_or_read_is_a_usage_error(tmp_path: Path) -> None:
    """A folder is no journal."""
    with pytest.raises(UsageError, match="cannot be written"):
        Journal(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_journal(tmp_path)


def test_a_pipe_or_device_is_never_renamed(tmp_path: Path) -> None:
    """What is no regular file stays where it is, behind a symbolic link too: /dev/null belongs to everybody."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(UsageError, match="is no regular file"):
            set_aside(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "pipe"]
