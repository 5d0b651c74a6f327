"""Prices in a solution prove what they say, and a check finds those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import crop_cli
from crop_cli.explanation.prices import price_report, prices_of, values_at
from crop_cli.model.dump import dump_solution
from crop_cli.model.instance import Instance
from crop_cli.model.problem import compile_problem
from crop_cli.model.solution import Solution
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.dual import lowered
from tests.bruteforce import optimum
from tests.cli import instances
from tests.tiny import random_instance

CASES = Path(__file__).parents[2] / "instances" / "cases"
SEEDS = 25


def _required(instance: Instance, name: str) -> Instance:
    jobs = [msgspec.structs.replace(job, required=job.required or job.name == name) for job in instance.jobs]
    return msgspec.structs.replace(instance, jobs=jobs)


@pytest.mark.parametrize("block", range(8))
def test_prices_prove_a_bound_of_every_placement(block: int) -> None:
    """On tiny instances the certified bound is never below the optimum, and a check recomputes it from the file."""
    priced = 0
    for seed in range(7000 + SEEDS * block, 7000 + SEEDS * (block + 1)):
        instance = random_instance(seed)
        best, _ = optimum(instance)
        solution = crop_cli.solve(instance, solver="greedy")
        if solution.prices is None or best is None:
            continue
        priced += 1
        assert solution.prices.certified_bound >= best - 1e-9 * max(1.0, abs(best)), seed
        again = msgspec.json.decode(dump_solution(solution), type=Solution)
        report = crop_cli.check(instance, again)
        assert not report.violations, (seed, report.violations)
        assert report.certified_bound == pytest.approx(solution.prices.certified_bound, rel=1e-9, abs=1e-9)
    assert priced > SEEDS // 2


def test_an_excluded_job_is_in_no_placement_as_good() -> None:
    """Where a job is called excluded, the optimum with the job forced in is below F, by enumeration."""
    excluded = 0
    for seed in range(8000, 8300):
        instance = random_instance(seed, max_nodes=3, max_jobs=4)
        solution = crop_cli.solve(instance, solver="greedy")
        if solution.prices is None or solution.objective is None:
            continue
        waiting = {row.job for row in solution.unplaced}
        for row in solution.prices.priced_out:
            assert row.job in waiting
            assert row.value is None or row.value <= 0
            if row.excluded:
                excluded += 1
                forced, _ = optimum(_required(instance, row.job))
                assert forced is None or forced < solution.objective, (seed, row.job)
    assert excluded > 20


def test_prices_are_complete() -> None:
    """The arrays read from a report are those that it was made from: nothing with a price is left out."""
    instance = msgspec.convert(instances.two_racks(), Instance)
    solution = crop_cli.solve(instance, solver="greedy")
    assert solution.prices is not None
    problem = compile_problem(instance)
    prices = prices_of(problem, solution.prices)
    listed = sum(len(row.nodes) for row in solution.prices.nodes)
    assert listed == (prices.node > 0).sum() > 0
    for row in solution.prices.areas:
        nodes = [n for n in instance.cluster.nodes if n.parent == row.domain]
        mine = [prices.node[problem.node_index[n.name], 0] for n in nodes]
        assert (row.lowest, row.highest) == (min(mine), max(mine))
        assert row.gpus_free == sum(n.gpus for n in nodes)


def test_the_level_of_prices_is_found_again() -> None:
    """Prices without the level that all GPUs share, as a bound with a knapsack leaves them, give the same report."""
    compared = 0
    for seed in range(7400, 7440):
        problem = compile_problem(random_instance(seed, max_jobs=6))
        found = upper_bound(problem, Budget(None))
        values = None if found.prices is None else values_at(problem, found.prices)
        if found.infeasible or found.prices is None or values is None:
            continue
        low, _ = lowered(problem, found.prices, values, problem.open_jobs)
        full, again = (price_report(problem, prices, None, None, Budget(None)) for prices in (found.prices, low))
        assert full is not None and again is not None
        assert again.certified_bound == pytest.approx(full.certified_bound, rel=1e-9, abs=1e-9), seed
        assert [row.mean for row in again.areas] == pytest.approx([row.mean for row in full.areas]), seed
        compared += any(row.mean > 0 for row in full.areas)
    assert compared > 5


def test_what_is_short_has_a_price() -> None:
    """Where cpu is what keeps jobs out, cpu has the price; where an uplink is, the uplink has."""
    node = {"name": "a", "gpus": 8, "resources": {"cpu": 8}}
    jobs = [{"name": f"j{i}", "gpus": 2, "resources_per_gpu": {"cpu": 4}, "within": "node"} for i in range(3)]
    data = {"format": "crop-instance/1", "cluster": {"levels": ["node"], "nodes": [node]}, "jobs": jobs}
    instance = msgspec.convert(data, Instance)
    solution = crop_cli.solve(instance, solver="greedy")
    assert solution.prices is not None
    assert [(row.resource, row.nodes) for row in solution.prices.nodes] == [("cpu", ["a"])]
    assert solution.prices.nodes[0].price == pytest.approx(0.25)
    assert [row.highest for row in solution.prices.areas] == [0]
    assert crop_cli.check(instance, solution).certified_bound == pytest.approx(2, rel=1e-5)

    rings = crop_cli.load(CASES / "two-rings-one-uplink.json")
    solution = crop_cli.solve(rings, solver="greedy")
    assert solution.prices is not None
    assert {row.level for row in solution.prices.uplinks} == {"rack"}
    assert crop_cli.check(rings, solution).ok
    shown = crop_cli.explain(rings, solution).uplinks
    assert {row.uplink for row in shown if row.price > 0} == {n for r in solution.prices.uplinks for n in r.uplinks}


def _halve(data: Any) -> None:
    for row in data["nodes"]:
        row["price"] *= 0.5


FALSE: dict[str, tuple[Callable[[Any], None], str]] = {
    "bound": (lambda data: data.update(certified_bound=data["certified_bound"] * 0.9), "the prices prove only"),
    "prices": (_halve, "are given as"),
    "negative": (lambda data: data["nodes"][0].update(price=-1.0), "not a number of at least 0"),
    "unknown node": (lambda data: data["nodes"][0]["nodes"].append("n99"), "'n99'"),
    "twice": (lambda data: data["nodes"][0]["nodes"].append(data["nodes"][0]["nodes"][0]), "has two prices"),
    "area": (lambda data: data["areas"][0].update(mean=0.123), "are given as"),
    "area left out": (lambda data: data["areas"].pop(), "does not list each domain"),
    "value": (lambda data: data["priced_out"][0].update(value=-123.0), "at the prices is given as"),
    "excluded": (lambda data: data["priced_out"].append({"job": "n0", "value": 0.0, "excluded": True}), "no job"),
}


@pytest.mark.parametrize("claim", FALSE)
def test_false_prices_are_found(claim: str) -> None:
    """Prices that prove less than they claim, or figures that do not follow from them, are violations."""
    instance = msgspec.convert(instances.two_racks(), Instance)
    data = json.loads(dump_solution(crop_cli.solve(instance, solver="greedy")))
    change, text = FALSE[claim]
    change(data["prices"])
    report = crop_cli.check(instance, msgspec.convert(data, Solution))
    assert any(text in violation.message for violation in report.violations), report.violations
