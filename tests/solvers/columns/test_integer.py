"""The integer master: exact over the columns that it is given."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.problem import Problem, compile_problem, named, utility
from crop_cli.solvers.columns.column import Column, Groups, group_jobs, make_column
from crop_cli.solvers.columns.integer import best_of_columns
from crop_cli.solvers.state import State
from tests.bruteforce import World, enumerate_job, optimum
from tests.solvers.columns.samples import Looks
from tests.tiny import random_instance


def every_column(problem: Problem, groups: Groups) -> list[Column]:
    """All placements of all groups, by enumeration."""
    world, columns = World(problem.instance), []
    for g, job in enumerate(groups.first.tolist()):
        for counts in enumerate_job(world, problem.instance.jobs[job]):
            at = {problem.node_index[name]: x for name, x in counts.items()}
            columns.append(make_column(problem, groups, g, utility(problem, job, at), at))
    return columns


def setting(seed: int, **bounds: int) -> tuple[Instance, Problem, Groups, list[Column], list[int]]:
    instance = random_instance(seed, **bounds)
    problem = compile_problem(instance)
    groups = group_jobs(problem)
    return instance, problem, groups, every_column(problem, groups), problem.open_jobs.tolist()


def value(problem: Problem, placement: dict[int, dict[int, int]]) -> float:
    return sum(utility(problem, job, counts) for job, counts in placement.items())


@pytest.mark.parametrize("block", range(4))
def test_over_all_columns_it_finds_the_optimum(block: int) -> None:
    """With every placement as a column the result is the enumerated optimum, and the evaluator accepts it."""
    found_none = 0
    for seed in range(block * 40, block * 40 + 40):
        instance, problem, groups, columns, jobs = setting(120_000 + seed, max_jobs=6)
        best, _ = optimum(instance)
        found = best_of_columns(problem, groups, columns, jobs, problem.free, problem.uplink_free, nodes=10_000)
        if best is None:
            assert found is None
            found_none += 1
            continue
        assert found is not None, seed
        evaluation = evaluate(instance, named(problem, found))
        assert not evaluation.violations, (seed, evaluation.violations)
        assert math.isclose(evaluation.objective, best, rel_tol=1e-6, abs_tol=1e-6), seed
    assert found_none < 30


def test_only_the_jobs_and_the_room_that_are_given_are_used() -> None:
    """A sub-problem: jobs that stay keep their places, the others get the best of what is left, all at once."""
    improved = 0
    for seed in range(60):
        instance, problem, groups, columns, jobs = setting(130_000 + seed, max_jobs=6)
        _, names = optimum(instance)
        placement = {
            j: {problem.node_index[n]: x for n, x in names[problem.job_names[j]].items()}
            for j in jobs
            if problem.job_names[j] in names
        }
        if len(placement) < 2:
            continue
        stay = dict(list(placement.items())[:1])
        freed = [j for j in jobs if j not in stay]
        room = State.of(problem, stay)
        found = best_of_columns(problem, groups, columns, freed, room.free, room.uplink_free, nodes=10_000)
        assert found is not None
        assert set(found) <= set(freed)
        assert math.isclose(value(problem, found), value(problem, placement) - value(problem, stay), abs_tol=1e-6)
        assert not evaluate(instance, named(problem, {**stay, **found})).violations
        improved += 1
    assert improved > 20


def test_what_is_not_better_than_the_known_is_not_returned() -> None:
    """`above` the optimum there is nothing; just below it there is the optimum."""
    compared = 0
    for seed in range(60):
        _, problem, groups, columns, jobs = setting(140_000 + seed)
        best = best_of_columns(problem, groups, columns, jobs, problem.free, problem.uplink_free, nodes=10_000)
        if best is None:
            continue
        worth = value(problem, best)
        again = [
            best_of_columns(
                problem, groups, columns, jobs, problem.free, problem.uplink_free, nodes=10_000, above=worth + by
            )
            for by in (1e-9, -1e-3)
        ]
        assert again[0] is None, seed
        assert again[1] is not None and math.isclose(value(problem, again[1]), worth, abs_tol=1e-6), seed
        compared += 1
    assert compared > 30


def test_without_columns_nothing_is_placed() -> None:
    """No columns: the empty placement, or none where a job has to be placed."""
    for seed in range(20):
        _, problem, groups, _, jobs = setting(150_000 + seed)
        found = best_of_columns(problem, groups, [], jobs, problem.free, problem.uplink_free)
        assert found == (None if problem.must_place[jobs].any() else {})


def test_a_budget_that_is_used_up_ends_it() -> None:
    """It does not begin."""
    _, problem, groups, columns, jobs = setting(3)
    assert columns
    budget = Looks(0)
    assert best_of_columns(problem, groups, columns, jobs, problem.free, problem.uplink_free, budget=budget) is None


def test_doubles_and_other_orders_change_no_value() -> None:
    """The same columns twice, in another order: the same value."""
    for seed in range(20):
        _, problem, groups, columns, jobs = setting(160_000 + seed)
        once = best_of_columns(problem, groups, columns, jobs, problem.free, problem.uplink_free, nodes=10_000)
        mixed = [columns[i] for i in np.random.default_rng(seed).permutation(len(columns))] + columns
        twice = best_of_columns(problem, groups, mixed, jobs, problem.free, problem.uplink_free, nodes=10_000)
        assert (once is None) == (twice is None)
        if once is not None and twice is not None:
            assert math.isclose(value(problem, once), value(problem, twice), abs_tol=1e-6)
