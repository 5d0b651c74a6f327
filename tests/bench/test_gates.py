"""Gates: every operator and figure, what is refused, and what a failure says."""

from __future__ import annotations

import pytest

from crop_cli.bench.gates import Failure, Gate, check_solvers, failures, read_gate
from crop_cli.bench.records import Reference, Run
from crop_cli.errors import UsageError
from crop_cli.model.solution import Guarantee
from tests.bench.build import failed, reference, run, summary

BASELINE = {"role": "baseline"}
OPTIMUM = Guarantee(a_priori=0.6, relative_to="optimum")


def check(gate: str, *runs: Run, references: list[Reference] | None = None) -> list[Failure]:
    """Failures of one gate over runs."""
    return failures(summary(list(runs), references), [read_gate(gate)])


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("greedy.ratio>=0.95", ("greedy", "ratio", ">=", 0.95)),
        ("  cp-sat.gap  <=  1% ", ("cp-sat", "gap", "<=", 0.01)),
        ("greedy.ratio >= 95 %", ("greedy", "ratio", ">=", 0.95)),
        ("*.ratio >= guarantee", ("*", "ratio", ">=", "guarantee")),
        ("search.objective>=best-baseline.objective", ("search", "objective", ">=", ("best-baseline", "objective"))),
        ("greedy.seconds<search.seconds", ("greedy", "seconds", "<", ("search", "seconds"))),
        ("greedy.failed==0", ("greedy", "failed", "==", 0.0)),
        ("greedy.mean_ratio>9.5e-1", ("greedy", "mean_ratio", ">", 0.95)),
    ],
)
def test_gates_are_read(text: str, gate: tuple[object, ...]) -> None:
    """Solver, figure, operator and a number, a share, the guarantee or another solver's figure."""
    assert read_gate(text) == Gate(text.strip(), *gate)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not SOLVER.FIGURE"),
        ("greedy", "is not SOLVER.FIGURE"),
        ("greedy.ratio", "is not SOLVER.FIGURE"),
        ("greedy.ratio=0.9", "is not SOLVER.FIGURE"),
        ("greedy.ratio!=0.9", "is not SOLVER.FIGURE"),
        ("greedy.ratio>=0.9 0.8", "is not SOLVER.FIGURE"),
        ("ratio>=0.9", "is not SOLVER.FIGURE"),
        ("greedy.speed>=0.9", "no figure 'speed'"),
        ("greedy.verdict>=0.9", "no figure 'verdict'"),
        ("greedy.ratio>=high", "'high' is no number"),
        ("greedy.ratio>=95%%", "'95%%' is no number"),
        ("greedy.ratio>=nan", "no finite number"),
        ("greedy.ratio<=inf", "no finite number"),
        ("greedy.ratio>=search.speed", "no figure 'speed'"),
        ("greedy.ratio>=search.mean_ratio", "no figure 'mean_ratio'"),
        ("greedy.mean_ratio>=search.ratio", "compare it with a number"),
        ("greedy.mean_ratio>=guarantee", "compare it with a number"),
        ("greedy.objective>=guarantee", "is compared with ratio"),
    ],
)
def test_what_is_no_gate_is_refused(text: str, why: str) -> None:
    """The message names the option, the gate and what is wrong with it."""
    with pytest.raises(UsageError, match="--require") as refused:
        read_gate(text)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("gate", "unknown"),
    [
        ("greedy.ratio>=0.5", None),
        ("*.ratio>=0.5", None),
        ("greedy.objective>=best-baseline.objective", None),
        ("gredy.ratio>=0.5", "gredy"),
        ("greedy.ratio>=serch.ratio", "serch"),
        ("best-baseline.ratio>=0.5", "best-baseline"),
        ("greedy.objective>=*.objective", "*"),
    ],
)
def test_gates_on_solvers_that_do_not_run_are_refused(gate: str, unknown: str | None) -> None:
    """A solver on either side has to be in the bench."""
    if unknown is None:
        check_solvers([read_gate(gate)], ["greedy"])
        return
    with pytest.raises(UsageError, match="does not run") as refused:
        check_solvers([read_gate(gate)], ["greedy"])
    assert repr(unknown) in str(refused.value)


