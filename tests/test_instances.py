"""The instance files of the project: valid, as their READMEs say, with right answers and right best-known values."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.io import load_instance, load_solution
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Budget, Request
from tests.bruteforce import optimum

ROOT = Path(__file__).parents[1]
INSTANCES = ROOT / "instances"
TRACES = ROOT.parent / "shared" / "traces"

Expected = dict[str, Any]


def _instances(folder: str) -> list[Path]:
    return sorted(p for p in (INSTANCES / folder).glob("*.json*") if not p.name.endswith(".expect.json"))


CASES, SMALL, REAL = _instances("cases"), _instances("small"), _instances("real")
MEDIUM, LARGE = _instances("medium"), _instances("large")
EVERY = CASES + SMALL + REAL + MEDIUM + LARGE
BEST_KNOWN: dict[str, Expected] = json.loads((INSTANCES / "best-known.json").read_text())

by_name = pytest.mark.parametrize("path", EVERY, ids=lambda p: f"{p.parent.name}/{p.name}")
by_case = pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)


def _expected(path: Path) -> Expected:
    answer: Expected = json.loads(path.with_suffix(".expect.json").read_text())
    return answer


def _is_full(answer: Expected) -> bool:
    """Whether the answer leaves no place open."""
    return "objective" in answer and set(answer.get("nodes", {})) == set(answer["placed"])


def _free_gpus(instance: Instance) -> float:
    up = [node for node in instance.cluster.nodes if node.state == "up"]
    running = sum(job.gpus for job in instance.jobs if job.placement is not None)
    return sum(node.gpus - node.used.get("gpus", 0) for node in up) - running


def _load(instance: Instance) -> float:
    return sum(job.gpus for job in instance.jobs if job.placement is None) / _free_gpus(instance)


def test_there_are_enough_of_each() -> None:
    """At least 25 cases, 40 small and 8 real instances are shipped."""
    assert len(CASES) >= 25
    assert len(SMALL) >= 40
    assert len(REAL) >= 8
    assert len(MEDIUM) >= 20
    assert len(LARGE) >= 12


@by_name
def test_is_valid_and_named_after_its_file(path: Path) -> None:
    """Every file is a valid instance whose name is the file's, with origin and licence, and below a megabyte."""
    instance = load_instance(path).instance
    assert instance.name == path.name.split(".")[0]
    assert instance.description
    assert instance.source
    assert instance.licence
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("path", SMALL, ids=lambda p: p.stem)
def test_small_ones_are_small(path: Path) -> None:
    """2 to 8 nodes, jobs of 1 to 32 GPUs, load 0.7 to about 1.5 (rounded up to whole GPUs)."""
    instance = load_instance(path).instance
    assert 2 <= len(instance.cluster.nodes) <= 8
    assert all(1 <= job.gpus <= 32 for job in instance.jobs)
    assert 0.7 <= _load(instance) <= 1.5 + 1 / _free_gpus(instance)


@pytest.mark.parametrize("path", REAL, ids=lambda p: p.stem)
def test_real_ones_want_about_what_there_is(path: Path) -> None:
    """Load 0.9 to 1.3, and what was assumed is stated."""
    instance = load_instance(path).instance
    assert 0.9 <= _load(instance) <= 1.3
    assert instance.assumptions


@pytest.mark.parametrize("path", MEDIUM + LARGE, ids=lambda p: p.name.split(".")[0])
def test_names_of_medium_and_large_ones_tell_what_they_are(path: Path) -> None:
    """FAMILY-NODES[-taken][-SEED]: so many nodes, 30 % of the GPUs taken or none, load 1.1."""
    instance = load_instance(path).instance
    _, nodes, *rest = instance.name.split("-")
    assert len(instance.cluster.nodes) == int(nodes)
    assert (int(nodes) <= 64) == (path.parent.name == "medium")
    total = 8 * len(instance.cluster.nodes)
    assert _free_gpus(instance) == total - (round(0.3 * total) if "taken" in rest else 0)
    assert 1.1 <= _load(instance) <= 1.35
    assert instance.assumptions


