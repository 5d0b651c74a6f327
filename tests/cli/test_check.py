"""`crop check`: a true solution passes, and every false claim is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crop_cli import api
from crop_cli.model.io import dump_solution
from tests.cli import instances
from tests.cli.conftest import Run

Data = dict[str, Any]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The greedy's solution file of the eight nodes."""
    path = instances.write(tmp_path_factory.mktemp("check") / "racks.json", instances.two_racks())
    return dump_solution(api.solve(path, solver="greedy"))


@pytest.fixture
def solved(document: bytes) -> Data:
    """That file as data to be changed."""
    return dict(json.loads(document))


def _check(crop: Run, racks: str, solution: Data, tmp_path: Path, *arguments: str) -> Any:
    path = tmp_path / "solution.json"
    path.write_text(json.dumps(solution))
    return crop("check", racks, str(path), *arguments)


def test_a_true_solution_passes(crop: Run, racks: str, solved: Data, tmp_path: Path) -> None:
    """A solution as it was written has no violation."""
    done = _check(crop, racks, solved, tmp_path)
    assert done.exit_code == 0, done.stdout
    assert "ok" in done.stdout


def _scale(*path: str | int, by: float = 1.01) -> Callable[[Data], None]:
    """Change a number of the document."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = data[path[-1]] * by + (0.5 if data[path[-1]] == 0 else 0)

    return change


def _put(value: Any, *path: str | int) -> Callable[[Data], None]:
    """Set a member of the document."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return change


def _move_workers(data: Data) -> None:
    """Put the first job on one node, whatever else is there."""
    row = data["placements"][0]
    row["nodes"] = {"n0": sum(row["nodes"].values())}


def _within_half(data: Data) -> None:
    """Claim that the run ended at the gap asked for, 0, with a gap of 50 %."""
    data.update(status="feasible", stop_reason="gap_limit", gap=0.5)


def _drop_worker(data: Data) -> None:
    name = next(iter(data["placements"][0]["nodes"]))
    data["placements"][0]["nodes"][name] -= 1


def _rename_node(data: Data) -> None:
    data["placements"][0]["nodes"] = {"n99": sum(data["placements"][0]["nodes"].values())}


FALSE_CLAIMS: dict[str, tuple[Callable[[Data], None], str]] = {
    "objective": (_scale("objective"), "objective is given as"),
    "bound below F": (_scale("bound", by=0.5), "is below the objective"),
    "gap": (_put(0.5, "gap"), "gap is given as 0.5"),
    "ratio": (_put(0.123, "ratio"), "ratio is given as 0.123"),
    "gap null": (_put(None, "gap"), "gap is given as null"),
    "bound null": (_put(None, "bound"), "must be null without a bound"),
    "status": (_put("feasible", "status"), "the status is 'feasible'"),
    "stop reason": (_put("completed", "stop_reason"), "does not go with status"),
    "infeasible": (_put("infeasible", "status"), "must be null when the status is 'infeasible'"),
    "instance name": (_put("other", "instance", "name"), "'other'"),
    "sha256": (_put("0" * 64, "instance", "sha256"), "sha256"),
    "metrics null": (_put(None, "metrics"), "metrics are missing"),
    "gpus used": (_scale("metrics", "gpus_used", by=2), "metrics.gpus_used"),
    "overhead": (_put(0.9, "metrics", "communication_overhead"), "metrics.communication_overhead"),
    "throughput": (_scale("metrics", "throughput"), "metrics.throughput"),
    "worst node": (_put("n99", "metrics", "worst_node"), "metrics.worst_node"),
    "traffic": (_put(123.0, "metrics", "traffic", 1, "reserved_gbps"), "reserved_gbps of level 'node'"),
    "traffic levels": (_put([], "metrics", "traffic"), "metrics.traffic levels"),
    "efficiency": (_scale("placements", 0, "efficiency", by=0.9), "efficiency of job"),
    "level": (_put("cluster", "placements", 1, "level"), "level of job"),
    "goodput": (_scale("placements", 0, "goodput"), "goodput of job"),
    "too many on a node": (_move_workers, "n0"),
    "a worker is missing": (_drop_worker, "job"),
    "unknown node": (_rename_node, "n99"),
    "unknown job": (_put("ghost", "placements", 0, "job"), "ghost"),
    "not listed": (_put([], "unplaced"), "neither as placed nor as unplaced"),
    "unknown unplaced": (_put("ghost", "unplaced", 0, "job"), "ghost"),
    "guarantee": (_put(1.5, "guarantee", "a_priori"), "not between 0 and 1"),
    "runtime": (_put(-1.0, "runtime_s", "solve"), "runtime_s.solve is negative"),
    "gap limit": (_within_half, "the gap asked for was 0.0"),
}


