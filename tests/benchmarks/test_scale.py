"""The scale benchmark on its smallest instance."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import scale
from benchmarks.scale_plot import plot
from benchmarks.scale_runs import copies, run
from crop_cli.api import load
from crop_cli.model.validate import validate

ROOT = Path(__file__).parents[2]


def test_table_json_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short run writes its rows, a table of them and a well-formed picture; a second one skips what is there."""
    common = ["scale", "--families", "mix-taken", "--sizes", "16", "--time-limit", "2", "-o", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*common, "--solvers", "greedy", "search"])
    scale.main()
    rows = json.loads((tmp_path / "scale.json").read_text())
    assert [(row["nodes"], row["solver"]) for row in rows] == [(16, "greedy"), (16, "search")]
    assert all(row["gap"] >= 0 and row["mib"] > 0 for row in rows)
    text = (tmp_path / "scale.md").read_text()
    assert all(f"| {row['solver']} |" in text for row in rows)
    picture = ElementTree.fromstring((tmp_path / "scale.svg").read_text())
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}polyline")) == 4
    monkeypatch.setattr(sys, "argv", [*common, "--solvers", "greedy", "search", "--resume"])
    monkeypatch.setattr(scale, "run_apart", lambda *_: pytest.fail("it ran again"))
    scale.main()
    assert json.loads((tmp_path / "scale.json").read_text()) == rows


def test_copies_are_a_valid_instance() -> None:
    """Three copies have three times the nodes and jobs, and nothing wrong with them."""
    small = load(ROOT / "instances" / "medium" / "mix-16-taken.json").instance
    wide = copies(small, 3)
    assert len(wide.cluster.nodes) == 48
    assert len(wide.jobs) == 3 * len(small.jobs)
    assert validate(wide)[0] == []


def test_what_the_textbook_model_lacks_is_said() -> None:
    """Shape constraints are not in the textbook model: its row says so, and the picture has no point for it."""
    row = run("racks-taken", 16, "textbook", 1.0)
    assert row["status"] == "not expressible"
    assert "<circle" not in plot([row])
