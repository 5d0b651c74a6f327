"""`crop export`: which files it takes, what it refuses, and the pipeline from an instance to commands."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from crop_cli.cli.main import app
from tests.cli import instances

PLACEMENTS = ["slurm", "kubernetes", "csv"]


def _crop(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


@pytest.fixture
def solution(racks: str, tmp_path: Path) -> str:
    """A solution file of the eight nodes."""
    path = str(tmp_path / "solution.json")
    assert _crop("solve", racks, "--solver", "greedy", "-q", "-o", path).exit_code == 0
    return path


@pytest.mark.parametrize("form", PLACEMENTS)
def test_instance_and_solution(racks: str, solution: str, form: str) -> None:
    """With both files the result is on standard output."""
    done = _crop("export", form, racks, solution)
    assert done.exit_code == 0, done.stderr
    assert "job-0" in done.stdout


@pytest.mark.parametrize("form", PLACEMENTS)
def test_a_solution_alone_will_do(solution: str, form: str) -> None:
    """Placements have all that is needed, from a file or from standard input alike."""
    from_file = _crop("export", form, solution)
    assert from_file.exit_code == 0, from_file.stderr
    assert _crop("export", form, "-", stdin=Path(solution).read_bytes()).stdout == from_file.stdout


def test_the_documented_pipeline(racks: str) -> None:
    """`crop solve - -o - | crop export slurm -` gives the commands for every placed job."""
    solved = _crop("solve", "-", "--solver", "greedy", "-q", "-o", "-", stdin=Path(racks).read_bytes())
    assert solved.exit_code == 0, solved.stderr
    done = _crop("export", "slurm", "-", stdin=solved.stdout_bytes)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\nsbatch ") == len(json.loads(solved.stdout)["placements"])


@pytest.mark.parametrize("form", PLACEMENTS)
def test_a_solution_of_another_instance_is_refused(tmp_path: Path, solution: str, form: str) -> None:
    """Neither name nor hash fits: exit code 7, and nothing is written."""
    other = instances.write(tmp_path / "other.json", instances.two_racks(name="other"))
    done = _crop("export", form, other, solution)
    assert done.exit_code == 7
    assert "does not hold for this instance" in done.stderr
    assert not done.stdout


def _overbook(data: dict[str, Any]) -> None:
    row = data["placements"][0]
    row["nodes"] = {"n0": sum(row["nodes"].values())}


def _rename_job(data: dict[str, Any]) -> None:
    data["placements"][0]["job"] = "stranger"


def _rename_node(data: dict[str, Any]) -> None:
    data["placements"][0]["nodes"] = {"stranger": 16}


@pytest.mark.parametrize("change", [_overbook, _rename_job, _rename_node])
@pytest.mark.parametrize("form", PLACEMENTS)
def test_a_placement_that_does_not_hold_is_refused(racks: str, solution: str, form: str, change: Any) -> None:
    """Too many GPUs, unknown jobs and unknown nodes: exit code 7."""
    data = json.loads(Path(solution).read_text())
    change(data)
    Path(solution).write_text(json.dumps(data))
    done = _crop("export", form, racks, solution)
    assert done.exit_code == 7
    assert not done.stdout


@pytest.mark.parametrize(("nodes", "shown"), [({}, "0 GPUs"), ({"n0": 0}, "0 GPUs"), ({"n0": -1, "n1": 2}, "")])
def test_impossible_counts_are_refused_without_the_instance(solution: str, nodes: dict[str, int], shown: str) -> None:
    """A job on no GPU, or fewer than none, is bad input."""
    data = json.loads(Path(solution).read_text())
    data["placements"][0]["nodes"] = nodes
    Path(solution).write_text(json.dumps(data))
    done = _crop("export", "slurm", solution)
    assert done.exit_code == 3
    assert "$.placements[0].nodes" in done.stderr
    assert shown in done.stderr


@pytest.mark.parametrize("form", ["slurm", "kubernetes"])
def test_an_instance_is_no_solution(racks: str, form: str) -> None:
    """The message names the format that was found."""
    done = _crop("export", form, racks)
    assert done.exit_code == 3
    assert "crop-instance/1" in done.stderr


def test_without_a_placement_there_is_nothing_to_start(tmp_path: Path) -> None:
    """An infeasible instance gives reasons as CSV, but no commands."""
    instance, solution = instances.write(tmp_path / "i.json", instances.infeasible()), str(tmp_path / "s.json")
    assert _crop("solve", instance, "-q", "-o", solution).exit_code == 4
    done = _crop("export", "slurm", instance, solution)
    assert done.exit_code == 3
    assert "$.status" in done.stderr
    table = _crop("export", "csv", instance, solution)
    assert table.exit_code == 0
    assert "waits" in table.stdout


@pytest.mark.parametrize("files", [["-", "-"], ["a", "b", "c"]])
def test_other_numbers_of_files_are_usage_errors(files: list[str]) -> None:
    """One or two files, and standard input once."""
    assert _crop("export", "csv", *files).exit_code == 2


def test_rows_of_the_table(racks: str, solution: str) -> None:
    """A row per job and node with its rack, whose GPUs add up, and a reason for each job that waits."""
    rows = list(csv.DictReader(io.StringIO(_crop("export", "csv", racks, solution).stdout)))
    data = json.loads(Path(solution).read_text())
    placed = [row for row in rows if row["change"] != "waits"]
    assert {row["change"] for row in placed} == {"starts"}
    for job in data["placements"]:
        assert {row["node"]: int(row["gpus"]) for row in placed if row["job"] == job["job"]} == job["nodes"]
    assert all(row["path"] == f"rack-{1 + int(row['node'][1:]) // 4}" for row in placed)
    waiting = {row["job"]: row["reason"] for row in rows if row["change"] == "waits"}
    assert waiting == {row["job"]: row["reason"] for row in data["unplaced"]}


@pytest.mark.parametrize("form", ["mps", "lp"])
def test_a_model_is_packed_where_the_name_says_so(racks: str, tmp_path: Path, form: str) -> None:
    """A name that ends in .gz gets gzip of the same text, equal bytes each time."""
    packed = [tmp_path / f"{i}.{form}.gz" for i in range(2)]
    for path in packed:
        assert _crop("export", form, racks, "-o", str(path)).exit_code == 0
    assert gzip.decompress(packed[0].read_bytes()).decode() == _crop("export", form, racks).stdout
    assert packed[0].read_bytes() == packed[1].read_bytes()


@pytest.mark.parametrize("form", [*PLACEMENTS, "mps", "lp"])
def test_a_file_that_cannot_be_written_is_a_usage_error(racks: str, solution: str, tmp_path: Path, form: str) -> None:
    """A missing folder is told, with exit code 2."""
    files = [racks, solution] if form in PLACEMENTS else [racks]
    done = _crop("export", form, *files, "-o", os.fspath(tmp_path / "none" / "out"))
    assert done.exit_code == 2
    assert "none" in done.stderr


def test_the_default_of_the_batch_script_is_one() -> None:
    """The option's default and the module's are the same."""
    from crop_cli.export.slurm import DEFAULT_SCRIPT

    assert DEFAULT_SCRIPT in _crop("export", "slurm", "--help").stdout
