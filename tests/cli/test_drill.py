"""`crop drill`: forms, files, exit codes, wrong inputs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.repair.commands import crop


@pytest.fixture
def files(racks: str, tmp_path: Path) -> tuple[str, str]:
    """An instance of eight nodes, and a solution of it."""
    path = tmp_path / "solution.json"
    assert crop("solve", racks, "--solver", "greedy", "-q", "-o", str(path)).exit_code == 0
    return racks, str(path)


def test_the_table_has_the_worst_failures_first(files: tuple[str, str]) -> None:
    """--top limits the rows; the title says how many there are."""
    done = crop("drill", *files, "--top", "3", "-q")
    assert done.exit_code == 0
    assert "worst node" in done.stdout and "worst switch" in done.stdout
    table = done.stdout[done.stdout.index("Failures, worst first (3 of 10)") :].splitlines()
    assert len(table) == 5 and table[2].startswith("rack")
    assert done.stderr == ""


def test_json_agrees_with_the_solution_file(files: tuple[str, str]) -> None:
    """--format json is one document; the largest losses at once are the worst blast radii that `solve` reported."""
    document = json.loads(crop("drill", *files, "--format", "json").stdout)
    metrics = json.loads(Path(files[1]).read_text())["metrics"]
    assert document["format"] == "crop-drill/1"
    assert document["goodput_before"] == pytest.approx(metrics["weighted_goodput"])
    for level, worst in (("node", "worst_node_blast"), ("rack", "worst_switch_blast")):
        lost = [row["goodput_lost"] for row in document["failures"] if row["level"] == level]
        assert max(lost) == pytest.approx(metrics[worst])
    kept = [row["goodput_after"] for row in document["failures"]]
    assert kept == pytest.approx(sorted(kept))


def test_csv_has_a_row_for_each_failure(files: tuple[str, str]) -> None:
    """--format csv has all failures in full precision, whatever --top says; --level leaves the others out."""
    rows = list(
        csv.DictReader(io.StringIO(crop("drill", *files, "--level", "rack", "--top", "0", "--format", "csv").stdout))
    )
    assert sorted(row["name"] for row in rows) == ["rack-1", "rack-2"]
    assert {row["nodes_down"] for row in rows} == {"4"} and rows[0]["failures_per_day"] == ""


def test_markdown_has_tables(files: tuple[str, str]) -> None:
    """--format markdown is made of tables."""
    assert "### Failures, worst first" in crop("drill", *files, "--format", "markdown").stdout


def test_exact_repairs_keep_no_less(files: tuple[str, str]) -> None:
    """--exact is --solver exact; what is kept is no less than with the oracle."""
    level = ["--level", "rack", "--format", "json"]
    exact = json.loads(crop("drill", *files, "--exact", *level).stdout)
    oracle = json.loads(crop("drill", *files, *level).stdout)
    assert (exact["solver"], oracle["solver"]) == ("exact", "oracle")
    worst = {row["name"]: row["goodput_after"] for row in oracle["failures"]}
    assert all(row["goodput_after"] >= worst[row["name"]] - 0.01 for row in exact["failures"])


def test_the_output_file_is_the_document(files: tuple[str, str], tmp_path: Path) -> None:
    """-o writes JSON beside the table, and -o - instead of it."""
    path = tmp_path / "drill.json"
    assert "worst node" in crop("drill", *files, "-o", str(path)).stdout
    written, shown = json.loads(path.read_text()), json.loads(crop("drill", *files, "-o", "-").stdout)
    assert {**written, "total_s": 0} == {**shown, "total_s": 0}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--level", "pod"], "no level 'pod' (it has 'rack' or 'node')"),
        (["--top", "-1"], "--top"),
        (["--solver", "magic"], "magic"),
        (["--exact", "--solver", "greedy"], "exclude each other"),
        (["--outage-hours", "-1"], "outage hours"),
        (["--time-limit", "soon"], "--time-limit"),
        (["-o", "-", "--format", "csv"], "no place there"),
    ],
)
def test_wrong_options_are_usage_errors(files: tuple[str, str], arguments: list[str], text: str) -> None:
    """Each is named, and nothing is printed as a result."""
    done = crop("drill", *files, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr


def test_wrong_files_have_their_codes(files: tuple[str, str], tmp_path: Path) -> None:
    """Missing files are bad input, a changed solution is a violation, an input is never overwritten."""
    racks, solution = files
    assert crop("drill", racks, str(tmp_path / "none.json")).exit_code == 3
    document = json.loads(Path(solution).read_text())
    document["objective"] += 1
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    assert crop("drill", racks, str(changed)).exit_code == 7
    assert crop("drill", racks, solution, "-o", solution).exit_code == 2
    assert crop("drill", "-", "-").exit_code == 2
