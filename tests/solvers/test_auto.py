"""One run: stages in their order, every placement verified, every claim judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.instance import Instance
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers import auto
from crop_cli.solvers.auto import run
from crop_cli.solvers.contract import Answer, Budget, Event, Request
from crop_cli.solvers.exact.size import exact_size
from crop_cli.solvers.registry import ENGINES, Engine
from crop_cli.solvers.run import Outcome
from tests.solvers import fakes


def _problem(gpus: list[int], jobs: list[int], *, uplink_gbps: float | None = None, **job: Any) -> Problem:
    nodes = [{"name": f"n{i}", "gpus": g, "uplink_gbps": uplink_gbps} for i, g in enumerate(gpus)]
    data = {
        "format": "crop-instance/1",
        "cluster": {"levels": ["node"], "nodes": nodes},
        "jobs": [{"name": f"j{i}", "gpus": k, **job} for i, k in enumerate(jobs)],
    }
    return compile_problem(msgspec.convert(data, Instance))


@pytest.fixture
def events() -> list[Event]:
    """What the run told its listener."""
    return []


@pytest.fixture
def with_greedy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a fake in the place of the greedy that exact engines start from."""

    def put(reply: fakes.Reply) -> None:
        monkeypatch.setitem(ENGINES, "greedy", fakes.engine("greedy", "heuristic", reply))

    return put


def _run(engine: Engine, problem: Problem, events: list[Event], request: Request | None = None) -> Outcome:
    return run(engine, problem, request or Request(), Budget(30.0), events.append)


def _notes(events: list[Event]) -> str:
    return " | ".join(event.text for event in events if event.kind == "note")


def test_a_heuristic_gets_a_bound_and_a_gap(events: list[Event]) -> None:
    """A heuristic is followed by the closed-form bound, which proves it optimal where both meet."""
    outcome = _run(fakes.engine("first", "heuristic", fakes.first_fit), _problem([8, 8], [8, 8]), events)
    assert (outcome.status, outcome.stop_reason, outcome.gap) == ("optimal", "proved", pytest.approx(0.0, abs=1e-6))
    assert outcome.evaluation is not None and outcome.evaluation.objective == pytest.approx(16.0)
    assert [event.text for event in events if event.kind == "phase"] == ["first", "bound"]
    assert outcome.guarantee.a_priori == 0.5


def test_an_answer_that_the_evaluator_refuses_is_an_error(events: list[Event]) -> None:
    """An infeasible placement never becomes a solution: without another one the run fails and says what is wrong."""
    with pytest.raises(BackendError, match=r"refused the placement of bad: .*n0"):
        _run(fakes.engine("bad", "heuristic", fakes.overfull), _problem([8], [8, 8]), events)


def test_the_verified_start_stands_when_the_back_end_is_refused(events: list[Event], with_greedy: Any) -> None:
    """When the back end's placement is refused, the greedy's is the answer and the back end's claims do not count."""
    with_greedy(fakes.first_fit)
    outcome = _run(fakes.engine("bad", "exact", fakes.overfull), _problem([4, 4], [3, 3, 2]), events)
    assert outcome.placement == {0: {0: 3}, 1: {1: 3}}
    assert outcome.bound is not None and outcome.bound < 1e5
    assert outcome.stop_reason == "completed"
    assert "refused the placement of bad" in _notes(events)


def test_the_better_of_start_and_back_end_is_kept(events: list[Event], with_greedy: Any) -> None:
    """A back end that comes back with less than it was given does not lose what was there."""
    with_greedy(fakes.first_fit)
    worse = fakes.engine("worse", "exact", lambda problem, request: Answer({0: {0: 1}}, "time_limit", bound=50.0))
    outcome = _run(worse, _problem([4], [1, 2]), events)
    assert outcome.placement == {0: {0: 1}, 1: {0: 2}}


def test_the_back_end_starts_from_the_verified_greedy(events: list[Event], with_greedy: Any) -> None:
    """The exact stage gets the greedy's placement as its start."""
    with_greedy(fakes.first_fit)
    seen: list[Request] = []

    def look(problem: Problem, request: Request) -> Answer:
        seen.append(request)
        return Answer(request.start, "time_limit")

    _run(fakes.engine("looks", "exact", look), _problem([4], [1, 2]), events)
    assert seen[0].start == {0: {0: 1}, 1: {0: 2}}


def test_a_bound_below_a_verified_placement_is_dropped(events: list[Event], with_greedy: Any) -> None:
    """A wrong bound is noted and not used; the closed-form bound remains."""
    with_greedy(fakes.first_fit)
    wrong = fakes.engine("wrong", "exact", lambda problem, request: Answer(request.start, "proved", bound=1.0))
    outcome = _run(wrong, _problem([4, 4], [3, 3, 2]), events)
    assert outcome.bound is not None and outcome.bound >= 6.0
    assert "below a verified placement" in _notes(events)


