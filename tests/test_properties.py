"""What must hold of every answer, through the Python API, on random instances."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

import crop_cli
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Solution
from crop_cli.model.validate import validate
from crop_cli.solvers.exact.backends import BACKENDS
from tests.bruteforce import optimum
from tests.tiny import random_instance

SMALL = sorted((Path(__file__).parents[1] / "instances" / "small").glob("*.json"))


def close(a: float, b: float) -> bool:
    """Equal to 1e-6 relative: the tolerance of a proof."""
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))


def solved(instance: Instance, solver: str) -> Solution:
    """A solution that the check accepts in full."""
    solution = crop_cli.solve(instance, solver=solver, time_limit=60)
    report = crop_cli.check(instance, solution)
    assert not report.violations, (instance.name, report.violations)
    return solution


@pytest.mark.parametrize("block", range(10))
def test_greedy_optimum_and_bound_are_in_order(block: int) -> None:
    """On tiny instances factor·optimum ≤ greedy ≤ optimum ≤ bound, and infeasible is only said when it is so."""
    for seed in range(1000 + block * 30, 1000 + block * 30 + 30):
        instance = random_instance(seed)
        best, _ = optimum(instance)
        solution = solved(instance, "greedy")
        if solution.status == "infeasible":
            assert best is None, seed
        if best is None:
            assert solution.objective is None, seed
            continue
        dust = 1e-9 * max(1.0, abs(best))
        assert solution.bound is not None
        assert solution.bound >= best - dust, seed
        if solution.objective is None:
            continue
        assert solution.objective <= best + dust, seed
        assert solution.gap is None or solution.gap >= 0, seed
        if solution.status == "optimal":
            assert close(solution.objective, best), seed
        guarantee = solution.guarantee
        if guarantee.a_priori is not None and guarantee.relative_to == "optimum":
            assert solution.objective >= guarantee.a_priori * best - dust, seed


def shuffled(instance: Instance, seed: int) -> Instance:
    """The same instance with nodes, switches and jobs in another order."""
    rng = random.Random(seed)
    cluster = instance.cluster
    nodes, switches, jobs = list(cluster.nodes), list(cluster.switches), list(instance.jobs)
    for part in (nodes, switches, jobs):
        rng.shuffle(part)
    return msgspec.structs.replace(
        instance, cluster=msgspec.structs.replace(cluster, nodes=nodes, switches=switches), jobs=jobs
    )


@pytest.mark.parametrize("seed", range(12))
def test_order_changes_no_optimum(seed: int) -> None:
    """Nodes, switches and jobs in another order leave the proven optimum as it is."""
    instance = random_instance(2000 + seed)
    first, second = solved(instance, "exact"), solved(shuffled(instance, seed), "exact")
    assert first.status == second.status
    if first.objective is not None and second.objective is not None:
        assert close(first.objective, second.objective)


def test_more_capacity_never_lowers_the_optimum() -> None:
    """Another GPU on a node, or a free node, is never a loss."""
    compared = 0
    for seed in range(3000, 3080):
        instance = random_instance(seed, max_nodes=4, max_jobs=3)
        best, _ = optimum(instance)
        cluster = instance.cluster
        grown = [msgspec.structs.replace(node, gpus=node.gpus + 1) for node in cluster.nodes]
        wider = msgspec.structs.replace(instance, cluster=msgspec.structs.replace(cluster, nodes=grown))
        assert not validate(wider)[0]
        more, _ = optimum(wider)
        if best is not None:
            assert more is not None
            assert more >= best - 1e-9 * max(1.0, abs(best)), seed
            compared += 1
    assert compared > 40


@pytest.mark.slow
@pytest.mark.parametrize("path", SMALL[::5], ids=lambda path: path.stem)
def test_all_back_ends_agree(path: Path) -> None:
    """Every exact back end proves the same optimum of the small instances, through the check."""
    loaded = crop_cli.load(path)
    values = {name: solved(loaded.instance, name) for name in BACKENDS}
    assert {solution.status for solution in values.values()} == {"optimal"}, values
    objectives = [solution.objective for solution in values.values() if solution.objective is not None]
    assert all(close(objectives[0], value) for value in objectives), values


@pytest.mark.parametrize("solver", ["greedy", "exact"])
def test_the_same_input_gives_the_same_output(solver: str) -> None:
    """Two runs differ in nothing but their times."""
    loaded = crop_cli.load(SMALL[0])
    first, second = (
        msgspec.to_builtins(crop_cli.solve(loaded, solver=solver, time_limit=None, seed=3)) for _ in range(2)
    )
    del first["runtime_s"], second["runtime_s"]
    assert first == second
