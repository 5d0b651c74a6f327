"""The bound against enumeration: never below the optimum, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node
from crop_cli.model.problem import compile_problem
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.dual import dual_value, knapsack_value, lowered
from crop_cli.solvers.oracle import Prices, best_values
from tests.bruteforce import optimum
from tests.tiny import random_instance


def decode_jobs(
    gpus: int, sizes: tuple[int, ...], weights: tuple[float, ...] | None = None, required: tuple[int, ...] = ()
) -> Instance:
    """One node and jobs of perfect efficiency."""
    jobs = [
        Job(name=f"j{i}", gpus=k, weight=1.0 if weights is None else weights[i], required=i in required)
        for i, k in enumerate(sizes)
    ]
    return Instance(format=FORMAT, cluster=Cluster(levels=["node"], nodes=[Node(name="n", gpus=gpus)]), jobs=jobs)


@pytest.mark.parametrize("block", range(8))
def test_no_bound_is_below_the_optimum(block: int) -> None:
    """On tiny random instances the bound, with column generation or without, is at least the enumerated optimum."""
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        for target, effort in ((None, 0), (None, 20), (best, 2_000)):
            bound = upper_bound(problem, Budget(), target=target, effort=effort)
            if best is None:
                continue
            assert not bound.infeasible, seed
            assert bound.value >= best - 1e-9 * max(1.0, abs(best)), seed


@pytest.mark.parametrize("block", range(4))
def test_any_prices_give_a_bound(block: int) -> None:
    """The closed form and the knapsack are upper bounds for arbitrary prices of nodes, resources and uplinks; the
    knapsack is no worse, and taking the least price off all nodes makes it no worse."""
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        if best is None:
            continue
        rng = np.random.default_rng(seed)
        prices = Prices(
            node=rng.uniform(0, 1.5, problem.free.shape) * (rng.random(problem.free.shape) < 0.7),
            uplink=rng.uniform(0, 0.5, problem.tree.n_vertices) * np.isfinite(problem.uplink_free),
        )
        values = best_values(problem, problem.open_jobs, problem.free, problem.uplink_free, prices)
        jobs, slack = problem.open_jobs, 1e-9 * max(1.0, abs(best))
        plain, whole = (form(problem, prices, values, jobs) for form in (dual_value, knapsack_value))
        cheaper, more = lowered(problem, prices, values, jobs)
        exact = best_values(problem, jobs, problem.free, problem.uplink_free, cheaper)
        assert np.allclose(more[more > -np.inf], exact[more > -np.inf], atol=1e-9)
        assert plain >= whole - slack >= best - 2 * slack, seed
        lower = knapsack_value(problem, cheaper, more, jobs)
        assert whole >= lower - slack >= best - 2 * slack, seed


def test_the_knapsack_counts_whole_jobs() -> None:
    """Three jobs of two GPUs on five: any single price lets a half job in, the knapsack does not."""
    problem = compile_problem(decode_jobs(gpus=5, sizes=(2, 2, 2)))
    bound = upper_bound(problem, Budget(), effort=0)
    assert bound.value == pytest.approx(4.0, abs=1e-6)


def test_the_knapsack_takes_jobs_that_must_run_in_any_case() -> None:
    """A required job that is worth little takes its GPUs from others that are worth more."""
    problem = compile_problem(decode_jobs(gpus=4, sizes=(2, 2, 2), weights=(0.5, 1.0, 1.0), required=(0,)))
    bound = upper_bound(problem, Budget(), effort=0)
    assert bound.value == pytest.approx(3.0, abs=1e-6)


def test_the_bound_proves_that_required_jobs_do_not_fit() -> None:
    """Infeasibility is claimed only where enumeration finds no placement either."""
    claimed = 0
    for seed in range(400):
        instance = random_instance(seed)
        bound = upper_bound(compile_problem(instance), Budget())
        if bound.infeasible:
            claimed += 1
            assert optimum(instance)[0] is None, seed
    assert claimed > 0


def test_without_time_the_bound_is_still_valid() -> None:
    """An exhausted budget leaves the bound that needs no oracle."""
    for seed in range(60):
        instance = random_instance(seed)
        best, _ = optimum(instance)
        budget = Budget()
        budget.interrupt()
        bound = upper_bound(compile_problem(instance), budget, target=0.0)
        if best is not None:
            assert bound.value >= best - 1e-9 * max(1.0, abs(best)), seed


def test_column_generation_tightens_the_bound() -> None:
    """On instances where one price per GPU is not enough, prices per class bring the bound down."""
    tighter = 0
    for seed in range(60):
        problem = compile_problem(random_instance(seed))
        best, _ = optimum(problem.instance)
        if best is None:
            continue
        plain = upper_bound(problem, Budget(), effort=0)
        moved = upper_bound(problem, Budget(), target=best)
        assert moved.value <= plain.value + 1e-9 * max(1.0, abs(plain.value)), seed
        tighter += moved.value < plain.value - 1e-6
    assert tighter > 0