@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [
        (">=", False, True, True),
        ("<=", True, True, False),
        ("==", False, True, False),
        (">", False, False, True),
        ("<", True, False, False),
    ],
)
def test_every_operator(op: str, below: bool, equal: bool, above: bool) -> None:
    """Each operator below, at and above the threshold; F of the runs is 4."""
    for threshold, holds in ((4.5, below), (4, equal), (3.5, above)):
        assert (not check(f"greedy.objective{op}{threshold}", run())) == holds


def test_rounding_fails_no_gate() -> None:
    """A difference of 10⁻¹² is none where equality is allowed."""
    assert not check("greedy.objective>=4", run(objective=4 - 1e-12))
    assert not check("greedy.objective<=4", run(objective=4 + 1e-12))
    assert check("greedy.objective>=4", run(objective=4 - 1e-6))


def test_a_failure_names_instance_figure_and_threshold() -> None:
    """One failure per run that misses the threshold, with its seed."""
    found = check("greedy.ratio >= 95%", run(), run(seed=3), run(instance="s/good", objective=8.0))
    assert list(map(str, found)) == [
        "greedy.ratio >= 95%: s/i, greedy: ratio is 0.5, not >= 0.95",
        "greedy.ratio >= 95%: s/i, greedy, seed 3: ratio is 0.5, not >= 0.95",
    ]


def test_the_guarantee_of_the_run() -> None:
    """The ratio is held against the factor of the run where that refers to the optimum; elsewhere it is not."""
    gate = "greedy.ratio>=guarantee"
    found = check(gate, run(guarantee=OPTIMUM), run(instance="s/x", guarantee=OPTIMUM, objective=5.0))
    assert [(one.where, one.found) for one in found] == [("s/i, greedy", "ratio is 0.5, not >= 0.6")]
    inside = Guarantee(a_priori=0.6, relative_to="best placement that keeps each job inside one rack")
    assert "checks nothing" in str(check(gate, run(guarantee=inside))[0])
    assert not check(gate, run(guarantee=inside), run(seed=1, guarantee=OPTIMUM, objective=8.0))


def test_the_best_baseline() -> None:
    """The best feasible baseline of the same instance and seed is the threshold; overbooked ones are not."""
    gate = "greedy.objective>=best-baseline.objective"
    others = [
        run(solver="ff", objective=3.0, **BASELINE),
        run(solver="bf", objective=4.5, **BASELINE),
        run(solver="over", objective=7.0, verdict="overbooked", loads={"r": 2.0}, **BASELINE),
        failed(solver="broken", **BASELINE),
        run(solver="ff", objective=6.0, seed=1, **BASELINE),
    ]
    assert [one.found for one in check(gate, run(), *others)] == ["objective is 4, not >= 4.5"]
    assert not check(gate, run(objective=4.5), *others)
    assert "checks nothing" in str(check(gate, run(seed=2), *others)[0])


def test_the_best_of_negative_baselines() -> None:
    """Where every F is negative, the largest is the best."""
    others = [run(solver=name, objective=f, **BASELINE) for name, f in (("a", -3.0), ("b", -1.0))]
    found = check("greedy.objective>=best-baseline.objective", run(objective=-2.0), *others)
    assert [one.found for one in found] == ["objective is -2, not >= -1"]


def test_another_solver() -> None:
    """A solver's figure is the threshold on the same instance and seed."""
    slow = run(solver="search", seconds={"total": 0.5})
    assert [one.found for one in check("greedy.seconds<search.seconds", run(), slow)] == ["seconds is 1, not < 0.5"]
    assert not check("search.seconds<greedy.seconds", run(), slow)


def test_all_own_solvers() -> None:
    """The star stands for every solver that is no baseline."""
    runs = [run(), run(solver="search"), run(solver="ff", **BASELINE)]
    assert [one.where for one in check("*.ratio>=0.9", *runs)] == ["s/i, greedy", "s/i, search"]
    assert [one.where for one in check("*.mean_ratio>=0.9", *runs)] == ["greedy", "search"]
    assert "checks nothing" in str(check("*.ratio>=0.9", runs[2])[0])
    assert "checks nothing" in str(check("*.mean_ratio>=0.9", runs[2])[0])


