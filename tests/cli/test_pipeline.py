"""Commands one behind the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Process

INSTANCE = Path(__file__).resolve().parents[2] / "instances" / "cases" / "tight-pair.json"


def test_a_pipeline_passes_the_solution_on(crop_process: Process) -> None:
    """`… | crop solve - | crop export csv -`: an instance from standard input gives the solution to a pipe."""
    solved = crop_process("solve", "-", "--solver", "greedy", stdin=INSTANCE.read_text())
    assert solved.returncode == 0
    assert json.loads(solved.stdout)["format"] == "crop-solution/1"
    assert "--format table" in solved.stderr
    exported = crop_process("export", "csv", "-", stdin=solved.stdout)
    assert exported.returncode == 0 and exported.stdout.startswith("job,")


@pytest.mark.parametrize("arguments", [["-", "--format", "table"], [str(INSTANCE)]])
def test_the_summary_is_there_for_who_asks(crop_process: Process, arguments: list[str]) -> None:
    """With `--format table`, or an instance from a file, a pipe gets the summary."""
    done = crop_process("solve", *arguments, "--solver", "greedy", stdin=INSTANCE.read_text())
    assert done.returncode == 0 and done.stdout.startswith("instance ")
