"""The tight family: its optimum is known, and the pure greedy ends where the construction says."""

from __future__ import annotations

import math

import pytest

from crop_cli import api
from crop_cli.model.instance import Instance
from crop_cli.model.problem import compile_problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.domains import find_domains
from crop_cli.solvers.greedy.lazy import run_greedy
from crop_cli.solvers.greedy.setting import Setting
from crop_cli.sources.generate import tight
from crop_cli.sources.generate.registry import generate


def _pure_greedy(instance: Instance) -> float:
    """F of the greedy over nodes before fill and improvement."""
    problem = compile_problem(instance)
    setting = Setting.of(problem, 0.0, Budget(60), lambda event: None)
    domains = find_domains(problem, setting.outlook, setting.likeness, problem.tree.max_depth)
    return run_greedy(problem, domains, setting.in_nodes, setting.budget).value


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("family", ["tight", "tight-pieces"])
def test_the_optimum_is_proved(family: str, nodes: int) -> None:
    """An exact solver proves the optimum that is known by construction; every job runs in it."""
    made = generate(family, nodes, seed=nodes).instance
    solution = api.solve(made, solver="exact", time_limit=60, gap=0)
    assert solution.status == "optimal" and solution.objective == pytest.approx(tight.optimum(nodes), rel=1e-6)
    assert len(solution.placements) == len(made.jobs)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 11, 16, 17, 40, 64])
def test_the_pure_greedy_is_as_weak_as_predicted(nodes: int, seed: int) -> None:
    """The greedy over nodes takes the rows and fillers, and nothing else."""
    found = _pure_greedy(generate("tight", nodes, seed=seed).instance)
    assert found == pytest.approx(tight.greedy_value(nodes), rel=1e-9)


@pytest.mark.parametrize("nodes", [16, 64])
def test_pieces_leave_room_for_one_beside_a_row(nodes: int) -> None:
    """With blocks of 16 the pure greedy ends within 0.003 of 1 − (1 − 1/16)^17 of the optimum."""
    ratio = _pure_greedy(generate("tight-pieces", nodes, seed=1).instance) / tight.optimum(nodes)
    assert ratio == pytest.approx(1 - (1 - 1 / 16) ** 17, abs=0.003)


@pytest.mark.parametrize("nodes", [2, 3, 5, 8, 16])
def test_one_block_meets_the_factor_of_the_theorem(nodes: int) -> None:
    """One block is within 0.001 of 1 − (1 − 1/m)^m, which falls to 1 − 1/e."""
    ratio = tight.greedy_value(nodes) / tight.optimum(nodes)
    factor = 1 - (1 - 1 / nodes) ** nodes
    assert factor <= ratio <= factor + 1e-3 and factor > 1 - 1 / math.e


@pytest.mark.parametrize("nodes", [17, 32, 37, 64, 100, 10_000])
def test_large_clusters_stay_below_two_thirds(nodes: int) -> None:
    """Several blocks, and nodes beyond them, weaken the greedy hardly less."""
    assert tight.greedy_value(nodes) / tight.optimum(nodes) < 0.66


@pytest.mark.parametrize("nodes", [4, 5])
def test_exact_arrangements_make_the_guarantee_tight(nodes: int) -> None:
    """With exact arrangements the factor that is claimed a priori is what the pure greedy reaches, up to 0.001."""
    made = generate("tight", nodes).instance
    solution = api.solve(made, solver="greedy", time_limit=120, options={"oracle": "exact", "level": "node"})
    assert solution.guarantee is not None and solution.guarantee.a_priori is not None
    ratio = _pure_greedy(made) / tight.optimum(nodes)
    assert solution.guarantee.a_priori <= ratio <= solution.guarantee.a_priori + 1e-3


def test_jobs_ask_for_exactly_the_gpus() -> None:
    """The load is one: the optimum leaves no GPU free."""
    for family in ("tight", "tight-pieces"):
        made = generate(family, 19).instance
        assert sum(job.gpus for job in made.jobs) == sum(node.gpus for node in made.cluster.nodes)
