"""The greedy over domains: the function it maximises, lazy evaluation, and the factor of a pure run."""

from __future__ import annotations

import random

import numpy as np
import pytest

from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.arrangement import Arrangement, ArrangementOracle
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.domains import Domains, find_domains
from crop_cli.solvers.greedy.guarantee import factor
from crop_cli.solvers.greedy.lazy import PureRun, run_greedy
from crop_cli.solvers.greedy.setting import Setting
from tests.solvers.greedy.build import copied, setting_of
from tests.solvers.greedy.truth import best_gain, confined_optimum
from tests.tiny import random_instance

EVERY = 10**9


def coverage(arrangements: list[Arrangement]) -> float:
    """f: every job counts with the best place that any of the arrangements gives it."""
    best: dict[int, float] = {}
    for arrangement in arrangements:
        for job, place in arrangement.places.items():
            best[job] = max(best.get(job, 0.0), place.utility)
    return sum(best.values())


def oracle_of(setting: Setting, depth: int) -> ArrangementOracle:
    """The arrangement oracle of a depth."""
    return setting.in_nodes if depth == setting.problem.tree.max_depth else setting.inner


def runs(problem: Problem) -> list[tuple[str, Setting, PureRun]]:
    """A run over each level, the root's included."""
    setting = setting_of(problem)
    found = []
    for depth in range(problem.tree.max_depth + 1):
        domains = find_domains(problem, setting.outlook, setting.likeness, depth)
        run = run_greedy(problem, domains, oracle_of(setting, depth), Budget())
        found.append((problem.tree.level_name(depth), setting, run))
    return found


def test_coverage_is_monotone_and_submodular() -> None:
    """On random sets of arrangements of an instance f never falls, and gains shrink as the set grows."""
    for seed in range(60):
        problem = compile_problem(random_instance(seed, max_nodes=4, max_jobs=6))
        setting, rng = setting_of(problem), random.Random(seed)
        family = []
        for v in range(problem.tree.n_vertices):
            for _ in range(3):
                current = np.array([rng.choice([0.0, 0.5, 2.0]) for _ in range(problem.n_jobs)])
                family.append(oracle_of(setting, int(problem.tree.depth[v]))(v, current))
        for _ in range(30):
            small = rng.sample(family, rng.randint(0, len(family) // 2))
            large = small + rng.sample(family, rng.randint(0, len(family) // 2))
            more = rng.choice(family)
            assert coverage(large) >= coverage(small) - 1e-12
            gain_small = coverage([*small, more]) - coverage(small)
            gain_large = coverage([*large, more]) - coverage(large)
            assert gain_small >= gain_large - 1e-9


def eager(problem: Problem, domains: Domains, oracle: ArrangementOracle) -> list[Arrangement]:
    """The greedy without tricks: every class is looked at in every step."""
    current = np.zeros(problem.n_jobs)
    waiting, chosen = [list(members) for members in domains.classes], []
    while any(waiting):
        fresh = {c: oracle(members[0], current) for c, members in enumerate(waiting) if members}
        c = max(fresh, key=lambda c: (fresh[c].gain, -c))
        waiting[c].pop(0)
        chosen.append(fresh[c])
        for job, place in fresh[c].places.items():
            current[job] = max(current[job], place.utility)
    return chosen


def test_lazy_and_eager_choose_the_same() -> None:
    """With an exact oracle the lazy run has the eager run's gains step by step, and its value."""
    steps = 0
    for seed in range(150):
        problem = compile_problem(copied(random_instance(seed, max_jobs=8, max_nodes=4), 2))
        setting = setting_of(problem)
        domains = find_domains(problem, setting.outlook, setting.likeness, problem.tree.max_depth)
        run = run_greedy(problem, domains, setting.in_nodes, Budget(), patience=EVERY)
        chosen = eager(problem, domains, setting.in_nodes)
        assert [step.gain for step in run.steps] == pytest.approx([a.gain for a in chosen], abs=1e-12)
        assert run.value == pytest.approx(coverage(chosen), abs=1e-12)
        steps += len(chosen)
    assert steps > 200


def test_a_run_is_a_feasible_placement_whose_gains_add_up() -> None:
    """Every domain has one turn, the gains sum to f, and the best places of all jobs fit together."""
    for seed in range(100):
        problem = compile_problem(copied(random_instance(seed, max_jobs=6, max_nodes=3), 2))
        for _, _, run in runs(problem):
            assert run.complete
            assert sorted(step.domain for step in run.steps) == sorted(v for c in run.domains.classes for v in c)
            assert run.value == pytest.approx(sum(step.gain for step in run.steps), abs=1e-9)
            board = Board.empty(problem)
            for job, counts in run.placement.items():
                assert board.fits(job, counts)
                board.take(job, counts)
            assert board.value - problem.pinned_value == pytest.approx(run.value, abs=1e-9)


def test_bounds_of_steps_hold() -> None:
    """At every step no arrangement of the chosen domain gains more than the step's bound over what jobs have then."""
    for seed in range(60):
        problem = compile_problem(random_instance(seed))
        for level, setting, run in runs(problem):
            current: dict[str, float] = {}
            array = np.zeros(problem.n_jobs)
            for step in run.steps:
                truth = best_gain(problem, level, problem.tree.names[step.domain], current)
                assert step.bound >= truth - 1e-9
                for job, place in oracle_of(setting, run.domains.depth)(step.domain, array).places.items():
                    array[job] = max(array[job], place.utility)
                    current[problem.job_names[job]] = float(array[job])


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_factor_holds_against_enumeration(times: int) -> None:
    """A pure run reaches its factor of the best choice of one arrangement per domain, at every level."""
    identical = differing = 0
    for seed in range(120):
        bounds = {"max_nodes": 4 // times + 1, "max_jobs": 5, "max_gpus": 3, "max_workers": 4}
        instance = copied(random_instance(seed, **bounds), times)
        problem = compile_problem(instance)
        for level, _, run in runs(problem):
            best = confined_optimum(instance, level)
            assert run.value <= best + 1e-9
            assert run.value >= factor(run) * best - 1e-9
            if run.domains.count > 1:
                identical += run.domains.identical
                differing += not run.domains.identical
    assert differing > 20
    assert times == 1 or identical > 20


def test_factors_of_exact_runs() -> None:
    """With exact arrangements the factor is 1 for one domain, 3/4 for two like ones, 1/2 for two that differ."""
    seen = {}
    for seed in range(200):
        problem = compile_problem(copied(random_instance(seed, max_nodes=1, max_levels=1), 1 + seed % 2))
        _, _, run = runs(problem)[-1]
        if run.value > 0:
            seen[run.domains.count, run.domains.identical] = factor(run)
    for seed in range(200):
        problem = compile_problem(random_instance(seed, max_nodes=2, max_levels=1))
        _, _, run = runs(problem)[-1]
        if run.value > 0:
            seen[run.domains.count, run.domains.identical] = factor(run)
    assert seen[1, True] == pytest.approx(1.0)
    assert seen[2, True] == pytest.approx(0.75)
    assert seen[2, False] == pytest.approx(0.5)


def test_a_run_that_is_stopped_is_not_complete() -> None:
    """A budget that is used up ends the run before the next domain."""
    problem = compile_problem(copied(random_instance(1), 2))
    setting, budget = setting_of(problem), Budget()
    domains = find_domains(problem, setting.outlook, setting.likeness, problem.tree.max_depth)
    budget.interrupt()
    run = run_greedy(problem, domains, setting.in_nodes, budget)
    assert run.steps == () and run.best == {} and not run.complete
