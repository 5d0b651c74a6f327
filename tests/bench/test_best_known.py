"""`best-known.json`: read with distrust, and updated only with what the evaluator accepts and what is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crop_cli.bench.attempt import attempt
from crop_cli.bench.best_known import known, read_table, update
from crop_cli.bench.records import Run
from crop_cli.bench.suite import Member
from crop_cli.errors import InputError
from crop_cli.model.io import load_solution
from crop_cli.verify import verify
from tests.bench.build import failed, member, run, task

ONE = {"j0": {"a": 4}}
TWO = {"j0": {"a": 4}, "j1": {"b": 4}}
OVERFULL = {"j0": {"a": 4}, "j1": {"a": 4}}


@pytest.fixture
def two(tmp_path: Path) -> Member:
    """Three jobs of which two fit, under an empty table."""
    (tmp_path / "best-known.json").write_text("{}")
    return member(tmp_path / "set" / "i.json")


def table(of: Member) -> dict[str, Any]:
    """The table's entries."""
    return json.loads((of.path.parents[1] / "best-known.json").read_text())


def claim(of: Member, placement: dict[str, dict[str, int]], objective: float, **fields: Any) -> Run:
    """A record that claims a placement and its worth."""
    return run(instance=of.name, sha256=of.sha256, placement=placement, objective=objective, **fields)


def test_a_better_placement_enters(two: Member) -> None:
    """Value, bound, by whom, whether proven, and a solution file that `crop check` accepts."""
    said = update(two, [claim(two, ONE, 4.0), claim(two, TWO, 8.0, solver="cp-sat", back_end="cp-sat", bound=8.0)])
    assert said == "set/i.json: 8.0 of at most 8.0, by cp-sat"
    entry = {"value": 8.0, "bound": 8.0, "by": "cp-sat", "optimal": True, "sha256": two.sha256}
    assert table(two) == {"set/i.json": entry}
    solution = load_solution(two.path.parents[1] / "solutions" / "set" / "i.json")
    report = verify(two.loaded.instance, solution, two.sha256)
    assert report.ok, report.violations
    found = known(two)
    assert found is not None and found.evaluation is not None
    assert (found.evaluation.objective, found.bound, found.by) == (8.0, 8.0, "cp-sat")


def test_a_real_run_enters(two: Member) -> None:
    """What the greedy finds and proves of an instance of its own enters as it is."""
    assert update(two, [attempt(task(two))]) is not None
    assert table(two)["set/i.json"]["value"] == 8.0
    assert update(two, [attempt(task(two))]) is None


def test_worse_placements_change_nothing(two: Member) -> None:
    """A worse or equal value leaves table and solution file untouched, byte for byte."""
    update(two, [claim(two, TWO, 8.0)])
    files = [two.path.parents[1] / "best-known.json", two.path.parents[1] / "solutions" / "set" / "i.json"]
    before = [file.read_bytes() for file in files]
    assert update(two, [claim(two, ONE, 4.0), claim(two, TWO, 8.0, solver="other")]) is None
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize(
    ("placement", "objective", "fields"),
    [
        (OVERFULL, 8.0, {}),
        ({"j0": {"a": 3}}, 8.0, {}),
        ({"ghost": {"a": 4}}, 8.0, {}),
        ({"j0": {"nowhere": 4}}, 8.0, {}),
        ({"j0": {"a": 4}, "j1": {"b": -4}}, 8.0, {}),
        ({}, 8.0, {}),
        (ONE, 100.0, {}),
        (TWO, 8.0, {"verified": False}),
        (TWO, 8.0, {"verdict": "overbooked", "loads": {"r": 1.5}}),
        (TWO, 8.0, {"sha256": "0"}),
        (TWO, 4.0, {}),
    ],
    ids=str,
)
def test_lies_do_not_enter(
    two: Member, placement: dict[str, dict[str, int]], objective: float, fields: dict[str, Any]
) -> None:
    """Infeasible placements, inflated claims, unverified and foreign runs leave 4 as the best."""
    update(two, [claim(two, ONE, 4.0)])
    before = table(two)
    assert update(two, [replaced(two, placement, objective, fields)]) is None
    assert table(two) == before
    assert before["set/i.json"]["value"] == 4.0


def replaced(of: Member, placement: dict[str, dict[str, int]], objective: float, fields: dict[str, Any]) -> Run:
    """A claim some of whose other fields are given."""
    return run(**{"instance": of.name, "sha256": of.sha256, "placement": placement, "objective": objective, **fields})


