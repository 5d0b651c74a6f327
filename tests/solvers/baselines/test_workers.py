"""Gangs placed worker by worker, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.problem import compile_problem
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.queueing.workers import FloatArray, IntArray, worker_by_worker
from crop_cli.solvers.state import State
from tests.bruteforce import World, enumerate_job
from tests.solvers.baselines.racks import instance
from tests.tiny import random_instance


@pytest.mark.parametrize("seed", range(80))
def test_preferred_nodes_get_as_many_workers_as_any_placement_gives_them(seed: int) -> None:
    """With a fixed order of the nodes the counts are, in that order, the largest of all placements of the job alone."""
    drawn = random_instance(seed, running=False, max_nodes=7, max_workers=6)
    order = np.random.default_rng(seed)
    for job in drawn.jobs:
        given = instance(drawn.cluster, [job])
        problem = compile_problem(given)
        ranks = order.permutation(problem.n_nodes).astype(float)

        def score(nodes: IntArray, held: IntArray, ranks: FloatArray = ranks) -> FloatArray:
            return ranks[nodes]

        found = worker_by_worker(View(problem, State.empty(problem), {}, order, {}), 0, score)
        world = World(given)
        for vertex in world.uplink_free:
            world.uplink_free[vertex] = float("inf")
        by_preference = [problem.node_names[n] for n in np.argsort(-ranks)]
        every = [[place.get(n, 0) for n in by_preference] for place in enumerate_job(world, job)]
        named = {problem.node_names[n]: x for n, x in (found or {}).items()}
        assert [named.get(n, 0) for n in by_preference] == max(every, default=[0] * len(by_preference))
