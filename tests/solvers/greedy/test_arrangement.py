"""Arrangements of domains against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import FloatArray, Problem, compile_problem, named, utility
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.arrangement import Arrangement
from crop_cli.solvers.greedy.exact_arrangement import ExactArranger
from crop_cli.solvers.greedy.inner import fractional_knapsack
from tests.solvers.greedy.build import setting_of
from tests.solvers.greedy.truth import best_gain
from tests.tiny import random_instance


def some_current(problem: Problem, seed: int) -> FloatArray:
    """Utilities that some of the jobs have already."""
    rng = np.random.default_rng(seed)
    current = np.zeros(problem.n_jobs)
    for j in problem.open_jobs.tolist():
        if rng.random() < 0.4:
            current[j] = rng.random() * problem.kind(j).weight * problem.kind(j).k
    return current


def check_arrangement(problem: Problem, vertex: int, current: FloatArray, arrangement: Arrangement) -> None:
    """It lies inside the domain, is feasible as it stands, and its numbers are its own."""
    nodes = range(int(problem.tree.first_node[vertex]), int(problem.tree.end_node[vertex]))
    gain = 0.0
    for job, place in arrangement.places.items():
        assert set(place.counts) <= set(nodes)
        assert place.utility == pytest.approx(utility(problem, job, place.counts), abs=1e-9)
        assert place.utility > current[job]
        gain += place.utility - current[job]
    assert arrangement.gain == pytest.approx(gain, abs=1e-9)
    placement = {job: place.counts for job, place in arrangement.places.items()}
    violations = evaluate(problem.instance, named(problem, placement)).violations
    # An arrangement of one domain need not run the jobs that must be.
    assert {v.kind for v in violations} <= {"required job missing", "running job stopped"}


def names(problem: Problem, current: FloatArray) -> dict[str, float]:
    """Current utilities by job name."""
    return dict(zip(problem.job_names, current.tolist(), strict=True))


@pytest.mark.parametrize("bounds", [{}, {"max_jobs": 6, "max_nodes": 2}], ids=["plain", "many-jobs"])
def test_arrangements_of_nodes_are_the_best(bounds: dict[str, int]) -> None:
    """No arrangement of a node gains more than the knapsack's, for any utilities that jobs have already."""
    gains = 0
    for seed in range(120):
        problem = compile_problem(random_instance(seed, **bounds))
        in_nodes, level = setting_of(problem).in_nodes, problem.tree.levels[-1]
        for current in (np.zeros(problem.n_jobs), some_current(problem, seed)):
            for n, name in enumerate(problem.node_names):
                vertex = problem.tree.node_vertex + n
                arrangement = in_nodes(vertex, current)
                check_arrangement(problem, vertex, current, arrangement)
                truth = best_gain(problem, level, name, names(problem, current))
                assert arrangement.gain == pytest.approx(truth, abs=1e-9)
                assert arrangement.bound == pytest.approx(truth, abs=1e-9)
                gains += truth > 0
    assert gains > 100


def test_inner_greedy_is_feasible_and_its_bound_holds() -> None:
    """Above the nodes the inner greedy's arrangement is feasible and the best one's gain lies within its bound."""
    shares = []
    for seed in range(150):
        problem = compile_problem(random_instance(seed, min_levels=2, max_levels=3))
        inner = setting_of(problem).inner
        for thorough in (True, False):
            inner.thorough = thorough
            for current in (np.zeros(problem.n_jobs), some_current(problem, seed)):
                for vertex in range(problem.tree.node_vertex):
                    level = problem.tree.level_name(int(problem.tree.depth[vertex]))
                    arrangement = inner(vertex, current)
                    check_arrangement(problem, vertex, current, arrangement)
                    truth = best_gain(problem, level, problem.tree.names[vertex], names(problem, current))
                    assert arrangement.gain <= truth + 1e-9 <= arrangement.bound + 2e-9
                    if truth > 0:
                        shares.append(arrangement.gain / truth)
    assert len(shares) > 100
    assert np.mean(shares) > 0.97


def test_rough_ceilings_bound_the_sharp_ones() -> None:
    """What the outlook says a job can reach inside a domain is never below what the oracle finds there."""
    for seed in range(120):
        problem = compile_problem(random_instance(seed))
        inner = setting_of(problem).inner
        for vertex in range(problem.tree.node_vertex):
            assert (inner._outlook(vertex) >= inner._sharp(vertex) - 1e-9).all()


@pytest.mark.slow
def test_exact_arrangements_are_the_best() -> None:
    """The back end finds the largest gain over what jobs have already, and proves it."""
    asked = 0
    for seed in range(400):
        problem = compile_problem(random_instance(seed, min_levels=2, max_levels=2, max_jobs=6))
        setting, current = setting_of(problem), some_current(problem, seed)
        exact = ExactArranger(problem, setting.inner, setting.inner.ceiling, 1, Budget(), 0)
        for vertex in range(1, problem.tree.node_vertex):
            known = setting.inner(vertex, current)
            if known.gain >= known.bound * (1 - 1e-6) or asked >= 12:
                continue
            asked += 1
            arrangement = exact(vertex, current)
            check_arrangement(problem, vertex, current, arrangement)
            truth = best_gain(problem, "rack", problem.tree.names[vertex], names(problem, current))
            assert arrangement.gain == pytest.approx(truth, rel=1e-6, abs=1e-6)
            assert arrangement.bound == pytest.approx(truth, rel=1e-5, abs=1e-5)
    assert asked == 12


def test_fractional_knapsack_cuts_one_item() -> None:
    """Items that fit count in full, the next in part, the rest not at all."""
    gains, sizes = np.array([6.0, 4.0, 2.0]), np.array([2, 4, 4])
    assert fractional_knapsack(gains, sizes, 4) == pytest.approx(6.0 + 4.0 / 2)
    assert fractional_knapsack(gains, sizes, 100) == pytest.approx(12.0)
    assert fractional_knapsack(gains, sizes, 0) == 0.0