@pytest.mark.parametrize(
    ("gate", "found"),
    [
        ("greedy.mean_ratio>=0.8", "mean_ratio is 0.75, not >= 0.8 (worst on s/i)"),
        ("greedy.median_ratio>=0.8", "median_ratio is 0.75, not >= 0.8 (worst on s/i)"),
        ("greedy.worst_ratio>=60%", "worst_ratio is 0.5, not >= 0.6 (worst on s/i)"),
        ("greedy.solved==3", "solved is 2, not == 3"),
        ("greedy.wins>2", "wins is 2, not > 2"),
        ("greedy.par2<=0.5", "par2 is 1, not <= 0.5"),
        ("greedy.mean_overhead<=0.1", "mean_overhead is unknown"),
        ("greedy.failed==0", None),
        ("greedy.optimal>=0", None),
    ],
)
def test_figures_over_all_runs(gate: str, found: str | None) -> None:
    """An aggregate is checked once, over all sets; unknown is not passed."""
    made = check(gate, run(), run(instance="t/j", objective=8.0))
    assert [(one.where, one.found) for one in made] == ([] if found is None else [("greedy", found)])


def test_no_placement_passes_no_gate() -> None:
    """A run without an answer fails a gate on quality and may pass one on time."""
    broken = failed(solver="ff", **BASELINE)
    assert [one.found for one in check("ff.ratio>=0", broken)] == ["there is no placement (broken)"]
    assert [one.found for one in check("ff.overbooked_uplinks<=0", broken)] == ["there is no placement (broken)"]
    assert not check("ff.seconds<=2", broken)


def test_an_instance_without_a_placement_asks_for_none() -> None:
    """Where it is proven that no placement exists, having none fails no gate, and alone checks nothing."""
    none = reference(instance="s/none", value=None, bound=None, optimal=False, infeasible=True)
    proof = failed(instance="s/none", solver="cp-sat", verdict="infeasible", stop_reason="proved", error=None)
    greedy = failed(instance="s/none", verdict="no_solution", stop_reason="completed", error=None)
    runs = [proof, greedy, run(objective=8.0)]
    assert not check("greedy.ratio>=1", *runs, references=[none])
    assert "checks nothing" in str(check("cp-sat.ratio>=1", *runs, references=[none])[0])
    assert not failures(summary([proof, greedy], [none]), [], max_gap=0.0)


def test_the_largest_gap() -> None:
    """--max-gap holds for every run of crop's own solvers, and an unknown gap does not pass."""
    runs = [
        run(gap=0.01),
        run(seed=1, gap=0.011),
        run(seed=2, gap=None),
        run(solver="ff", gap=0.5, **BASELINE),
    ]
    found = failures(summary(runs), [], max_gap=0.01)
    assert list(map(str, found)) == [
        "--max-gap 0.01: s/i, greedy, seed 1: the gap is 0.011, above 0.01",
        "--max-gap 0.01: s/i, greedy, seed 2: the gap is unknown",
    ]
    assert "checks nothing" in str(failures(summary(runs[3:]), [], max_gap=0.01)[0])


def test_an_optimum_is_within_every_gap() -> None:
    """What is proven optimal passes where no gap is allowed, though its bound is above F by rounding."""
    runs = [run(gap=1e-9, verdict="optimal", stop_reason="proved"), run(seed=1, gap=1e-9)]
    found = failures(summary(runs), [], max_gap=0.0)
    assert list(map(str, found)) == ["--max-gap 0: s/i, greedy, seed 1: the gap is 1e-09, above 0"]


@pytest.mark.parametrize("gate", ["greedy.ratio>=0.5", "greedy.gap<=1%"])
def test_an_unknown_figure_passes_no_gate_on_quality(gate: str) -> None:
    """A run whose ratio or gap nobody knows is named, also where others have passed."""
    runs = [run(objective=8.0, gap=0.0), run(instance="s/open", gap=None)]
    unbounded = reference(instance="s/open", value=4.0, bound=None, optimal=False)
    (failure,) = check(gate, *runs, references=[reference(), unbounded])
    assert failure.where == "s/open, greedy" and failure.found.endswith("is unknown")


def test_two_gates_always_hold() -> None:
    """A contradicted bound and an own solver's refused answer fail every bench; a baseline's does not."""
    wrong = reference(contradiction="the bound 3 is below the verified value 4")
    found = failures(summary([run(), failed(seed=1), failed(solver="ff", **BASELINE)], [wrong]), [])
    assert list(map(str, found)) == [
        "bounds hold: s/i: the bound 3 is below the verified value 4",
        "every answer is verified: s/i, greedy, seed 1: broken",
    ]
