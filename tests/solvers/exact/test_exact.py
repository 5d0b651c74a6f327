from __future__ import annotations

import msgspec
import pytest

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Answer, Budget, Event, Request
from crop_cli.solvers.exact import solve as exact
from crop_cli.solvers.exact.backends import BACKENDS
from crop_cli.solvers.exact.solve import solve
from crop_cli.solvers.exact.verdict import BackendResult
from tests.bruteforce import optimum
from tests.tiny import random_instance

NAMES = tuple(BACKENDS)
LIMIT = 60.0


def run(instance: Instance, back_end: str, request: Request | None = None) -> tuple[Answer, list[Event]]:
    events: list[Event] = []
    answer = solve(compile_problem(instance), request or Request(), Budget(LIMIT), events.append, back_end=back_end)
    return answer, events


def gangs(*sizes: int, gpus: int = 4, **job: object) -> Instance:
    """Two nodes, and a job of every size."""
    jobs = [msgspec.structs.replace(Job(name=f"j{i}", gpus=k), **job) for i, k in enumerate(sizes)]
    cluster = Cluster(levels=["node"], nodes=[Node(name="a", gpus=gpus), Node(name="b", gpus=gpus)])
    return Instance(format=FORMAT, cluster=cluster, jobs=jobs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(1000, 1008))
def test_every_back_end_finds_and_proves_the_optimum(name: str, seed: int) -> None:
    """Value, feasibility by the evaluator, bound and proof agree with full enumeration."""
    instance = random_instance(seed)
    best, _ = optimum(instance)
    answer, _ = run(instance, name)
    assert answer.stop_reason == "proved"
    assert answer.infeasible == (best is None)
    if best is None:
        assert answer.placement is None
        assert answer.bound is None
        return
    assert answer.placement is not None
    assert answer.bound is not None
    evaluation = evaluate(instance, named(compile_problem(instance), answer.placement))
    assert evaluation.feasible
    assert evaluation.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert answer.bound == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert answer.bound >= best - 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("name", NAMES)
def test_infeasible_required_jobs_are_proved_infeasible(name: str) -> None:
    """Two required jobs that fit alone but not together, and one that nothing fits."""
    for sizes in ((5, 4), (9,)):
        answer, _ = run(gangs(*sizes, required=True), name)
        assert answer.infeasible
        assert answer.placement is None
        assert answer.bound is None
        assert answer.stop_reason == "proved"


@pytest.mark.parametrize("name", NAMES)
def test_a_start_is_never_lost(name: str) -> None:
    """With the optimum as start the answer is the optimum, whatever the library makes of it."""
    instance = random_instance(17)
    best, _ = optimum(instance)
    first, _ = run(instance, name)
    again, _ = run(instance, name, Request(start=first.placement))
    assert again.placement is not None
    problem = compile_problem(instance)
    assert evaluate(instance, named(problem, again.placement)).objective == pytest.approx(best, rel=1e-6)
    assert again.stop_reason == "proved"


def test_nothing_to_place_is_proved() -> None:
    """Without jobs the empty placement is optimal with value 0."""
    answer, _ = run(gangs(), "exact")
    assert answer.placement == {}
    assert answer.stop_reason == "proved"
    assert answer.bound == pytest.approx(0.0, abs=1e-8)


def test_best_installed_is_the_first_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    """`exact` skips libraries that are not installed, and says so when there is none."""
    assert exact.best_installed() == exact.RECOMMENDED[0]
    monkeypatch.setattr(exact, "RECOMMENDED", ("absent", "cbc"))
    absent = type("Absent", (), {"installed": False, "package": "nothing"})()
    monkeypatch.setattr(exact, "BACKENDS", {"absent": absent, "cbc": BACKENDS["cbc"]})
    assert exact.best_installed() == "cbc"
    monkeypatch.setattr(exact, "RECOMMENDED", ("absent",))
    with pytest.raises(UsageError, match="nothing"):
        exact.best_installed()


def test_unknown_names_and_options_are_refused() -> None:
    """A back end or an option that does not exist is the user's error."""
    with pytest.raises(UsageError, match="no-such"):
        run(gangs(2), "no-such")
    with pytest.raises(UsageError, match="no_such_option"):
        run(gangs(2), "highs", Request(options={"no_such_option": "1"}))


def test_incumbents_ascend_and_bounds_descend() -> None:
    """Events tell of improvements only, and end with the answer's numbers."""
    instance = random_instance(3, max_nodes=5, max_jobs=4)
    answer, events = run(instance, "highs")
    incumbents = [event.value for event in events if event.kind == "incumbent" and event.value is not None]
    bounds = [event.value for event in events if event.kind == "bound" and event.value is not None]
    assert incumbents == sorted(incumbents)
    assert bounds == sorted(bounds, reverse=True)
    assert incumbents
    assert answer.bound == pytest.approx(bounds[-1], rel=1e-6)


