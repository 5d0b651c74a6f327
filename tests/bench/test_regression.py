"""What counts as worse than an earlier bench, and what may be chance."""

from __future__ import annotations

from typing import Any

import pytest

from crop_cli.bench.records import Run, Settings
from crop_cli.bench.regression import compare, regressions
from tests.bench.build import failed, run, summary

PROVED: dict[str, Any] = {"verdict": "optimal", "stop_reason": "proved", "objective": 8.0}


def worse(before: Run, after: Run) -> list[str]:
    """What fails the gate, in words."""
    return [failure.found for failure in regressions(summary([before]), summary([after]))]


def test_equal_benches() -> None:
    """The same runs are the same: rounding, other times and other memory do not count."""
    before, after = run(**PROVED), run(**{**PROVED, "objective": 8.0 + 1e-12}, seconds={"total": 99.0}, peak_mib=1.0)
    assert worse(before, after) == []
    (change,) = compare(summary([before]), summary([after])).changes
    assert (change.worse, change.better, change.certain) == ("", False, True)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (run(**{**PROVED, "objective": 7.5}), "objective was 8, is 7.5"),
        (run(**{**PROVED, "verdict": "feasible", "stop_reason": "completed"}), "was optimal, is feasible"),
        (
            run(**{**PROVED, "verdict": "overbooked", "stop_reason": "completed"}, loads={"r": 2.0}),
            "was optimal, is overbooked",
        ),
        (failed(), "was optimal, is failed (broken); was verified, is not"),
        (failed(verdict="no_solution", error=None), "was optimal, is no_solution; was verified, is not"),
        (run(**{**PROVED, "objective": 9.0}), None),
        (run(**{**PROVED, "verdict": "feasible", "stop_reason": "time_limit", "objective": 7.0}), None),
        (run(**{**PROVED, "verdict": "feasible", "stop_reason": "killed", "objective": 7.0}), None),
        (failed(verdict="no_solution", stop_reason="time_limit", error=None), None),
    ],
    ids=lambda value: f"{value.verdict}-{value.stop_reason}-{value.objective}" if isinstance(value, Run) else "",
)
def test_what_a_deterministic_run_may_not_lose(after: Run, found: str | None) -> None:
    """Objective, status and verification are hard; what a limit ended now is not."""
    assert worse(run(**PROVED), after) == ([] if found is None else [found])


@pytest.mark.parametrize(
    "before",
    [
        run(stop_reason="time_limit"),
        run(stop_reason="killed"),
        run(settings=Settings(time_limit=10.0, gap=None, threads=2)),
    ],
    ids=lambda before: f"{before.stop_reason}-{before.settings.threads}",
)
def test_what_a_limit_ended_may_be_chance(before: Run) -> None:
    """A run that a limit ended, or that had several threads, is shown as worse but fails no gate."""
    after = run(objective=3.0)
    assert worse(before, after) == []
    (change,) = compare(summary([before]), summary([after])).changes
    assert change.worse and not change.certain


def test_a_failure_names_the_run() -> None:
    """The gate says which instance and which solver got worse."""
    (failure,) = regressions(summary([run()]), summary([run(objective=3.0)]))
    assert str(failure) == "--baseline: s/i, greedy: objective was 4, is 3"
    (failure,) = regressions(summary([run(seed=2)]), summary([run(seed=2, objective=3.0)]))
    assert failure.where == "s/i, greedy, seed 2"


def test_a_changed_file_is_not_compared() -> None:
    """A run on another content of the file is neither better nor worse, and alone leaves nothing to check."""
    before, after = summary([run(), run(seed=1)]), summary([run(objective=3.0, sha256="1"), run(seed=1)])
    assert regressions(before, after) == []
    compared = compare(before, after)
    assert [row.seed for row in compared.other_file] == [0] and [one.after.seed for one in compared.changes] == [1]
    (failure,) = regressions(summary([run()]), summary([run(sha256="1")]))
    assert "checks nothing" in failure.found


def test_only_what_this_bench_runs_is_asked() -> None:
    """Runs in only one of the summaries are listed and fail nothing."""
    before, after = summary([run(), run(solver="gone")]), summary([run(), run(solver="new")])
    assert regressions(before, after) == []
    compared = compare(before, after)
    assert [row.solver for row in compared.gone] == ["gone"] and [row.solver for row in compared.new] == ["new"]


def test_other_settings_check_nothing() -> None:
    """Under other settings nothing has to come out again: that the gate checks nothing is a failure of it."""
    other = Settings(time_limit=20.0, gap=None, threads=1)
    (failure,) = regressions(summary([run()]), summary([run(objective=3.0, settings=other)], settings=other))
    assert "settings" in failure.found and "checks nothing" in failure.found


def test_better_runs() -> None:
    """A higher objective or a proof is better, unless something else is worse."""
    more, proof, mixed = (
        compare(summary([run()]), summary([after])).changes[0]
        for after in (
            run(objective=5.0),
            run(verdict="optimal", stop_reason="proved"),
            run(objective=5.0, verdict="overbooked", loads={"r": 2.0}),
        )
    )
    assert more.better and proof.better and not mixed.better and mixed.worse


def timed(solver: str, seconds: float, **fields: Any) -> Run:
    """A run that took so long."""
    return run(solver=solver, seconds={"total": seconds}, **fields)


def test_slowdown_is_against_the_first_solver() -> None:
    """Twice as slow a machine is no slowdown, twice as slow against the pacemaker is."""
    before = summary([timed("greedy", 1.0), timed("search", 3.0)])
    machine = summary([timed("greedy", 3.0), timed("search", 7.0)])
    assert regressions(before, machine, max_slowdown=1.01) == []
    slower = summary([timed("greedy", 1.0), timed("search", 7.0)])
    (failure,) = regressions(before, slower, max_slowdown=1.5)
    assert str(failure) == (
        "--max-slowdown 1.5: search: takes 4 times as long as greedy; it was 2 times, so 2 times slower"
    )
    assert regressions(before, slower, max_slowdown=2.0) == []


def test_slowdown_over_common_runs_only() -> None:
    """A subset of slow instances is no slowdown: times are compared over runs that both benches have."""
    both = [timed("greedy", 1.0), timed("search", 99.0)]
    quick = [timed("greedy", 0.0, instance="s/x"), timed("search", 0.0, instance="s/x")]
    assert regressions(summary([*both, *quick]), summary(both), max_slowdown=1.01) == []


def test_slowdown_needs_two_solvers() -> None:
    """With one solver in both there is nothing to compare with."""
    (failure,) = regressions(summary([run()]), summary([run()]), max_slowdown=2.0)
    assert "checks nothing" in failure.found
