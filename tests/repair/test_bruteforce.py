"""Repairs of tiny random instances against full enumeration."""

from __future__ import annotations

import pytest

from crop_cli.api import solve
from crop_cli.model.dump import dump_instance
from crop_cli.model.io import read_instance
from crop_cli.repair.pinned import repair_pinned
from crop_cli.repair.scene import Failure, Running, degraded, not_required, only, running, standing
from crop_cli.verify import verify
from tests.bruteforce import optimum
from tests.repair.build import how, repaired
from tests.tiny import random_instance


def worst(seed: int) -> tuple[Running, Failure] | None:
    """A placement of a tiny instance, and the failure of the node that most of its jobs use."""
    instance = random_instance(seed, max_nodes=4, max_workers=4)
    solution = solve(instance, solver="greedy")
    if not solution.placements:
        return None
    found = running(instance, solution)
    nodes = [node.name for node in instance.cluster.nodes]
    name = max(nodes, key=lambda node: sum(node in held for held in found.held.values()))
    return found, Failure((name,), frozenset({name}))


@pytest.mark.parametrize("seed", range(40, 52))
def test_the_repair_with_nobody_moved_is_optimal_when_exact(seed: int) -> None:
    """An exact back end finds the enumerated optimum of the hit jobs beside all others, and says that it is proved."""
    drawn = worst(seed)
    if drawn is None:
        return
    scene, failure = drawn
    found = repair_pinned(scene, failure, how("exact"))
    instance = standing(only(degraded(scene, failure, 0), set(scene.held)))
    best, _ = optimum(instance)
    if best is None:
        best, _ = optimum(not_required(instance, {job.name for job in scene.hit_by(failure)}))
    assert best is not None
    assert found.objective == pytest.approx(best, abs=1e-6)
    assert found.proved


@pytest.mark.parametrize("solver", [None, "auto"], ids=["oracle", "auto"])
@pytest.mark.parametrize("seed", range(40, 60))
def test_no_repair_is_above_the_bound_and_no_bound_below_the_optimum(seed: int, solver: str | None) -> None:
    """F repaired ≤ the enumerated optimum of the written instance ≤ the bound; the pair of files passes the check."""
    drawn = worst(seed)
    if drawn is None:
        return
    scene, failure = drawn
    found = repaired(scene, *failure.names, solver=solver)
    best, _ = optimum(found.instance)
    report = found.report
    assert best is not None and report.bound is not None
    assert report.objective_after <= best + 1e-6
    assert best <= report.bound + 1e-6
    assert report.objective_after >= report.objective_idle - 1e-6 or any(job.required for job in scene.instance.jobs)
    loaded = read_instance(dump_instance(found.instance), "degraded.json")
    assert verify(loaded.instance, found.solution, loaded.sha256).violations == []