class Scripted:
    """Stands in for `run_backend`: gives one result, with the model's start as the point unless told otherwise."""

    def __init__(self, **result: object) -> None:
        self.result = result
        self.calls: list[dict[str, object]] = []

    def __call__(self, name: str, model: object, **arguments: object) -> BackendResult:
        self.calls.append(arguments)
        plain = {"x": None, "cost": None, "bound": None, "infeasible": False, "stop_reason": "time_limit"}
        rest = {"version": "1", "seconds": 0.0, "log": "", "forced": False, "notes": ()}
        return BackendResult(**{**plain, **rest, **self.result})  # type: ignore[arg-type]


def scripted(monkeypatch: pytest.MonkeyPatch, request: Request, **result: object) -> tuple[Answer, Scripted]:
    """One run on two nodes of 4 with jobs of 4 and 3, whose optimum is 7."""
    fake = Scripted(**result)
    monkeypatch.setattr(exact, "run_backend", fake)
    return run(gangs(4, 3), "highs", request)[0], fake


START = Request(start={0: {0: 4}})


def test_a_bound_below_a_verified_placement_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library's claim that contradicts a placement is not passed on; a note says so."""
    answer, _ = scripted(monkeypatch, START, bound=-3.5, stop_reason="proved")
    assert answer.bound is None
    assert answer.stop_reason == "completed"
    assert any("3.5" in note and "discarded" in note for note in answer.notes)


def test_rounding_in_a_bound_is_no_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that misses the value by rounding proves it."""
    answer, _ = scripted(monkeypatch, START, bound=-4.0 + 1e-7, stop_reason="proved")
    assert answer.bound == pytest.approx(4.0, rel=1e-12)
    assert answer.stop_reason == "proved"


def test_a_proof_needs_both_numbers_to_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the library calls optimal counts only when crop's value and bound agree."""
    answer, _ = scripted(monkeypatch, START, bound=-7.0, stop_reason="proved")
    assert answer.stop_reason == "completed"
    assert answer.bound == pytest.approx(7.0)


def test_infeasible_is_not_believed_against_a_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a feasible start known, a claim of infeasibility is refused."""
    answer, _ = scripted(monkeypatch, START, infeasible=True, stop_reason="proved")
    assert not answer.infeasible
    assert answer.placement == START.start
    assert any("infeasible" in note for note in answer.notes)


def test_gap_is_relative_to_f(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with (bound − F)/F at most the gap ends with `gap_limit`, and one above it does not."""
    answer, _ = scripted(monkeypatch, Request(start=START.start, gap=0.8), bound=-7.0)
    assert answer.stop_reason == "gap_limit"
    answer, _ = scripted(monkeypatch, Request(start=START.start, gap=0.7), bound=-7.0)
    assert answer.stop_reason == "time_limit"


def test_gap_stops_the_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """`should_stop` turns true as soon as the streamed bound closes the gap."""
    seen: list[bool] = []

    def back_end(name: str, model: object, **arguments: object) -> BackendResult:
        should_stop, on_bound = arguments["should_stop"], arguments["on_bound"]
        assert callable(should_stop)
        assert callable(on_bound)
        for bound in (-9.0, -7.0):
            on_bound(bound)
            seen.append(should_stop())
        return Scripted(bound=-7.0, stop_reason="interrupted")(name, model)

    monkeypatch.setattr(exact, "run_backend", back_end)
    answer, _ = run(gangs(4, 3), "highs", Request(start=START.start, gap=0.8))
    assert seen == [False, True]
    assert answer.stop_reason == "gap_limit"


def test_a_failure_keeps_the_start_or_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash the start is the answer; with nothing known it is an error with the library's words."""
    answer, _ = scripted(monkeypatch, START, stop_reason="error", notes=("It crashed.",))
    assert answer.placement == START.start
    assert answer.stop_reason == "error"
    assert answer.notes == ("It crashed.",)
    with pytest.raises(BackendError, match="It crashed"):
        scripted(monkeypatch, Request(), stop_reason="error", notes=("It crashed.",))


def test_interruption_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the reason is `interrupted` and the best placement is kept."""
    budget = Budget(LIMIT)

    def back_end(name: str, model: object, **arguments: object) -> BackendResult:
        budget.interrupt()
        return Scripted(stop_reason="interrupted", bound=-7.0)(name, model)

    monkeypatch.setattr(exact, "run_backend", back_end)
    answer = solve(compile_problem(gangs(4, 3)), START, budget, lambda _event: None, back_end="highs")
    assert answer.stop_reason == "interrupted"
    assert answer.placement == START.start
    assert answer.bound == pytest.approx(7.0)


def test_no_time_left_gives_the_start_back() -> None:
    """With the budget spent no process is started."""
    budget = Budget(LIMIT)
    budget.interrupt()
    answer = solve(compile_problem(gangs(4, 3)), START, budget, lambda _event: None, back_end="highs")
    assert answer.placement == START.start
    assert answer.stop_reason == "interrupted"
    assert answer.bound is None
