"""Every baseline, whatever it is, on tiny instances that use every feature of the model."""

from __future__ import annotations

import importlib

import pytest

from crop_cli.model.problem import Problem, compile_problem, named
from crop_cli.model.sharing import evaluate_shared
from crop_cli.solvers.contract import Answer, Budget, Request
from crop_cli.solvers.queueing.baseline import Baseline
from crop_cli.solvers.registry import baselines
from tests.tiny import random_instance

SEEDS = 25
FEW = {"pop": 3, "contiguous": 12}
"""Rules that call a solver library for every instance."""

OPTIONS = {"anneal": {"steps": "200"}}
"""What keeps a rule quick."""

NAMES = sorted(baselines())
CASES = [(name, seed) for name in NAMES for seed in range(FEW.get(name, SEEDS))]


def _answer(name: str, problem: Problem, seed: int) -> Answer:
    request = Request(seed=seed, options=OPTIONS.get(name, {}))
    return baselines()[name].load()(problem, request, Budget(20.0), lambda _: None)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_placements_are_feasible_but_for_uplinks(name: str, seed: int) -> None:
    """The evaluator finds nothing wrong but overbooked uplinks and required jobs that wait; running jobs stay."""
    instance = random_instance(seed, max_nodes=8, max_jobs=8)
    problem = compile_problem(instance)
    answer = _answer(name, problem, seed)
    assert answer.placement is not None
    placement = named(problem, answer.placement)
    for job in instance.jobs:
        if job.placement is not None:
            assert placement[job.name] == {node: x for node, x in job.placement.items() if x}
    violations = evaluate_shared(instance, placement).evaluation.violations
    assert [v.message for v in violations if v.kind != "required job missing"] == []


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_placements(name: str) -> None:
    """A rule is a function of the instance and the seed."""
    for seed in range(FEW.get(name, 10)):
        problem = compile_problem(random_instance(seed, max_jobs=6))
        assert _answer(name, problem, seed).placement == _answer(name, problem, seed).placement


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_says_what_it_is_and_where_it_is_from(name: str) -> None:
    """The first docstring line is a summary of at most 100 characters, and the source is named."""
    engine = baselines()[name]
    assert 0 < len(engine.summary) <= 100
    module, _, function = engine.target.partition(":")
    rule = getattr(importlib.import_module(module), function)
    assert isinstance(rule, Baseline)
    assert rule.source
