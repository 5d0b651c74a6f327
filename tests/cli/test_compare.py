"""`crop compare`: two summaries side by side."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from crop_cli.bench.records import Run as Record
from crop_cli.bench.records import Settings
from crop_cli.bench.summary import dump_summary
from tests.bench.build import failed, run, summary
from tests.cli.conftest import Run

OTHER = Settings(time_limit=20.0, gap=None, threads=1)

BEFORE = [
    run(instance="s/worse", objective=6.0),
    run(instance="s/better", objective=4.0),
    run(instance="s/same"),
    run(instance="s/chance", objective=5.0, stop_reason="time_limit"),
    run(instance="s/other"),
    run(instance="s/gone"),
]
AFTER = [
    run(instance="s/worse", objective=5.0),
    run(instance="s/better", objective=8.0, verdict="optimal", stop_reason="proved"),
    run(instance="s/same"),
    run(instance="s/chance", objective=4.5, stop_reason="time_limit"),
    run(instance="s/other", sha256="1"),
    run(instance="s/new"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two summaries in which something is worse, better, and not comparable."""
    return write(tmp_path / "a.json", BEFORE), write(tmp_path / "b.json", AFTER)


def write(path: Path, runs: list[Record], settings: Settings | None = None) -> str:
    """Write the summary of runs, and its path as text."""
    made = summary(runs) if settings is None else summary(runs, settings=settings)
    path.write_bytes(dump_summary(made))
    return str(path)


def test_tables(crop: Run, files: tuple[str, str]) -> None:
    """Counts, solvers and every run that differs, the worse ones first."""
    done = crop("compare", *files)
    assert done.exit_code == 0
    text = done.stdout
    assert "4 runs: 1 better, 2 worse, 1 the same" in text
    assert "1 run on changed instances: not compared" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("s/")]
    assert [(row[0], row[3]) for row in rows] == [("s/worse", "worse"), ("s/chance", "worse"), ("s/better", "better")]
    (chance,) = [line for line in text.splitlines() if line.startswith("s/chance")]
    assert "may be chance: a limit ended it" in chance
    assert "objective was 6, is 5" in text


def test_json_is_one_document(crop: Run, files: tuple[str, str]) -> None:
    """Standard output is what differs and what could not be compared."""
    found = json.loads(crop("compare", *files, "--format", "json").stdout)
    assert [(one["instance"], one["is"], one["certain"]) for one in found["changes"]] == [
        ("s/worse", "worse", True),
        ("s/better", "better", True),
        ("s/chance", "worse", False),
    ]
    assert found["same"] == 1
    for key, name in (("only_before", "s/gone"), ("only_after", "s/new"), ("other_file", "s/other")):
        assert [one["instance"] for one in found[key]] == [name]


def test_csv_has_every_run_in_both(crop: Run, files: tuple[str, str]) -> None:
    """A line per run, with both values."""
    lines = list(csv.DictReader(io.StringIO(crop("compare", *files, "--format", "csv").stdout)))
    assert [(line["instance"], line["is"], line["before"], line["after"]) for line in lines] == [
        ("s/worse", "worse", "6.0", "5.0"),
        ("s/better", "better", "4.0", "8.0"),
        ("s/same", "same", "4.0", "4.0"),
        ("s/chance", "worse", "5.0", "4.5"),
    ]


def test_markdown(crop: Run, files: tuple[str, str]) -> None:
    """Tables for a pull request."""
    assert "| s/worse | greedy | 0 | worse | 6 | 5 |" in crop("compare", *files, "--format", "markdown").stdout


def test_strict(crop: Run, files: tuple[str, str]) -> None:
    """Exit code 8 and the run's name where something is worse that cannot be chance."""
    done = crop("compare", *files, "--strict")
    assert done.exit_code == 8
    assert done.stderr == "crop: --strict: s/worse, greedy: objective was 6, is 5\n"
    assert crop("compare", files[0], files[0], "--strict").exit_code == 0


def test_strict_checks_something(crop: Run, tmp_path: Path) -> None:
    """Two benches without a run in common, or of other settings, are no proof that nothing is worse."""
    one = write(tmp_path / "a.json", [run()])
    other = write(tmp_path / "b.json", [run(instance="t/x")])
    settings = write(tmp_path / "c.json", [run(settings=OTHER)], OTHER)
    for path, text in ((other, "no run is in both"), (settings, "settings")):
        assert crop("compare", one, path).exit_code == 0
        done = crop("compare", one, path, "--strict")
        assert done.exit_code == 8 and text in done.stderr
    assert "differ: differences may come from them" in crop("compare", one, settings).stdout


def test_why_a_difference_is_no_proof(crop: Run, tmp_path: Path) -> None:
    """Where the settings differ they are what may explain it; where several threads ran, chance."""
    one = write(tmp_path / "a.json", [run()])
    other = write(tmp_path / "b.json", [run(objective=3.0, settings=OTHER)], OTHER)
    text = crop("compare", one, other).stdout
    assert "the settings differ" in text and "a limit ended it" not in text
    two = Settings(time_limit=10.0, gap=None, threads=2)
    files = [write(tmp_path / f"{f}.json", [run(objective=f, settings=two)], two) for f in (4.0, 3.0)]
    assert "may be chance: several threads" in crop("compare", *files).stdout


def test_a_ratio_below_one_is_not_rounded_to_it(crop: Run, tmp_path: Path) -> None:
    """A mean of 0.99999 is shown as 0.9999, as on the page."""
    near = write(tmp_path / "a.json", [run(objective=8.0), run(objective=8.0 - 8e-5, solver="search")])
    (line,) = [line for line in crop("compare", near, near).stdout.splitlines() if line.startswith("search")]
    assert line.split()[1:3] == ["0.9999", "0.9999"]


def test_a_run_that_failed(crop: Run, tmp_path: Path) -> None:
    """What failed now is worse, whatever it was; what failed before is better."""
    good, bad = write(tmp_path / "a.json", [run()]), write(tmp_path / "b.json", [failed(error="| broken |")])
    assert "was feasible, is failed (| broken |); was verified, is not" in crop("compare", good, bad).stdout
    assert "1 better, 0 worse" in crop("compare", bad, good, "--strict").stdout


def test_from_standard_input(crop: Run, files: tuple[str, str]) -> None:
    """One of the two may be standard input; both are refused."""
    data = Path(files[0]).read_bytes()
    assert crop("compare", "-", files[1], stdin=data).stdout == crop("compare", *files).stdout
    assert crop("compare", "-", "-", stdin=data).exit_code == 2


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format":"crop-bench/2"}', b"\xff", b"\x1f\x8b\x08"], ids=repr)
def test_what_is_no_summary(crop: Run, files: tuple[str, str], tmp_path: Path, data: bytes) -> None:
    """It is bad input, named by its file."""
    (tmp_path / "bad.json").write_bytes(data)
    done = crop("compare", files[0], str(tmp_path / "bad.json"))
    assert done.exit_code == 3 and "bad.json" in done.stderr
    assert crop("compare", files[0], str(tmp_path / "missing.json")).exit_code == 3