@pytest.mark.parametrize("claim", FALSE_CLAIMS)
def test_a_false_claim_is_found(crop: Run, racks: str, solved: Data, tmp_path: Path, claim: str) -> None:
    """Each claim that does not hold ends with 7 and is named in the list."""
    change, text = FALSE_CLAIMS[claim]
    change(solved)
    done = _check(crop, racks, solved, tmp_path)
    assert done.exit_code == 7, done.stdout + done.stderr
    assert text in done.stdout


@pytest.mark.parametrize(
    ("status", "bound", "text"),
    [
        ("infeasible", None, "to start no job and move none is feasible"),
        ("no_solution", -1.0, "is below the objective 0 of starting and moving no job"),
    ],
)
def test_claims_about_all_placements_are_held_against_the_plainest(
    crop: Run, racks: str, solved: Data, tmp_path: Path, status: str, bound: float | None, text: str
) -> None:
    """Where no job must start, to leave all as it is is a placement, and F has no bound below that."""
    unplaced = [*solved["unplaced"], *({"job": row["job"], "reason": ""} for row in solved["placements"])]
    claims = {"status": status, "stop_reason": "proved" if status == "infeasible" else "time_limit", "bound": bound}
    nothing = {"objective": None, "gap": None, "ratio": None, "metrics": None, "placements": [], "unplaced": unplaced}
    done = _check(crop, racks, {**solved, **claims, **nothing}, tmp_path)
    assert done.exit_code == 7
    assert text in done.stdout
    assert "1 violation" in done.stdout


def test_what_is_only_claimed_is_called_so(crop: Run, racks: str, solved: Data, tmp_path: Path) -> None:
    """A check recomputes F, and says that the status is the file's word, and the bound too if no prices prove it."""
    lines = _check(crop, racks, solved, tmp_path).stdout.splitlines()
    assert [line.split("(")[-1] for line in lines[1:3]] == ["claimed)", "recomputed)"]
    assert lines[3].endswith("(proven by the prices, recomputed)")
    del solved["prices"]
    lines = _check(crop, racks, solved, tmp_path).stdout.splitlines()
    assert lines[3].endswith("(claimed; the file has no prices that prove one)")


def test_a_moved_pinned_job_is_found(crop: Run, tmp_path: Path) -> None:
    """A running job that may not move must be where it is."""
    data = instances.two_racks()
    data["jobs"][1]["placement"] = {"n3": 8}
    path = instances.write(tmp_path / "i.json", data)
    solution = json.loads(crop("solve", path, "--solver", "greedy", "-o", "-", "-q").stdout)
    row = next(row for row in solution["placements"] if row["job"] == "job-1")
    assert row["nodes"] == {"n3": 8}
    row["nodes"] = {"n7": 8}
    done = _check(crop, path, solution, tmp_path)
    assert done.exit_code == 7
    assert "may not move" in done.stdout


def test_violations_as_json(crop: Run, racks: str, solved: Data, tmp_path: Path) -> None:
    """--format json is one document with the verdict, every violation, and the true objective."""
    true = solved["objective"]
    solved["objective"] = true + 1
    done = _check(crop, racks, solved, tmp_path, "--format", "json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ok"], document["objective"]) == (7, False, true)
    assert {violation["kind"] for violation in document["violations"]} >= {"wrong objective"}


@pytest.mark.parametrize("form", ["csv", "markdown", "table"])
def test_violations_in_other_forms(crop: Run, racks: str, solved: Data, tmp_path: Path, form: str) -> None:
    """Every form lists the violation."""
    solved["ratio"] = 0.001
    assert "ratio is given as 0.001" in _check(crop, racks, solved, tmp_path, "--format", form).stdout


def test_a_malformed_solution_is_bad_input(crop: Run, racks: str, solved: Data, tmp_path: Path) -> None:
    """A solution file that cannot be read ends with 3 and the path of each defect."""
    solved["placements"][0]["nodes"] = {"n0": "eight"}
    del solved["status"]
    done = _check(crop, racks, solved, tmp_path)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "$.placements[0].nodes" in done.stderr


def test_only_one_file_comes_from_standard_input(crop: Run) -> None:
    """Both files cannot be standard input."""
    assert crop("check", "-", "-").exit_code == 2


@pytest.mark.parametrize("where", ["placements", "unplaced"])
def test_a_job_listed_twice_is_bad_input(crop: Run, racks: str, solved: Data, tmp_path: Path, where: str) -> None:
    """A job with two rows makes no readable solution."""
    row = solved["placements"][0]
    solved[where].append(dict(row) if where == "placements" else {"job": row["job"], "reason": "none"})
    assert _check(crop, racks, solved, tmp_path).exit_code == 3
