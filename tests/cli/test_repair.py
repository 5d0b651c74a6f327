"""`crop repair`: forms, files, exit codes, wrong inputs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli import instances
from tests.repair.commands import crop

DEMO = str(Path(__file__).parents[2] / "instances" / "real" / "demo-lingjun-8.json")


@pytest.fixture
def files(racks: str, tmp_path: Path) -> tuple[str, str]:
    """An instance of eight nodes, and a solution of it."""
    path = tmp_path / "solution.json"
    assert crop("solve", racks, "--solver", "greedy", "-q", "-o", str(path)).exit_code == 0
    return racks, str(path)


def test_the_table_says_what_became_of_every_hit_job(files: tuple[str, str]) -> None:
    """Hit jobs, goodput, F and the bound, with the words for what the bound is of."""
    done = crop("repair", *files, "--down", "n0", "--solver", "oracle", "-q")
    assert done.exit_code == 0
    for text in ("n0 (1 node that was up)", "lost at once", "if nothing were done", "each job free to move", "Hit"):
        assert text in done.stdout
    assert done.stderr == ""


def test_json_is_one_document(files: tuple[str, str]) -> None:
    """--format json has every field; names separated by commas and repeated options add up, switches count."""
    done = crop("repair", *files, "--down", "n0,n1", "--down", "rack-2", "--format", "json", "--solver", "oracle", "-q")
    document = json.loads(done.stdout)
    assert document["format"] == "crop-repair/1"
    assert (document["down"], document["nodes_down"]) == (["n0", "n1", "rack-2"], 6)
    assert document["objective_idle"] <= document["objective_after"] <= document["bound"]
    assert all((row["after"] is None) == (row["reason"] is not None) for row in document["hit"])


def test_csv_has_a_row_for_each_job(files: tuple[str, str]) -> None:
    """--format csv is a table of the jobs in full precision."""
    done = crop("repair", *files, "--down", "rack-1", "--format", "csv", "-q")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows and {row["what"] for row in rows} <= {"waits", "placed anew", "moved", "started"}
    assert all(row["reason"] for row in rows if row["what"] == "waits")


def test_markdown_has_tables(files: tuple[str, str]) -> None:
    """--format markdown is made of tables."""
    assert "### Hit" in crop("repair", *files, "--down", "rack-1", "--format", "markdown", "--solver", "oracle").stdout


@pytest.mark.parametrize("solver", ["oracle", "greedy", "auto"])
def test_the_written_files_pass_the_check(files: tuple[str, str], tmp_path: Path, solver: str) -> None:
    """-o and --instance-output are a pair that `crop check` accepts, bound and prices included."""
    degraded, repaired = str(tmp_path / "degraded.json"), str(tmp_path / "repaired.json")
    outputs = ["-o", repaired, "--instance-output", degraded]
    assert crop("repair", *files, "--down", "n0,n5", "--solver", solver, "-q", *outputs).exit_code == 0
    done = crop("check", degraded, repaired, "--format", "json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["violations"]) == (0, [])
    states = {
        node["name"]: node.get("state", "up") for node in json.loads(Path(degraded).read_text())["cluster"]["nodes"]
    }
    assert [name for name, state in states.items() if state == "down"] == ["n0", "n5"]


def test_standard_output_can_be_the_solution(files: tuple[str, str], tmp_path: Path) -> None:
    """With -o - nothing else is written there."""
    degraded = str(tmp_path / "degraded.json")
    arguments = ["--down", "n0", "--solver", "oracle", "--instance-output", degraded, "-o", "-", "-q"]
    assert json.loads(crop("repair", *files, *arguments).stdout)["format"] == "crop-solution/1"


def test_a_real_instance(tmp_path: Path) -> None:
    """The demonstration cluster loses a node: what was 16 GPUs wide waits, and the small one that waited starts."""
    solution = str(tmp_path / "solution.json")
    crop("solve", DEMO, "-q", "-o", solution)
    document = json.loads(crop("repair", DEMO, solution, "--down", "S28-h4", "--format", "json", "-q").stdout)
    assert document["goodput_before"] - document["goodput_lost"] == pytest.approx(document["goodput_after"])
    assert document["gap"] is not None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--down", "n00"], "did you mean 'n0'"),
        (["--down", "rack-3"], "did you mean 'rack-2' or 'rack-1'"),
        (["--down", ","], "no node or switch is named"),
        ([], "--down"),
        (["--down", "n0", "--solver", "magic"], "magic"),
        (["--down", "n0", "--migration-minutes", "-1"], "migration minutes"),
        (["--down", "n0", "--migration-minutes", "nan"], "migration minutes"),
        (["--down", "n0", "--migration-minutes", "2e9"], "from 0 to 1e9"),
        (["--down", "n0", "--time-limit", "0"], "--time-limit"),
        (["--down", "n0", "-o", "out.json"], "--instance-output"),
        (["--down", "n0", "-o", "-", "--instance-output", "-"], "same file"),
        (["--down", "n0", "--instance-output", "-", "--format", "csv"], "one thing only"),
    ],
)
def test_wrong_options_are_usage_errors(files: tuple[str, str], arguments: list[str], text: str) -> None:
    """Each is named, and nothing is printed as a result."""
    done = crop("repair", *files, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr


def test_inputs_are_never_overwritten(files: tuple[str, str], tmp_path: Path) -> None:
    """The instance or the solution as an output is refused before any work is done."""
    for output in files:
        done = crop("repair", *files, "--down", "n0", "--instance-output", output)
        assert done.exit_code == 2 and "is an input file" in done.stderr


def test_wrong_files_have_their_codes(files: tuple[str, str], tmp_path: Path) -> None:
    """Missing files are bad input, another instance's solution is a violation, two standard inputs are usage."""
    racks, solution = files
    missing = str(tmp_path / "none.json")
    assert crop("repair", missing, solution, "--down", "n0").exit_code == 3
    assert crop("repair", racks, missing, "--down", "n0").exit_code == 3
    assert crop("repair", racks, racks, "--down", "n0").exit_code == 3
    done = crop("repair", DEMO, solution, "--down", "S28")
    assert done.exit_code == 7 and "does not hold" in done.stderr
    assert crop("repair", "-", "-", "--down", "n0").exit_code == 2


def test_a_solution_without_a_placement_cannot_be_repaired(tmp_path: Path) -> None:
    """A solution that says "infeasible" holds, but nothing runs in it."""
    path = instances.write(tmp_path / "infeasible.json", instances.infeasible())
    solution = str(tmp_path / "solution.json")
    crop("solve", path, "-q", "-o", solution)
    done = crop("repair", path, solution, "--down", "a")
    assert done.exit_code == 7 and "no placement" in done.stderr
