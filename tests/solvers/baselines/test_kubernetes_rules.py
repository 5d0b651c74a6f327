"""What holds for all rules after Kubernetes schedulers, on random instances."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from crop_cli.model.problem import compile_problem, named
from crop_cli.model.sharing import evaluate_shared
from crop_cli.solvers.baselines import kai, koordinator, kueue_balanced, kueue_best_fit, kueue_least_free, volcano
from crop_cli.solvers.queueing.baseline import queue_of
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.counts import holds
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.state import State
from tests.solvers.baselines.kubernetes import solve
from tests.tiny import random_instance

RULES = [kueue_best_fit, kueue_least_free, kueue_balanced, kai, volcano, koordinator]
SEEDS = range(150)
LARGER = {"max_nodes": 9, "max_jobs": 8, "max_workers": 12}

rules = pytest.mark.parametrize("module", RULES, ids=[module.__name__.rpartition(".")[2] for module in RULES])


@rules
@pytest.mark.parametrize("bounds", [{}, LARGER], ids=["tiny", "larger"])
def test_placements_keep_every_constraint(module: ModuleType, bounds: dict[str, int]) -> None:
    """Nothing is violated but that a required job may wait, and running jobs stay where they are."""
    for seed in SEEDS:
        instance = random_instance(seed, **bounds)
        problem = compile_problem(instance)
        placement = solve(module.place, instance)
        shared = evaluate_shared(instance, named(problem, placement))
        assert {violation.kind for violation in shared.evaluation.violations} <= {"required job missing"}, seed
        assert {job: placement[job] for job in problem.current} == problem.current, seed


@rules
@pytest.mark.parametrize("bounds", [{}, LARGER], ids=["tiny", "larger"])
def test_a_job_is_placed_exactly_when_it_fits(module: ModuleType, bounds: dict[str, int]) -> None:
    """A rule lets a job wait only where no place keeps the job's constraints, and never says otherwise."""
    for seed in SEEDS:
        problem = compile_problem(random_instance(seed, **bounds))
        view = View(problem, State.empty(problem), dict(problem.pinned), np.random.default_rng(0), {})
        for job, counts in problem.current.items():
            view.take(job, counts)
        for job in queue_of(problem, "queue"):
            fits = holds(view.sets(job), 0, problem.kind(job).k)
            counts = module.place.rule(job, view)
            assert (counts is not None) == fits, (seed, job)
            if counts is not None:
                view.take(job, counts)


def test_capacities_are_the_attainable_counts() -> None:
    """A vertex of a level can hold the multiples of the level's unit up to its room, and no other count."""
    for seed in SEEDS:
        problem = compile_problem(random_instance(seed, **LARGER))
        tree = problem.tree
        view = View(problem, State.empty(problem), {}, np.random.default_rng(0), {})
        for job in queue_of(problem, "queue"):
            capacity, sets, data = Capacity.of(view, job), view.sets(job), problem.instance.jobs[job]
            if not capacity.fits:
                continue
            for v in range(int(tree.start[max(1, capacity.within)]), tree.n_vertices):
                depth = int(tree.depth[v])
                room = min(data.gpus, int(capacity.room[v]))
                expected = set(range(0, room + 1, capacity.unit[depth]))
                if depth == capacity.within or (data.gpus_per_node is not None and depth == tree.max_depth):
                    expected = {0, room}
                # The sets of domains below the level of a spread constraint do not know of it.
                inside = data.spread is not None and depth > tree.depth_of(data.spread.level)
                most = data.spread.max_gpus if data.spread is not None and inside else data.gpus
                assert {x for x in range(most + 1) if holds(sets, v, x)} == expected, (seed, job, v)
