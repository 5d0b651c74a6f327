"""Rows, aggregates and profiles against figures computed by hand."""

from __future__ import annotations

import math

import pytest

from crop_cli.bench.records import Aggregate, Profile, Reference, Run
from crop_cli.bench.rows import ratio_to, seconds_of
from crop_cli.bench.statistics import (
    FACTORS,
    LOSSES,
    aggregates_of,
    profiles_of,
    shifted_geometric_mean,
)
from tests.bench.build import LIMIT, by_name, failed, reference, rows, run

INFEASIBLE = reference(value=None, bound=None, optimal=False, infeasible=True)


def aggregates(runs: list[Run], references: list[Reference] | None = None) -> dict[tuple[str, str], Aggregate]:
    """By set and solver."""
    found = aggregates_of(rows(runs, references), by_name(runs, references), LIMIT)
    return {(one.instances, one.solver): one for one in found}


def profile(runs: list[Run], kind: str, solver: str = "greedy", references: list[Reference] | None = None) -> Profile:
    """One profile of a solver."""
    found = profiles_of(rows(runs, references), by_name(runs, references))
    return next(one for one in found if (one.kind, one.solver) == (kind, solver))


@pytest.mark.parametrize(
    ("fields", "objective", "feasible", "ratio"),
    [
        ({}, 4.0, True, 0.5),
        ({"optimal": False, "bound": 10.0}, 4.0, True, 0.4),
        ({"optimal": False, "bound": None}, 4.0, True, None),
        ({}, 8.0 - 1e-7, True, 1.0),
        ({}, 10.0, False, 1.25),
        ({"optimal": False, "bound": 8.0}, 8.1, True, 1.0),
        ({"value": 0.0, "bound": 0.0}, 0.0, True, 1.0),
        ({"value": -1.0, "bound": -1.0}, -2.0, True, None),
        ({"value": 0.0, "bound": 0.0}, -2.0, True, None),
        ({}, -4.0, True, -0.5),
    ],
    ids=str,
)
def test_ratio(fields: dict[str, float], objective: float, feasible: bool, ratio: float | None) -> None:
    """F over the proven optimum, else over the bound; at most 1 where feasible, unknown where it says nothing."""
    assert ratio_to(reference(**fields), objective, feasible=feasible) == ratio


def test_a_row_holds_its_run_against_the_reference() -> None:
    """Gap to the best value, the worst load, and whether the run must come out again."""
    plain, over, ended, threads, broken = rows(
        [
            run(),
            run(seed=1, verdict="overbooked", objective=10.0, loads={"r": 1.5, "s": 2.0}),
            run(seed=2, stop_reason="time_limit"),
            run(seed=3, settings=reference_settings(threads=2)),
            failed(seed=4),
        ]
    )
    assert (plain.gap_to_best, plain.ratio, plain.deterministic) == (0.5, 0.5, True)
    assert (over.gap_to_best, over.ratio, over.overbooked_uplinks, over.worst_load) == (-0.25, 1.25, 2, 2.0)
    assert not ended.deterministic and not threads.deterministic
    assert (broken.ratio, broken.gap_to_best, broken.objective, broken.error) == (None, None, None, "broken")


def reference_settings(threads: int) -> object:
    """Settings with so many threads."""
    settings = run().settings
    return type(settings)(time_limit=settings.time_limit, gap=None, threads=threads)


def test_an_unverified_objective_does_not_count() -> None:
    """A row has no objective where the evaluator has not recomputed it."""
    (row,) = rows([run(verified=False, objective=8.0)])
    assert (row.objective, row.ratio, row.win) == (None, None, False)


def test_seconds_of_a_run() -> None:
    """Loading is left out; of a baseline only building and solving count."""
    phases = {"load": 1.0, "build": 2.0, "solve": 3.0, "bound": 10.0, "total": 17.0}
    assert seconds_of(run(seconds=phases)) == 16.0
    assert seconds_of(run(seconds=phases, role="baseline")) == 5.0
    assert seconds_of(failed(seconds={"total": 7.0}, role="baseline")) == 7.0


def test_wins() -> None:
    """Whoever no feasible placement of the same instance and seed beats wins: ties all, overbooked ones never."""
    won = {
        (row.solver, row.seed): row.win
        for row in rows(
            [
                run(objective=6.0),
                run(solver="search", objective=6.0 + 1e-7),
                run(solver="worse", objective=5.9),
                run(solver="over", objective=9.0, verdict="overbooked", loads={"r": 2.0}),
                failed(solver="broken"),
                run(seed=1, objective=2.0),
            ]
        )
    }
    assert [key for key, win in won.items() if win] == [("greedy", 0), ("search", 0), ("greedy", 1)]


def test_a_proof_of_infeasibility_wins() -> None:
    """Where no placement exists, the proof wins; contradicted by a placement, it does not."""
    proof = failed(verdict="infeasible", stop_reason="proved", solver="cp-sat", error=None)
    assert rows([proof], [INFEASIBLE])[0].win
    assert not rows([proof, run()])[0].win


def test_mean_median_and_worst_ratio() -> None:
    """Overbooked runs count at most 1, runs without an answer 0."""
    runs = [
        run(instance="s/a", objective=8.0),
        run(instance="s/b", objective=10.0, verdict="overbooked", loads={"r": 2.0}),
        run(instance="s/c", objective=4.0),
        failed(instance="t/d"),
    ]
    found = aggregates(runs)
    whole = found["*", "greedy"]
    assert (whole.mean_ratio, whole.median_ratio, whole.worst_ratio) == (0.625, 0.75, 0.0)
    assert whole.worst_instance == "t/d"
    assert (whole.runs, whole.solved, whole.optimal, whole.overbooked, whole.failed) == (4, 2, 0, 1, 1)
    part = found["s", "greedy"]
    assert (part.mean_ratio, part.median_ratio, part.worst_ratio) == (pytest.approx(2.5 / 3), 1.0, 0.5)
    assert part.worst_instance == "s/c"
    assert found["t", "greedy"].mean_ratio == 0.0


