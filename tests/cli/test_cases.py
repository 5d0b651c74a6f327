"""The hand-made cases, and those shared with other implementations, through the command's own path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import crop_cli
from crop_cli.model.solution import Solution

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "instances" / "cases", ROOT.parent / "shared" / "cases")
CASES = [path for folder in FOLDERS for path in sorted(folder.glob("*.expect.json"))]
TOLD = [path for path in CASES if "reason_mentions" in json.loads(path.read_text(encoding="utf-8"))]


def _solve(expectation: Path) -> tuple[dict[str, Any], str, Solution]:
    instance = str(expectation).replace(".expect.json", ".json")
    return (
        json.loads(expectation.read_text(encoding="utf-8")),
        instance,
        crop_cli.solve(instance, time_limit=30, gap=0.0),
    )


@pytest.mark.parametrize("case", TOLD, ids=lambda path: path.name.removesuffix(".expect.json"))
def test_reasons_mention_what_is_expected(case: Path) -> None:
    """The reasons of a case's unplaced jobs have the numbers and names that they should have."""
    expected, _, solution = _solve(case)
    reasons = " ".join(row.reason for row in solution.unplaced)
    assert [row.job for row in solution.unplaced] == expected["unplaced"]
    assert all(mention in reasons for mention in expected["reason_mentions"]), reasons


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name.removesuffix(".expect.json"))
def test_cases_are_solved_and_checked(case: Path) -> None:
    """Auto proves every case, places the jobs that it should, and what it gives passes the check."""
    expected, instance, solution = _solve(case)
    assert solution.stop_reason == "proved"
    if "status" in expected:
        assert solution.status == expected["status"]
    if "placed" in expected:
        assert sorted(row.job for row in solution.placements) == sorted(expected["placed"])
    assert crop_cli.check(instance, solution).violations == []
