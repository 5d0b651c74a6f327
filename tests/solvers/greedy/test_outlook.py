"""What kinds can reach at best, against every placement of tiny instances."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.greedy.outlook import build_outlook
from tests.bruteforce import World, enumerate_job, job_utility
from tests.tiny import random_instance


def lowest_depth(problem: Problem, nodes: list[int]) -> int:
    """Depth of the lowest vertex above some nodes."""
    vertices = {problem.tree.node_vertex + n for n in nodes}
    while len(vertices) > 1:
        vertices = {int(problem.tree.parent[v]) for v in vertices}
    return int(problem.tree.depth[vertices.pop()])


@pytest.mark.parametrize("bounds", [{}, {"max_levels": 4, "max_nodes": 5}], ids=["plain", "deep"])
def test_utilities_in_one_node_are_exact_and_bound_those_across(bounds: dict[str, int]) -> None:
    """No placement beats its kind's table: inside a node they agree, across nodes the table is an upper bound."""
    alone = across = 0
    for seed in range(150):
        instance = random_instance(seed, **bounds)
        problem, world = compile_problem(instance), World(instance)
        outlook = build_outlook(problem)
        for j in problem.open_jobs.tolist():
            kind, job = int(problem.kind_of[j]), instance.jobs[j]
            moved = float(problem.migration_cost[j]) if j in problem.current else 0.0
            for counts in enumerate_job(world, job):
                value = job_utility(world, job, counts)
                nodes = [problem.node_index[name] for name in counts]
                if {problem.node_index[name]: x for name, x in counts.items()} != problem.current.get(j):
                    value += moved
                hardware = problem.hardware_of[nodes]
                if len(nodes) == 1:
                    failures = outlook.failure_cost[kind] * problem.failures[nodes[0]]
                    assert outlook.alone[kind, hardware[0]] - failures == pytest.approx(value, abs=1e-9)
                    alone += 1
                else:
                    depth = lowest_depth(problem, nodes)
                    slowest = float(outlook.compute[kind, hardware].max())
                    assert outlook.across[kind, depth] >= value - 1e-9
                    assert outlook.across_nodes(kind, depth, slowest) >= value - 1e-9
                    across += 1
    assert alone > 300 and across > 300


def test_room_is_never_denied() -> None:
    """A kind that has a placement among some nodes has room there, and no node holds more workers than its cap."""
    for seed in range(80):
        instance = random_instance(seed)
        problem, world = compile_problem(instance), World(instance)
        outlook, every = build_outlook(problem), slice(0, problem.n_nodes)
        _, caps = outlook.room(problem, problem.free, every)
        room = outlook.has_room(problem, problem.free, every)
        for j in problem.open_jobs.tolist():
            for counts in enumerate_job(world, instance.jobs[j]):
                kind = int(problem.kind_of[j])
                assert room[kind]
                assert all(x <= caps[kind, problem.node_index[name]] for name, x in counts.items())


def test_a_kind_that_cannot_be_split_has_no_utility_across_nodes() -> None:
    """Jobs of one GPU, and jobs whose node count must be all of them, have −inf across nodes."""
    for seed in range(60):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        outlook = build_outlook(problem)
        for j in problem.open_jobs.tolist():
            job = instance.jobs[j]
            if job.gpus in (1, job.gpus_per_node):
                assert np.isneginf(outlook.across[problem.kind_of[j]]).all()
