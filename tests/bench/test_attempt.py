"""One run: what a record says of answers, of rules that overbook uplinks, and of solvers that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from crop_cli.bench.attempt import MOST_POINTS, Trace, attempt
from crop_cli.bench.records import Settings
from crop_cli.model.evaluate import evaluate
from crop_cli.model.sharing import evaluate_shared
from crop_cli.solvers.contract import Event
from tests.bench.build import document, member, task


def test_an_own_solver(tmp_path: Path) -> None:
    """A verified answer with its bound, phases, memory, trace and placement."""
    of = member(tmp_path / "i.json")
    made = attempt(task(of, seed=3))
    assert (made.instance, made.sha256, made.solver, made.role, made.seed) == (
        of.name,
        of.sha256,
        "greedy",
        "heuristic",
        3,
    )
    assert (made.verdict, made.stop_reason, made.verified, made.error) == ("optimal", "proved", True, None)
    assert made.objective == 8.0 and made.bound == pytest.approx(8.0) and made.gap == pytest.approx(0.0, abs=1e-6)
    assert evaluate(of.loaded.instance, made.placement).objective == 8.0
    assert made.metrics is not None and made.metrics.gpus_used == 8
    assert {"load", "build", "solve", "bound", "total"} <= set(made.seconds)
    assert made.peak_mib is not None and made.peak_mib > 10
    assert made.trace[-1].objective == 8.0


def test_an_infeasible_instance(tmp_path: Path) -> None:
    """A proof of infeasibility is an answer, and nothing is verified."""
    data = document()
    data["jobs"] = [{**job, "required": True} for job in data["jobs"]]
    made = attempt(task(member(tmp_path / "i.json", data), "cp-sat"))
    assert (made.verdict, made.stop_reason, made.verified, made.objective) == ("infeasible", "proved", False, None)


def test_a_baseline(tmp_path: Path) -> None:
    """A feasible placement as it is; its bound only where it is asked for, and then judged by it."""
    of = member(tmp_path / "i.json")
    plain, bounded = attempt(task(of, "first-fit")), attempt(task(of, "first-fit", bound=True))
    assert (plain.role, plain.verdict, plain.objective, plain.bound, plain.gap) == (
        "baseline",
        "feasible",
        8.0,
        None,
        None,
    )
    assert (bounded.verdict, bounded.objective) == ("optimal", 8.0)
    assert bounded.bound == pytest.approx(8.0)


def test_a_baseline_that_overbooks(tmp_path: Path) -> None:
    """It is scored under fair sharing, is never called optimal, and its record tells the loads."""
    data = document(gpus=3, nodes=[{"name": n, "gpus": 4, "uplink_gbps": 10} for n in "abc"])
    for job in data["jobs"]:
        job.update(message_mb=2000, compute_s=1.0, overlap=1.0)
    data["jobs"] = [{**data["jobs"][0], "name": f"j{i}"} for i in range(4)]
    of = member(tmp_path / "i.json", data)
    made = attempt(task(of, "first-fit", bound=True))
    shared = evaluate_shared(of.loaded.instance, made.placement)
    assert (made.verdict, made.verified, made.error) == ("overbooked", True, None)
    assert made.loads == shared.loads and min(made.loads.values()) > 1
    assert made.objective == shared.evaluation.objective
    assert not evaluate(of.loaded.instance, made.placement).feasible


@pytest.mark.parametrize(
    ("solver", "error"),
    [
        ("x-raises", "ZeroDivisionError: oh"),
        ("x-garbage", "AttributeError"),
        ("x-overfull", "the evaluator refused the placement: node 'a' is asked for 12 gpus and has 4"),
    ],
)
def test_a_solver_that_fails(tmp_path: Path, misbehaving: Path, solver: str, error: str) -> None:
    """Whatever a solver raises or answers is told by a failed record."""
    made = attempt(task(member(tmp_path / "i.json"), solver))
    assert (made.verdict, made.verified, made.objective) == ("failed", False, None)
    assert made.error is not None and made.error.startswith(error)


def test_a_plug_ins_word_does_not_count(tmp_path: Path, misbehaving: Path) -> None:
    """Another package's bound and guarantee are not believed."""
    made = attempt(task(member(tmp_path / "i.json"), "x-first"))
    assert (made.verdict, made.objective, made.bound, made.guarantee.a_priori) == ("feasible", 4.0, None, None)


def test_options_of_one_solver(tmp_path: Path) -> None:
    """Each solver gets its own settings; one that it does not know is its failure."""
    of = member(tmp_path / "i.json")
    settings = Settings(time_limit=10.0, gap=None, threads=1, options={"first-fit.order": "priority", "greedy.no": "1"})
    assert attempt(task(of, "first-fit", settings)).verdict == "feasible"
    made = attempt(task(of, "greedy", settings))
    assert made.verdict == "failed" and "no" in str(made.error)


def test_a_trace_keeps_improvements() -> None:
    """Phases, notes and events without progress leave no point; each point has the best of both."""
    trace = Trace()
    for kind, value in (
        ("phase", None),
        ("bound", 9.0),
        ("incumbent", 1.0),
        ("incumbent", 0.5),
        ("note", 5.0),
        ("bound", 8.0),
    ):
        trace(Event(kind, 0.0, value))
    assert [(point.objective, point.bound) for point in trace.thinned()] == [(None, 9.0), (1.0, 9.0), (1.0, 8.0)]


@pytest.mark.parametrize("count", [0, 1, 2, MOST_POINTS, MOST_POINTS + 1, MOST_POINTS + 2, 5 * MOST_POINTS + 7])
def test_a_long_trace_is_thinned(count: int) -> None:
    """At most so many points, in order, the first and the last among them."""
    trace = Trace()
    for i in range(count):
        trace(Event("incumbent", float(i), float(i)))
    kept = [point.seconds for point in trace.thinned()]
    assert len(kept) == min(count, MOST_POINTS)
    assert kept == sorted(set(kept))
    if count:
        assert (kept[0], kept[-1]) == (0.0, count - 1.0)
