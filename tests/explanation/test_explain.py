"""Explanations: known reasons of the cases, and every claim made again and judged by the evaluator."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

import crop_cli
from crop_cli.errors import UsageError, ViolationError
from crop_cli.explanation.answers import Explanation, JobAnswer
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Solution
from crop_cli.solvers.contract import Budget
from tests.bruteforce import World, enumerate_job, job_utility, optimum, rates, shape_allowed
from tests.explanation.apply import judged
from tests.tiny import random_instance

CASES = Path(__file__).parents[2] / "instances" / "cases"

Known = dict[str, tuple[str, set[tuple[str, str, float | str | None]]]]
KNOWN: Known = {
    "larger-than-the-cluster": ("giant", {("nodes", "", 1)}),
    "movable-job-stays": ("new", {("free", "", 1), ("relax", "within", None), ("nodes", "", 1)}),
    "required-displaces-heavier": ("heavy", {("free", "", 4), ("nodes", "", 1)}),
    "segment-does-not-divide": ("odd", {("relax", "segment", 3)}),
    "sixteen-free-none-whole": ("whole-nodes", {("free", "", 8), ("relax", "gpus_per_node", 4), ("nodes", "", 2)}),
    "spread-too-thin": ("thin", {("relax", "spread", 2), ("nodes", "", 2)}),
    "type-nowhere": ("tpu-job", {("relax", "compute_s", "A100")}),
    "running-ring-holds-the-uplink": ("new", {("bandwidth", "", 40)}),
    "two-threes-beat-a-five": ("five", {("free", "", 5), ("nodes", "", 1)}),
    "never-worth-it": ("long-restart", set()),
}


def _held(solution: Solution) -> dict[str, dict[str, int]]:
    return {row.job: dict(row.nodes) for row in solution.placements}


def _explained(instance: Instance, solution: Solution, *jobs: str) -> Explanation:
    return crop_cli.explain(instance, solution, jobs=list(jobs), solver="greedy")


@pytest.mark.parametrize("case", KNOWN)
def test_the_smallest_changes_of_the_cases(case: str) -> None:
    """Each case has the changes that its construction asks for, and no others."""
    job, changes = KNOWN[case]
    loaded = crop_cli.load(CASES / f"{case}.json")
    solution = crop_cli.solve(loaded, solver="greedy")
    answer = crop_cli.explain(loaded, solution, jobs=[job], solver="greedy").jobs[0]
    found = {
        (
            change.kind,
            change.what if change.kind == "relax" else "",
            round(change.amount) if isinstance(change.amount, float | int) else change.amount,
        )
        for change in answer.changes
    }
    assert found == changes
    assert answer.place is None and answer.limit
    assert all(change.minimal for change in answer.changes)
    for change in answer.changes:
        assert judged(loaded.instance, _held(solution), job, change).feasible


def _best_alone(instance: Instance, others: dict[str, dict[str, int]], job: str) -> float:
    """Best utility of a job beside others, by enumeration; −inf without a place."""
    world = World(instance)
    for name, counts in others.items():
        if world.jobs[name].placement is None or world.jobs[name].movable:
            world.take(world.jobs[name], counts)
    wanted = world.jobs[job]
    return max((job_utility(world, wanted, c) for c in enumerate_job(world, wanted)), default=float("-inf"))


def _check_change_claims(instance: Instance, solution: Solution, answer: JobAnswer, seen: Counter[str]) -> None:
    held = _held(solution)
    for change in answer.changes:
        seen[change.kind] += 1
        evaluation = judged(instance, held, answer.job, change)
        assert evaluation.feasible, (change, evaluation.violations)
        assert evaluation.jobs[answer.job].utility == pytest.approx(change.place.utility)
        assert change.place.utility > 0
        assert change.verified


def _fewest_lacking(instance: Instance, held: dict[str, dict[str, int]], job: str) -> int | None:
    """Fewest workers without room over all places in the shape and beside the traffic there is, by enumeration."""
    now = World(instance)
    for name, counts in held.items():
        if now.jobs[name].placement is None or now.jobs[name].movable:
            now.take(now.jobs[name], counts)
    wanted = now.jobs[job]
    empty = msgspec.structs.replace(
        instance,
        cluster=msgspec.structs.replace(
            instance.cluster, nodes=[msgspec.structs.replace(n, used={}) for n in instance.cluster.nodes]
        ),
        jobs=[msgspec.structs.replace(each, placement=None, movable=False) for each in instance.jobs],
    )
    whole = World(empty)
    least = None
    for counts in enumerate_job(whole, wanted):
        if not shape_allowed(now, wanted, counts):
            continue
        if any(rate > now.uplink_free[v] + 1e-9 for v, rate in rates(now, wanted, counts).items()):
            continue
        lacking = 0
        for name, x in counts.items():
            room = 0
            while room < x and all(
                (room + 1) * amount <= now.free[name][r] + 1e-9
                for r, amount in {"gpus": 1.0, **wanted.resources_per_gpu}.items()
            ):
                room += 1
            lacking += x - room
        least = lacking if least is None else min(least, lacking)
    return least


def test_every_change_is_true_on_random_instances() -> None:
    """Every change of waiting jobs, made anew, admits them; the GPUs to free are the fewest, by enumeration."""
    seen: Counter[str] = Counter()
    for seed in range(9000, 9250):
        instance = random_instance(seed)
        solution = crop_cli.solve(instance, solver="greedy")
        if solution.objective is None or not solution.unplaced:
            continue
        for answer in _explained(instance, solution, *(row.job for row in solution.unplaced)).jobs:
            held = _held(solution)
            now = _best_alone(instance, held, answer.job)
            assert (answer.best_now is None) == (now == float("-inf")), seed
            if answer.best_now is not None:
                assert answer.best_now.utility == pytest.approx(now)
                continue
            _check_change_claims(instance, solution, answer, seen)
            fewest = _fewest_lacking(instance, held, answer.job)
            for change in answer.changes:
                if change.kind == "free":
                    assert change.amount == fewest, seed
                    assert change.minimal
    assert all(seen[kind] >= 3 for kind in ("free", "relax", "nodes", "bandwidth")), seen


def test_what_is_displaced_adds_up() -> None:
    """The change of F is at most what the optimum with the job forced in allows, and lost jobs were placed before."""
    forced = 0
    for seed in range(9300, 9400):
        instance = random_instance(seed, max_nodes=3, max_jobs=7)
        solution = crop_cli.solve(instance, solver="greedy")
        if solution.objective is None:
            continue
        for row in solution.unplaced:
            jobs = [msgspec.structs.replace(j, required=j.required or j.name == row.job) for j in instance.jobs]
            best, _ = optimum(msgspec.structs.replace(instance, jobs=jobs))
            if best is None:
                continue
            answer = _explained(instance, solution, row.job).jobs[0]
            if answer.displaced is None:
                assert answer.best_now is not None, seed
                continue
            forced += 1
            assert solution.objective + answer.displaced.objective_change <= best + 1e-9, seed
            assert set(answer.displaced.lost) <= set(_held(solution)), seed
            assert not set(answer.displaced.gained) & set(_held(solution)), seed
    assert forced > 10


def test_a_placed_job_is_compared_with_its_best_places() -> None:
    """A job in the second best place is told of the best one, and what it costs the other job to have it."""
    loaded = crop_cli.load(CASES / "leave-the-pair-whole.json")
    solution = crop_cli.solve(loaded, solver="greedy")
    answer = crop_cli.explain(loaded, solution, jobs=["split"], solver="greedy").jobs[0]
    assert answer.place is not None and answer.best_empty is not None
    assert answer.best_empty.utility > answer.place.utility
    assert answer.displaced is not None
    assert answer.displaced.objective_change < 0
    assert answer.displaced.place.nodes == answer.best_empty.nodes
    assert not answer.changes


def test_without_names_all_waiting_jobs_are_told() -> None:
    """Every job that waits has its limit, its places by the oracle, and its value at the prices."""
    instance = crop_cli.load(CASES / "weights-decide.json").instance
    solution = crop_cli.solve(instance, solver="greedy")
    found = crop_cli.explain(instance, solution)
    assert [row.job for row in found.jobs] == [row.job for row in solution.unplaced]
    assert [row.limit for row in found.jobs] == [row.reason for row in solution.unplaced]
    assert not found.detailed and found.jobs_left == 0
    assert all(row.best_empty is not None and row.value_at_prices is not None for row in found.jobs)
    assert found.prices == solution.prices


def test_prices_are_computed_where_the_solution_has_none() -> None:
    """A solution without prices is explained with prices of a bound found for the purpose."""
    instance = crop_cli.load(CASES / "weights-decide.json").instance
    solution = msgspec.structs.replace(crop_cli.solve(instance, solver="greedy"), prices=None)
    found = crop_cli.explain(instance, solution)
    assert found.prices is not None
    assert found.prices.certified_bound >= optimum(instance)[0] - 1e-9


def test_an_infeasible_instance_is_explained() -> None:
    """Where no placement exists, a job that never fits is told what would admit it by itself."""
    loaded = crop_cli.load(CASES / "required-shape-infeasible.json")
    found = crop_cli.explain(loaded, jobs=["whole"], solver="greedy")
    assert found.status == "infeasible"
    answer = found.jobs[0]
    assert answer.best_empty is None and answer.displaced is None
    assert answer.changes
    assert all(judged(loaded.instance, {}, "whole", change).feasible for change in answer.changes)


def test_the_same_question_has_the_same_answer() -> None:
    """Explaining is deterministic."""
    instance = random_instance(9003)
    solution = crop_cli.solve(instance, solver="greedy")
    names = [job.name for job in instance.jobs]
    first, second = (_explained(instance, solution, *names) for _ in range(2))
    assert msgspec.structs.replace(first, total_s=0.0) == msgspec.structs.replace(second, total_s=0.0)


def test_when_the_time_is_over_it_says_so() -> None:
    """Without time nothing is solved again and no change is tried, and the answer says that; what is exact stays."""
    instance = crop_cli.load(CASES / "two-threes-beat-a-five.json").instance
    solution = crop_cli.solve(instance, solver="greedy")
    budget = Budget(60)
    budget.interrupt()
    answer = crop_cli.explain(instance, solution, jobs=["five"], budget=budget).jobs[0]
    assert answer.best_empty is not None and answer.limit
    assert not answer.changes
    assert "the time was over" in answer.changes_note


def test_an_unknown_job_is_a_usage_error() -> None:
    """The message names jobs with names like it."""
    instance = crop_cli.load(CASES / "weights-decide.json").instance
    with pytest.raises(UsageError, match="did you mean 'three'"):
        crop_cli.explain(instance, jobs=["thre"])


def test_a_solution_of_something_else_is_refused() -> None:
    """What does not hold for the instance is not explained."""
    instance = crop_cli.load(CASES / "weights-decide.json").instance
    other = crop_cli.load(CASES / "two-threes-beat-a-five.json").instance
    with pytest.raises(ViolationError, match="does not hold"):
        crop_cli.explain(instance, crop_cli.solve(other, solver="greedy"))


def test_places_are_those_of_the_evaluator() -> None:
    """Efficiency and utility of a placed job are what the evaluator says."""
    instance = random_instance(9005)
    solution = crop_cli.solve(instance, solver="greedy")
    evaluation = evaluate(instance, _held(solution))
    for row in _explained(instance, solution, *_held(solution)).jobs:
        assert row.place is not None
        assert row.place.utility == pytest.approx(evaluation.jobs[row.job].utility)
        assert row.place.efficiency == pytest.approx(evaluation.jobs[row.job].efficiency)
