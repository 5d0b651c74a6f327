"""LP and MPS files: other programs read them, and find crop's optimum."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import highspy
import numpy as np
import pulp
import pytest

from crop_cli import api
from crop_cli.export.lp import WIDTH, lp_text
from crop_cli.export.mps import mps_text
from crop_cli.export.program import CONSTANT, Program
from crop_cli.model.problem import compile_problem
from crop_cli.solvers.exact.coding import decode
from crop_cli.solvers.exact.solve import objective
from tests.export import solved

INSTANCES = Path(__file__).parents[2] / "instances"
READ = [
    "cases/allreduce-does-not-care-how-it-splits.json",
    "cases/movable-job-makes-room.json",
    "cases/nothing-to-place.json",
    "cases/required-although-negative.json",
    "cases/running-ring-holds-the-uplink.json",
    "cases/spread-too-thin.json",
    "small/deep-2.json",
    "small/fragmented-1.json",
    "small/resources-5.json",
    "small/shapes-4.json",
    "small/types-3.json",
]
WRITERS: dict[str, Callable[[Program, str], str]] = {"lp": lp_text, "mps": mps_text}


def _model(path: Path) -> Program:
    return Program.of(compile_problem(api.load(path).instance))


def _highs(file: Path) -> highspy.Highs:
    """HiGHS after solving a file."""
    highs = highspy.Highs()
    # The number of threads is the process's: another one here would be another one for all tests that follow.
    assert highs.setOptionValue("threads", 1) == highspy.HighsStatus.kOk
    highs.silent()
    assert highs.readModel(str(file)) == highspy.HighsStatus.kOk
    for option in ("mip_rel_gap", "mip_abs_gap"):
        highs.setOptionValue(option, 0.0)
    highs.setOptionValue("mip_feasibility_tolerance", 1e-7)
    highs.run()
    return highs


def _by_highs(file: Path) -> float:
    highs = _highs(file)
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getInfo().objective_function_value)


def _by_cbc(file: Path) -> float:
    result = file.with_suffix(".sol")
    command = [pulp.PULP_CBC_CMD().path, str(file), "ratio", "0", "allow", "0", "increment", "1e-8", "solve"]
    subprocess.run([*command, "solution", str(result), "quit"], capture_output=True, timeout=120, check=True)
    head = result.read_text().partition("\n")[0]
    assert head.startswith("Optimal"), head
    return float(head.rpartition(" ")[2])


def _undone(form: str, value: float) -> float:
    """F as the comments of the file say that it follows from the objective."""
    return value if form == "lp" else -value


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("name", READ)
def test_other_programs_reach_the_optimum_of_crop(tmp_path: Path, name: str, form: str) -> None:
    """HiGHS and CBC read the file, and the F that its comments derive from their objective is crop's optimum."""
    proved = api.solve(INSTANCES / name, solver="exact")
    assert proved.status == "optimal"
    assert proved.objective is not None
    file = tmp_path / f"model.{form}"
    file.write_text(WRITERS[form](_model(INSTANCES / name), "0" * 64))
    for found in (_by_highs(file), _by_cbc(file)):
        assert _undone(form, found) == pytest.approx(proved.objective, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("form", WRITERS)
def test_the_solution_of_a_file_is_a_placement(tmp_path: Path, form: str) -> None:
    """Values by the columns' names are a point of the linearisation whose placement has the F of the objective."""
    program = _model(INSTANCES / "small/types-3.json")
    file = tmp_path / f"model.{form}"
    file.write_text(WRITERS[form](program, ""))
    highs = _highs(file)
    values = dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True))
    point = np.rint([values[name] for name in program.columns]).astype(np.int64)
    problem = program.linearised.problem
    found = objective(problem, decode(program.linearised, point))
    assert found == pytest.approx(_undone(form, highs.getInfo().objective_function_value), abs=1e-6)


@pytest.mark.parametrize("form", WRITERS)
def test_what_cannot_be_placed_is_infeasible_elsewhere_too(tmp_path: Path, form: str) -> None:
    """Required jobs without room make a model without a point, also where no column is left for them."""
    for gpus in (5, 9):
        jobs = [{"name": f"must-{i}", "gpus": gpus, "required": True, "within": "node"} for i in range(3)]
        instance, _ = solved.write(tmp_path, solved.instance(jobs))
        file = tmp_path / f"model.{form}"
        file.write_text(WRITERS[form](_model(Path(instance)), ""))
        assert _highs(file).getModelStatus() == highspy.HighsModelStatus.kInfeasible


@pytest.mark.parametrize("name", READ)
def test_names_are_valid_in_every_format(name: str) -> None:
    """Columns have different names of at most 100 characters that no reader takes for a number or a keyword."""
    columns = _model(INSTANCES / name).columns
    assert len(set(columns)) == len(columns)
    pattern = re.compile(r"(whole|home|part|workers|stay|inside)(\.[A-Za-z0-9_]+){1,3}")
    assert all(pattern.fullmatch(column) and len(column) <= 100 for column in columns)


def test_comments_name_what_is_written_differently(tmp_path: Path) -> None:
    """Names with other characters, and groups of interchangeable jobs are told in the comments."""
    jobs = [{"name": "a b; End", "gpus": 2}, {"name": "twin-1", "gpus": 3}, {"name": "twin-2", "gpus": 3}]
    instance, _ = solved.write(tmp_path, solved.instance(jobs))
    text = lp_text(_model(Path(instance)), "f" * 64)
    assert '\\   a_b_End = "a b; End"' in text
    assert "\\   twin_1: twin_1, twin_2" in text
    assert "f" * 64 in text


@pytest.mark.parametrize("form", WRITERS)
def test_the_direction_is_stated(form: str) -> None:
    """The comments say whether to maximise, how F follows, and what the constant is."""
    program = _model(INSTANCES / "cases/running-ring-holds-the-uplink.json")
    text = WRITERS[form](program, "")
    assert ("Maximise: the objective is F itself." if form == "lp" else "Minimise: F = -1 * objective.") in text
    assert repr(program.linearised.constant) in text
    assert CONSTANT in text


def test_lines_of_an_lp_file_are_short() -> None:
    """Expressions are wrapped, since old readers cut long lines."""
    body = lp_text(_model(INSTANCES / "small/resources-5.json"), "").partition("Maximize")[2]
    assert max(map(len, body.splitlines())) <= WIDTH + 1
