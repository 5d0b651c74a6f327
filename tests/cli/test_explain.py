"""`crop explain`: forms, exit codes, wrong inputs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli import instances
from tests.cli.conftest import Run

CASES = Path(__file__).parents[2] / "instances" / "cases"
CASE = str(CASES / "two-threes-beat-a-five.json")


@pytest.fixture
def solution(crop: Run, tmp_path: Path) -> str:
    """The solution file of the case."""
    path = tmp_path / "solution.json"
    assert crop("solve", CASE, "--solver", "greedy", "-q", "-o", str(path)).exit_code == 0
    return str(path)


def test_the_summary_names_what_waits_and_the_prices(crop: Run, solution: str) -> None:
    """Without --job: each waiting job with its limit, and prices."""
    done = crop("explain", CASE, solution, "-q")
    assert done.exit_code == 0
    assert "Not placed" in done.stdout and "needs 5 GPUs; 0 free" in done.stdout
    assert "what one more GPU is worth" in done.stdout
    assert done.stderr == ""


def test_a_job_in_detail(crop: Run, solution: str) -> None:
    """With --job: what it displaces, and changes that were verified."""
    done = crop("explain", CASE, solution, "--job", "five")
    assert done.exit_code == 0
    assert "three-a,three-b" in done.stdout
    assert "F changes by" in done.stdout
    assert "free 5 GPUs" in done.stdout and "verified" in done.stdout


def test_it_solves_without_a_solution(crop: Run, solution: str) -> None:
    """Without a solution file the instance is solved first; what is said is the same."""
    given = json.loads(
        crop("explain", CASE, solution, "--job", "five", "--format", "json", "--solver", "greedy").stdout
    )
    alone = json.loads(crop("explain", CASE, "--job", "five", "--format", "json", "--solver", "greedy").stdout)
    assert given["jobs"] == alone["jobs"]


def test_json_is_one_document(crop: Run, solution: str) -> None:
    """--format json has every field, unknown ones as null."""
    done = crop("explain", CASE, solution, "--job", "five", "--job", "three-a", "--job", "five", "--format", "json")
    document = json.loads(done.stdout)
    assert document["format"] == "crop-explanation/1"
    assert [row["job"] for row in document["jobs"]] == ["five", "three-a"]
    five, three = document["jobs"]
    assert five["place"] is None and five["best_now"] is None and three["limit"] is None
    assert set(five["displaced"]["lost"]) == {"three-a", "three-b"}
    assert five["displaced"]["objective_change"] == pytest.approx(-1)
    assert {change["kind"] for change in five["changes"]} == {"free", "nodes"}
    assert all(change["verified"] and change["minimal"] for change in five["changes"])
    assert document["prices"]["certified_bound"] >= document["objective"]


def test_csv_has_a_row_for_each_job(crop: Run, solution: str) -> None:
    """--format csv is a table in full precision."""
    done = crop("explain", CASE, solution, "--job", "five", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["job"] for row in rows] == ["five"]
    assert float(rows[0]["objective_change"]) == pytest.approx(-1)


def test_markdown_has_tables(crop: Run, solution: str) -> None:
    """--format markdown is made of tables."""
    done = crop("explain", CASE, solution, "--format", "markdown")
    assert done.exit_code == 0 and "### Not placed" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--job", "fiv"], 2, "did you mean 'five'"),
        (["--job", "quite-different"], 2, "has no job 'quite-different'"),
        (["--solver", "magic"], 2, "magic"),
        (["--time-limit", "0"], 2, "--time-limit"),
        (["--gap", "-1"], 2, "--gap"),
    ],
)
def test_wrong_options_are_usage_errors(crop: Run, solution: str, arguments: list[str], code: int, text: str) -> None:
    """Each is named, and nothing is printed as a result."""
    done = crop("explain", CASE, solution, *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert text in done.stderr


def test_wrong_files_have_their_codes(crop: Run, solution: str, tmp_path: Path, racks: str) -> None:
    """A missing file is bad input, a solution of another instance is a violation, two standard inputs are usage."""
    assert crop("explain", str(tmp_path / "none.json")).exit_code == 3
    assert crop("explain", CASE, str(tmp_path / "none.json")).exit_code == 3
    done = crop("explain", racks, solution)
    assert done.exit_code == 7 and "does not hold" in done.stderr
    assert crop("explain", "-", "-").exit_code == 2


def test_infeasible_instances_have_code_4(crop: Run, tmp_path: Path) -> None:
    """Solved here and proven infeasible: 4, with the reasons; a solution file that says so is explained: 0."""
    path = instances.write(tmp_path / "infeasible.json", instances.infeasible())
    done = crop("explain", path, "-q")
    assert done.exit_code == 4
    assert "must-0" in done.stdout
    solution = tmp_path / "solution.json"
    crop("solve", path, "-q", "-o", str(solution))
    assert crop("explain", path, str(solution), "-q").exit_code == 0


def test_prices_are_shown_and_checked(crop: Run, racks: str, tmp_path: Path) -> None:
    """`solve` shows prices, every one with -v; `check` says that they prove the bound."""
    solution = tmp_path / "solution.json"
    short = crop("solve", racks, "--solver", "greedy", "-q", "-o", str(solution)).stdout
    assert "what one more GPU is worth" in short and "rack-1" in short
    document = json.loads(crop("check", racks, str(solution), "--format", "json").stdout)
    assert document["ok"] and document["certified_bound"] <= document["bound"] * (1 + 1e-6)