@pytest.mark.skipif(not TRACES.is_dir(), reason="the public traces are not here")
def test_medium_and_large_ones_are_what_the_script_makes(tmp_path: Path) -> None:
    """The committed script reproduces instances/medium and instances/large byte for byte from the public traces."""
    script = INSTANCES / "scripts" / "make_scale.py"
    subprocess.run([sys.executable, str(script), "--traces", str(TRACES), "-o", str(tmp_path)], check=True)
    made = {p.name: p.read_bytes() for folder in ("medium", "large") for p in (tmp_path / folder).iterdir()}
    assert made == {p.name: p.read_bytes() for p in MEDIUM + LARGE}


def test_small_ones_are_what_the_script_makes(tmp_path: Path) -> None:
    """The committed script reproduces instances/small byte for byte."""
    script = INSTANCES / "scripts" / "make_small.py"
    subprocess.run([sys.executable, str(script), "-o", str(tmp_path)], check=True)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in SMALL}


@pytest.mark.skipif(not TRACES.is_dir(), reason="the public traces are not here")
def test_real_ones_are_what_the_script_makes(tmp_path: Path) -> None:
    """The committed script reproduces instances/real byte for byte from the public traces."""
    script = INSTANCES / "scripts" / "make_real.py"
    subprocess.run([sys.executable, str(script), "--traces", str(TRACES), "-o", str(tmp_path)], check=True)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in REAL}


def test_every_case_has_an_answer() -> None:
    """Cases and expectation files come in pairs."""
    answers = {p.name.removesuffix(".expect.json") for p in (INSTANCES / "cases").glob("*.expect.json")}
    assert answers == {p.stem for p in CASES}


@by_case
def test_the_answer_is_complete(path: Path) -> None:
    """An expectation speaks of every job, asserts gangs that add up, and states an objective or infeasibility."""
    instance, answer = load_instance(path).instance, _expected(path)
    if answer.get("status") == "infeasible":
        return
    gpus = {job.name: job.gpus for job in instance.jobs}
    placed, waiting = set(answer["placed"]), set(answer.get("unplaced", ()))
    assert placed.isdisjoint(waiting)
    assert placed | waiting == set(gpus)
    for job, nodes in answer.get("nodes", {}).items():
        assert sum(nodes.values()) == gpus[job]
    assert isinstance(answer["objective"], float)


@pytest.mark.parametrize("path", [p for p in CASES if _is_full(_expected(p))], ids=lambda p: p.stem)
def test_the_answer_by_hand_evaluates_to_its_objective(path: Path) -> None:
    """Where the answer says the nodes of every placed job, the evaluator gives it the objective derived by hand."""
    answer = _expected(path)
    judged = evaluate(load_instance(path).instance, answer.get("nodes", {}))
    assert judged.violations == []
    assert judged.objective == pytest.approx(answer["objective"], rel=1e-9, abs=1e-9)


@by_case
def test_the_answer_is_the_optimum_by_enumeration(path: Path) -> None:
    """Full enumeration finds the objective derived by hand, or that there is no solution."""
    answer = _expected(path)
    best, _ = optimum(load_instance(path).instance)
    if answer.get("status") == "infeasible":
        assert best is None
    else:
        assert best == pytest.approx(answer["objective"], rel=1e-9, abs=1e-9)


