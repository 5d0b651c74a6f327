"""A part of a problem is worth what it is worth in the whole."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import compile_problem, named, reserved_gbps, utility
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.oracle import best_placement
from crop_cli.solvers.search.part import cut_out
from crop_cli.solvers.state import State
from tests.tiny import random_instance

SIZES = {"max_nodes": 6, "max_jobs": 6, "max_levels": 3}


@pytest.mark.parametrize("block", range(4))
def test_placements_mean_the_same_in_a_part(block: int) -> None:
    """Best placements inside a part have the same utility and bandwidth in the whole, and fit there."""
    compared = 0
    for seed in range(block * 60, block * 60 + 60):
        instance = random_instance(30_000 + seed, **SIZES)
        problem = compile_problem(instance)
        rng = np.random.default_rng(seed)
        nodes = np.sort(rng.choice(problem.n_nodes, size=rng.integers(1, problem.n_nodes + 1), replace=False))
        inside = set(nodes.tolist())
        jobs = [j for j in problem.open_jobs.tolist() if inside.issuperset(problem.current.get(j, {}))]
        part = cut_out(problem, nodes, jobs, State.empty(problem))
        assert part.problem.open_jobs.tolist() == jobs
        for job in jobs:
            best = best_placement(part.problem, job, part.problem.free, part.problem.uplink_free)
            if best is None:
                continue
            whole = part.outward({job: best.counts})[job]
            assert part.inward({job: whole})[job] == best.counts
            assert utility(problem, job, whole) == pytest.approx(best.utility, abs=1e-12)
            vertices, gbps = reserved_gbps(part.problem, job, best.counts)
            held = dict(zip(part.vertices[vertices].tolist(), gbps.tolist(), strict=True))
            vertices, gbps = reserved_gbps(problem, job, whole)
            assert held == pytest.approx(dict(zip(vertices.tolist(), gbps.tolist(), strict=True)))
            judged = evaluate(instance, named(problem, {job: whole}))
            assert {v.kind for v in judged.violations} <= {"required job missing", "running job stopped"}
            compared += 1
    assert compared > 60


def test_a_part_has_what_is_left() -> None:
    """Free GPUs and bandwidth of a part are those of the state that it is cut from, at the right nodes and vertices."""
    for seed in range(80):
        problem = compile_problem(random_instance(31_000 + seed, **SIZES))
        placement = greedy(problem, Request(), Budget(), lambda _event: None).placement or {}
        state = State.of(problem, placement)
        nodes = np.arange(0, problem.n_nodes, 2)
        part = cut_out(problem, nodes, [], state)
        names = [problem.node_names[n] for n in nodes.tolist()]
        assert part.problem.node_names == names
        assert np.array_equal(part.problem.free, state.free[nodes])
        where = {name: v for v, name in enumerate(problem.tree.names)}
        for v, name in enumerate(part.problem.tree.names):
            assert part.problem.uplink_free[v] == state.uplink_free[where[name]]
            above = part.problem.tree.parent[v]
            assert v == 0 or part.problem.tree.names[above] == problem.tree.names[problem.tree.parent[where[name]]]