def test_instances_without_a_placement_have_no_ratio() -> None:
    """A proof of infeasibility is solved, pulls no mean down and is not the worst instance."""
    runs = [run(instance="s/a"), failed(instance="s/none", verdict="infeasible", stop_reason="proved", error=None)]
    whole = aggregates(runs, [reference(instance="s/a"), replaced(INFEASIBLE, "s/none")])["*", "greedy"]
    assert (whole.runs, whole.solved, whole.failed) == (2, 2, 0)
    assert (whole.mean_ratio, whole.worst_ratio, whole.worst_instance) == (0.5, 0.5, "s/a")


def replaced(one: Reference, instance: str) -> Reference:
    """The reference of another instance."""
    return reference(
        instance=instance, value=one.value, bound=one.bound, optimal=one.optimal, infeasible=one.infeasible
    )


def test_a_bench_without_any_ratio() -> None:
    """Where nothing has a placement, no ratio is known and no profile fails."""
    runs = [failed(verdict="infeasible", stop_reason="proved", error=None), failed(verdict="no_solution", solver="x")]
    whole = aggregates(runs, [INFEASIBLE])
    for solver in ("greedy", "x"):
        one = whole["*", solver]
        assert (one.mean_ratio, one.median_ratio, one.worst_ratio, one.worst_instance) == (None, None, None, None)
        assert profile(runs, "quality", solver, [INFEASIBLE]).share == [0.0] * len(LOSSES)


def test_shifted_geometric_mean() -> None:
    """With a shift of 1 s, 0 s and 3 s are 1 s in the mean: the root of 1 times 4, less 1."""
    assert shifted_geometric_mean([0.0, 3.0]) == pytest.approx(1.0)
    assert shifted_geometric_mean([2.0, 8.0], shift=0.0) == pytest.approx(4.0)
    assert shifted_geometric_mean([]) is None


def test_times_of_a_solver() -> None:
    """A run without an answer costs the limit; in PAR-2, it and a run that a limit ended cost twice the limit."""
    runs = [
        run(instance="s/a", seconds={"total": 3.0}),
        run(instance="s/b", seconds={"total": 10.0}, stop_reason="time_limit"),
        failed(instance="s/c", seconds={"total": 0.5}),
        failed(instance="s/d", seconds={"total": 0.5}, verdict="no_solution", stop_reason="completed"),
    ]
    whole = aggregates(runs)["*", "greedy"]
    assert whole.seconds == pytest.approx((4 * 11 * 11 * 11) ** 0.25 - 1)
    assert whole.par2 == pytest.approx((3 + 20 + 20 + 20) / 4)


def test_counts_of_wins_and_proofs() -> None:
    """Wins and own proofs of optimality are counted, memory is the largest."""
    runs = [
        run(verdict="optimal", stop_reason="proved", objective=8.0, peak_mib=10.0),
        run(seed=1, objective=7.0, peak_mib=30.0),
        run(seed=1, solver="search", objective=8.0),
    ]
    whole = aggregates(runs)["*", "greedy"]
    assert (whole.wins, whole.optimal, whole.peak_mib) == (1, 1, 30.0)


def test_performance_profile() -> None:
    """Share of runs within a factor of the fastest on the same instance and seed; without an answer, never."""
    runs = [
        run(instance="s/a", seconds={"total": 1.0}),
        run(instance="s/a", solver="slow", seconds={"total": 10.0}),
        run(instance="s/b", seconds={"total": 0.0001}),
        run(instance="s/b", solver="slow", seconds={"total": 0.005}),
        failed(instance="s/c"),
        run(instance="s/c", solver="slow", seconds={"total": 2.0}),
    ]
    slow = dict(zip(FACTORS, profile(runs, "performance", "slow").share, strict=True))
    # On b both are shorter than what a clock can tell, on c it is alone, on a 10 times slower.
    assert slow[1.0] == pytest.approx(2 / 3)
    assert slow[FACTORS[7]] == pytest.approx(2 / 3) and FACTORS[7] < 10
    assert slow[10.0] == slow[FACTORS[-1]] == 1.0
    quick = profile(runs, "performance").share
    assert quick[0] == quick[-1] == pytest.approx(2 / 3)


def test_quality_profile() -> None:
    """Share of runs at most so far below the reference."""
    runs = [
        run(instance="s/a", objective=8.0),
        run(instance="s/b", objective=10.0, verdict="overbooked", loads={"r": 2.0}),
        run(instance="s/c", objective=7.2),
        failed(instance="s/d"),
    ]
    share = dict(zip(LOSSES, profile(runs, "quality").share, strict=True))
    assert (share[0.0], share[0.1], share[1.0]) == (0.5, 0.75, 1.0)
    assert share[max(x for x in LOSSES if x < 0.1)] == 0.5
    assert list(share.values()) == sorted(share.values())


def test_abscissas() -> None:
    """Factors run from 1 to 10,000, losses from 0 to 1."""
    assert FACTORS[0] == 1.0 and math.isclose(FACTORS[-1], 1e4)
    assert LOSSES[:2] == [0.0, 1e-6] and LOSSES[-1] == 1.0