def test_what_enters_is_the_evaluators_value(two: Member) -> None:
    """A placement that is better, but not by as much as is claimed, enters with what it is worth."""
    update(two, [claim(two, ONE, 4.0)])
    update(two, [claim(two, TWO, 100.0)])
    assert table(two)["set/i.json"]["value"] == 8.0


def test_bounds(two: Member) -> None:
    """A bound enters when it is lower, never when it is below the value; a failed run's does not count."""
    update(two, [claim(two, TWO, 8.0, bound=12.0)])
    assert table(two)["set/i.json"]["bound"] == 12.0
    assert update(two, [claim(two, TWO, 8.0, bound=13.0), claim(two, ONE, 4.0, bound=7.0)]) is None
    assert update(two, [failed(instance=two.name, sha256=two.sha256, bound=9.0)]) is None
    assert update(two, [claim(two, ONE, 4.0, bound=9.0)]) == "set/i.json: 8.0 of at most 9.0, by greedy"
    assert table(two)["set/i.json"]["optimal"] is False
    update(two, [claim(two, ONE, 4.0, bound=8.0)])
    assert table(two)["set/i.json"]["optimal"] is True


def test_infeasible_instances(two: Member) -> None:
    """A proof that nothing exists enters once, and a verified placement overrules it."""
    proof = failed(instance=two.name, sha256=two.sha256, verdict="infeasible", stop_reason="proved", solver="cp-sat")
    assert update(two, [proof]) is not None
    assert table(two)["set/i.json"]["infeasible"] is True
    assert update(two, [proof]) is None
    found = known(two)
    assert found is not None and found.infeasible
    update(two, [claim(two, ONE, 4.0)])
    assert table(two)["set/i.json"]["value"] == 4.0 and "infeasible" not in table(two)["set/i.json"]


def test_an_entry_of_another_version_says_nothing(two: Member) -> None:
    """When the instance file has changed, the old entry is not used, and any verified run replaces it."""
    update(two, [claim(two, TWO, 8.0, bound=8.0)])
    changed = member(two.path, {**json.loads(two.data), "description": "changed"})
    assert known(changed) is None
    update(changed, [claim(changed, ONE, 4.0)])
    entry = table(two)["set/i.json"]
    assert (entry["value"], entry["bound"], entry["sha256"]) == (4.0, None, changed.sha256)


@pytest.mark.parametrize("damage", ["missing", "garbage", "overfull"])
def test_a_value_without_a_good_placement_is_not_used(two: Member, damage: str) -> None:
    """The table's value counts only with a placement that the evaluator accepts; its bound counts all the same."""
    update(two, [claim(two, TWO, 8.0, bound=9.0)])
    path = two.path.parents[1] / "solutions" / "set" / "i.json"
    if damage == "missing":
        path.unlink()
    elif damage == "garbage":
        path.write_text("{")
    else:
        path.write_text(path.read_text().replace('"b"', '"a"'))
    found = known(two)
    assert found is not None and found.evaluation is None and found.bound == 9.0


def test_the_nearest_table_above(tmp_path: Path) -> None:
    """The table of the nearest folder above an instance is meant, packed files by their own name; others stay."""
    near, far = tmp_path / "x" / "best-known.json", tmp_path / "best-known.json"
    near.parent.mkdir()
    near.write_text('{"other.json": {"value": null}}')
    far.write_text("{}")
    packed = member(tmp_path / "x" / "s" / "i.json.gz")
    update(packed, [claim(packed, TWO, 8.0)])
    assert sorted(json.loads(near.read_text())) == ["other.json", "s/i.json.gz"]
    assert far.read_text() == "{}"
    assert (tmp_path / "x" / "solutions" / "s" / "i.json").is_file()
    assert known(packed) is not None


def test_without_a_table_nothing_is_written(tmp_path: Path) -> None:
    """Instances below no table are left alone."""
    alone = member(tmp_path / "set" / "i.json")
    assert known(alone) is None
    assert update(alone, [claim(alone, TWO, 8.0)]) is None
    assert [path.name for path in tmp_path.rglob("*")] == ["set", "i.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 1}', "\xff", '{"a": {"value": "8"}}', '{"a": {"bound": []}}'], ids=repr
)
def test_what_is_no_table_is_an_input_error(tmp_path: Path, text: str) -> None:
    """A table is an object of objects whose values and bounds are numbers or unknown."""
    (tmp_path / "best-known.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"best-known\.json"):
        read_table(tmp_path)