def test_a_false_proof_of_infeasibility_is_ignored(events: list[Event], with_greedy: Any) -> None:
    """A claim that nothing is feasible does not hold against a verified placement."""
    with_greedy(fakes.first_fit)
    wrong = fakes.engine("wrong", "exact", lambda problem, request: Answer(None, "proved", infeasible=True))
    outcome = _run(wrong, _problem([4], [3]), events)
    assert outcome.status in ("optimal", "feasible")
    assert "claim is ignored" in _notes(events)


def test_infeasible_has_no_numbers(events: list[Event], with_greedy: Any) -> None:
    """A proved infeasibility has no placement, objective, bound or gap."""
    with_greedy(fakes.nothing)
    proves = fakes.engine("proves", "exact", lambda problem, request: Answer(None, "proved", infeasible=True))
    outcome = _run(proves, _problem([8, 8], [6, 6, 6], required=True), events)
    assert (outcome.status, outcome.stop_reason) == ("infeasible", "proved")
    assert (outcome.placement, outcome.evaluation, outcome.bound, outcome.gap) == (None, None, None, None)


def test_no_solution_is_not_zero(events: list[Event]) -> None:
    """Without a placement there is no objective and no gap, but what is known of the bound is kept."""
    outcome = _run(fakes.engine("none", "heuristic", fakes.nothing), _problem([8], [4]), events)
    assert (outcome.status, outcome.evaluation, outcome.gap, outcome.ratio) == ("no_solution", None, None, None)
    assert outcome.bound is not None and outcome.bound >= 4


def test_a_proof_counts_only_when_the_numbers_meet(events: list[Event], with_greedy: Any) -> None:
    """A back end that says "proved" with a bound above F is not believed."""
    with_greedy(fakes.nothing)
    claims = fakes.engine("claims", "exact", lambda problem, request: Answer({0: {0: 3}}, "proved", bound=8.0))
    outcome = _run(claims, _problem([4, 4], [3, 3, 2]), events)
    assert (outcome.status, outcome.stop_reason) == ("feasible", "completed")


def test_options_reach_the_stage_they_belong_to(events: list[Event], with_greedy: Any) -> None:
    """The greedy gets its own options, the back end all others, and auto has none of a back end's."""
    seen: dict[str, dict[str, str]] = {}

    def noting(name: str) -> fakes.Reply:
        def reply(problem: Problem, request: Request) -> Answer:
            seen[name] = request.options
            return fakes.first_fit(problem, request)

        return reply

    with_greedy(noting("greedy"))
    request = Request(options={"level": "node", "presolve": "off"})
    _run(fakes.engine("back", "exact", noting("back")), _problem([4], [3]), events, request)
    assert seen == {"greedy": {"level": "node"}, "back": {"presolve": "off"}}
    with pytest.raises(UsageError, match="'presolve'"):
        _run(fakes.engine("a", "auto", noting("back")), _problem([4], [3]), events, request)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Request]]:
    """Put fakes in the place of the engines that auto calls; what they were asked, by name, in order."""
    asked: dict[str, list[Request]] = {}

    def noting(name: str) -> fakes.Reply:
        def reply(problem: Problem, request: Request) -> Answer:
            asked.setdefault(name, []).append(request)
            return Answer(request.start, "completed") if name != "greedy" else fakes.first_fit(problem, request)

        return reply

    for name, role in (("greedy", "heuristic"), ("search", "refining"), ("columns", "refining"), ("exact", "exact")):
        monkeypatch.setitem(ENGINES, name, fakes.engine(name, role, noting(name)))  # type: ignore[arg-type]
    return asked


def test_auto_stops_when_the_greedy_is_proved(events: list[Event], stages: dict[str, list[Request]]) -> None:
    """Auto goes no further than the bound for an answer that this proves already."""
    outcome = _run(ENGINES["auto"], _problem([8, 8], [8, 8]), events)
    assert outcome.status == "optimal"
    assert list(stages) == ["greedy"]
    assert [event.text for event in events if event.kind == "phase"] == ["greedy", "bound"]


def test_auto_stops_within_the_gap(events: list[Event], stages: dict[str, list[Request]]) -> None:
    """Auto goes no further when the gap asked for is met."""
    outcome = _run(ENGINES["auto"], _problem([4, 4], [3, 3, 2]), events, Request(gap=0.5))
    assert (outcome.status, outcome.stop_reason) == ("feasible", "gap_limit")
    assert list(stages) == ["greedy"]