@by_case
def test_the_exact_solver_gives_the_answer(path: Path) -> None:
    """The exact solver proves the expected value and places the expected jobs where the answer says."""
    from crop_cli.solvers.exact.solve import solve

    instance, answer = load_instance(path).instance, _expected(path)
    problem = compile_problem(instance)
    found = solve(problem, Request(), Budget(60.0), lambda event: None, back_end="highs")
    if answer.get("status") == "infeasible":
        assert found.infeasible
        assert found.placement is None
        return
    assert found.placement is not None
    places = named(problem, found.placement)
    judged = evaluate(instance, places)
    assert judged.violations == []
    assert judged.objective == pytest.approx(answer["objective"], rel=1e-6, abs=1e-6)
    assert set(places) == set(answer["placed"])
    above = _domains(instance)
    for job, nodes in answer.get("nodes", {}).items():
        assert places[job] == nodes
    for job, level in answer.get("inside", {}).items():
        assert len({above[node][level] for node in places[job]}) == 1
    for job, domains in answer.get("per_domain", {}).items():
        level = next(level for level, name in above[next(iter(places[job]))].items() if name in domains)
        held: dict[str, int] = {}
        for node, gpus in places[job].items():
            held[above[node][level]] = held.get(above[node][level], 0) + gpus
        assert held == domains


@pytest.mark.parametrize("path", [p for p in CASES if "reason_mentions" in _expected(p)], ids=lambda p: p.stem)
def test_the_reasons_say_what_is_missing(path: Path) -> None:
    """The reasons given for the jobs that wait contain the words and numbers that the answer names."""
    from crop_cli.api import solve

    answer, found = _expected(path), solve(path, solver="greedy")
    assert {waiting.job for waiting in found.unplaced} == set(answer["unplaced"])
    reasons = " ".join(waiting.reason for waiting in found.unplaced)
    assert [word for word in answer["reason_mentions"] if word not in reasons] == []


def _domains(instance: Instance) -> dict[str, dict[str, str]]:
    """Per node, the name of its domain on every level."""
    switches = {switch.name: switch for switch in instance.cluster.switches}
    found = {}
    for node in instance.cluster.nodes:
        found[node.name] = {instance.cluster.levels[-1]: node.name}
        name = node.parent
        while name is not None:
            found[node.name][switches[name].level] = name
            name = switches[name].parent
    return found


def test_every_instance_has_a_best_known_value() -> None:
    """The table names the shipped instances, all and no others."""
    assert set(BEST_KNOWN) == {p.relative_to(INSTANCES).as_posix() for p in EVERY}


@by_name
def test_best_known_is_consistent(path: Path) -> None:
    """The stored placement has the value that the table claims, by the evaluator, and the bound is not below it."""
    loaded = load_instance(path)
    entry = BEST_KNOWN[path.relative_to(INSTANCES).as_posix()]
    assert entry["sha256"] == loaded.sha256
    if entry.get("infeasible"):
        assert entry["value"] is None
        assert _expected(path) == {"status": "infeasible"}
        return
    stored = load_solution(INSTANCES / "solutions" / path.parent.name / path.name.removesuffix(".gz"))
    judged = evaluate(loaded.instance, {placed.job: placed.nodes for placed in stored.placements})
    assert judged.violations == []
    assert judged.objective == pytest.approx(entry["value"], rel=1e-9, abs=1e-9)
    assert entry["bound"] >= entry["value"]
    assert entry["optimal"] == (entry["bound"] - entry["value"] <= 1e-6 * max(1.0, abs(entry["value"])))


@pytest.mark.parametrize("path", CASES + SMALL, ids=lambda p: p.stem)
def test_cases_and_small_ones_are_proven(path: Path) -> None:
    """Every case and small instance is solved to proven optimality, or proven infeasible."""
    entry = BEST_KNOWN[path.relative_to(INSTANCES).as_posix()]
    assert entry["optimal"] or entry.get("infeasible")


@by_case
def test_best_known_agrees_with_the_answer_by_hand(path: Path) -> None:
    """The table's value of a case is the objective derived by hand."""
    answer, entry = _expected(path), BEST_KNOWN[path.relative_to(INSTANCES).as_posix()]
    assert entry["value"] == (None if "status" in answer else pytest.approx(answer["objective"], rel=1e-9, abs=1e-9))
