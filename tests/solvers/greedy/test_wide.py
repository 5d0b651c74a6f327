"""Filling a cluster domain by domain."""

from __future__ import annotations

import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy import wide
from crop_cli.solvers.greedy.solve import solve
from tests.bruteforce import optimum
from tests.solvers.columns.samples import job, racks
from tests.tiny import random_instance


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cluster counts as wide, and domains are small."""
    monkeypatch.setattr(wide, "WIDE", 0)
    monkeypatch.setattr(wide, "AT_ONCE", 3)


@pytest.mark.usefixtures("narrow")
def test_feasible_and_near_the_optimum() -> None:
    """On tiny instances every placement is feasible, none is above the optimum, and most are near it."""
    shares = []
    for seed in range(200):
        instance = random_instance(seed, max_nodes=6)
        best, _ = optimum(instance)
        problem = compile_problem(instance)
        answer = solve(problem, Request(), Budget(), lambda _event: None)
        if answer.placement is None or best is None:
            continue
        judged = evaluate(instance, named(problem, answer.placement))
        assert judged.violations == []
        assert judged.objective <= best + 1e-9
        if best > 1e-6:
            shares.append(judged.objective / best)
    assert sum(shares) / len(shares) > 0.98


@pytest.mark.usefixtures("narrow")
def test_no_guarantee_unless_a_level_is_asked_for() -> None:
    """No level is arranged, so that no factor is claimed and the reason is told; with a level there is one."""
    problem = compile_problem(racks([[8, 8], [8, 8]], [job(f"j{i}", 4, within="node") for i in range(9)]))
    answer = solve(problem, Request(), Budget(), lambda _event: None)
    assert answer.guarantee.a_priori is None
    assert "--level" in answer.guarantee.why
    asked = solve(problem, Request(options={"level": "node"}), Budget(), lambda _event: None)
    assert asked.guarantee.a_priori is not None and asked.guarantee.a_priori > 0.6


@pytest.mark.usefixtures("narrow")
def test_whole_cluster_is_filled() -> None:
    """Jobs that fit in nodes and in racks take every GPU."""
    jobs = [job(f"a{i}", 8) for i in range(4)] + [job(f"b{i}", 12, within="rack") for i in range(2)]
    problem = compile_problem(racks([[8, 8, 8], [8, 8, 8], [8]], jobs))
    answer = solve(problem, Request(), Budget(), lambda _event: None)
    assert answer.placement is not None
    assert sum(sum(counts.values()) for counts in answer.placement.values()) == 56
