"""`crop_cli.api.repair` and `drill` take what the other functions take."""

from __future__ import annotations

from pathlib import Path

import pytest

from crop_cli import api
from crop_cli.errors import UsageError
from crop_cli.model.io import dump_solution

CASE = Path(__file__).parents[2] / "instances" / "cases" / "two-threes-beat-a-five.json"


def test_repair_and_drill_take_paths_and_structs(tmp_path: Path) -> None:
    """A path, a loaded instance, a solution or its path: the answers are the same."""
    loaded = api.load(CASE)
    solution = api.solve(loaded, solver="greedy")
    path = tmp_path / "solution.json"
    path.write_bytes(dump_solution(solution))
    node = loaded.instance.cluster.nodes[0].name
    hit = [
        api.repair(source, of, [node], solver="oracle").report.hit for source, of in ((CASE, path), (loaded, solution))
    ]
    assert hit[0] == hit[1] != []
    assert api.drill(CASE, path).failures == api.drill(loaded, solution).failures != []


def test_wrong_values_are_usage_errors() -> None:
    """Unknown levels, names and limits are refused."""
    solution = api.solve(CASE, solver="greedy")
    with pytest.raises(UsageError, match="--level"):
        api.drill(CASE, solution, level="row")
    with pytest.raises(UsageError, match="--down"):
        api.repair(CASE, solution, ["nowhere"])
    with pytest.raises(UsageError, match="time limit"):
        api.repair(CASE, solution, ["nowhere"], time_limit=0)