def test_auto_searches_and_then_proves(events: list[Event], stages: dict[str, list[Request]]) -> None:
    """A small instance whose gap is open goes to the search and to an exact back end, each with all that is known."""
    _run(ENGINES["auto"], _problem([4, 4], [3, 3, 2]), events)
    assert list(stages) == ["greedy", "search", "exact"]
    for name in ("search", "exact"):
        (request,) = stages[name]
        assert request.start == {0: {0: 3}, 1: {1: 3}}
        assert request.bound is not None and 6 < request.bound <= 8 + 1e-6
        assert request.relaxation is not None and request.relaxation.prices is not None


def test_auto_leaves_large_instances_to_price_and_branch(
    events: list[Event], stages: dict[str, list[Request]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the size that is worth an exact back end, columns come after the search."""
    problem = _problem([4, 4], [3, 3, 2])
    assert exact_size(problem) == 6
    monkeypatch.setattr(auto, "AUTO_LARGEST", 5)
    outcome = _run(ENGINES["auto"], problem, events)
    assert outcome.stop_reason == "completed"
    assert list(stages) == ["greedy", "search", "columns"]


def test_auto_needs_no_search_without_a_placement(events: list[Event], stages: dict[str, list[Request]]) -> None:
    """Where the greedy finds no placement there is nothing to search from: an exact back end looks for one."""
    ENGINES["greedy"] = fakes.engine("greedy", "heuristic", fakes.nothing)
    outcome = _run(ENGINES["auto"], _problem([4, 4], [3, 3, 2]), events)
    assert outcome.status == "no_solution"
    assert list(stages) == ["exact"]


def test_an_interrupt_is_the_stop_reason(with_greedy: Any) -> None:
    """A run that is interrupted after the greedy keeps its placement, starts no back end and says why it ended."""
    with_greedy(fakes.first_fit)
    budget = Budget(30.0)
    budget.interrupt()
    engine = fakes.engine("never", "exact", fakes.overfull)
    outcome = run(engine, _problem([4, 4], [3, 3, 2]), Request(), budget, lambda event: None)
    assert outcome.stop_reason == "interrupted"
    assert outcome.placement is not None and outcome.bound is not None


def test_what_is_not_installed_is_said_before_any_work(monkeypatch: pytest.MonkeyPatch, events: list[Event]) -> None:
    """An engine without its library is refused at once, by the package's name."""
    engine = ENGINES["highs"]
    gone = replace(engine, back_ends=tuple(replace(b, imports="no_such_module") for b in engine.back_ends))
    with pytest.raises(BackendError, match="highspy"):
        _run(gone, _problem([4], [3]), events)
    assert events == []


def test_a_back_end_that_fails_leaves_the_start(events: list[Event], with_greedy: Any) -> None:
    """When the back end fails, the greedy's verified placement is the answer and the failure is told."""
    with_greedy(fakes.first_fit)

    def fails(problem: Problem, request: Request) -> Answer:
        raise BackendError("out of memory")

    outcome = _run(fakes.engine("fails", "exact", fails), _problem([4, 4], [3, 3, 2]), events)
    assert (outcome.status, outcome.stop_reason) == ("feasible", "error")
    assert "fails failed: out of memory" in _notes(events)


def test_a_back_end_that_fails_without_a_start_is_an_error(events: list[Event], with_greedy: Any) -> None:
    """When there is no other placement, the back end's failure is the run's."""
    with_greedy(fakes.nothing)

    def fails(problem: Problem, request: Request) -> Answer:
        raise BackendError("out of memory")

    with pytest.raises(BackendError, match="out of memory"):
        _run(fakes.engine("fails", "exact", fails), _problem([4, 4], [3, 3, 2]), events)


def test_the_size_counts_classes_of_traffic() -> None:
    """Per job and vertex an all-reduce job counts once, an all-to-all job of 4 with its 3 classes nine times."""
    ring = _problem([4, 4], [4], message_mb=100, uplink_gbps=10)
    crossbar = _problem([4, 4], [4], message_mb=100, uplink_gbps=10, pattern="alltoall")
    assert (exact_size(ring), exact_size(crossbar)) == (2, 2 * 9)


def test_an_expired_limit_is_the_stop_reason(events: list[Event], with_greedy: Any) -> None:
    """When greedy and bound leave no time for the back end, the limit is why the run ended."""
    with_greedy(fakes.first_fit)
    engine = fakes.engine("never", "exact", fakes.overfull)
    outcome = run(engine, _problem([4, 4], [3, 3, 2]), Request(), Budget(1e-9), events.append)
    assert (outcome.status, outcome.stop_reason) == ("feasible", "time_limit")
