"""What columns lose against the bound at given prices."""

from __future__ import annotations

import msgspec
import numpy as np

from crop_cli.model.problem import compile_problem, utility
from crop_cli.solvers.columns.column import group_jobs, make_column
from crop_cli.solvers.columns.losses import Losses
from crop_cli.solvers.dual import certified
from crop_cli.solvers.oracle import Prices, best_values
from tests.bruteforce import World, enumerate_job, optimum
from tests.tiny import random_instance


def test_whoever_takes_a_column_pays_its_loss() -> None:
    """The best placement with a job held in one column is worth at most the bound at the same prices less its loss."""
    compared, ruled_out = 0, 0
    for seed in range(160):
        instance = random_instance(26_000 + seed, max_nodes=4, running=False)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        if best is None:
            continue
        rng = np.random.default_rng(seed)
        prices = Prices(
            node=rng.uniform(0, 0.15, problem.free.shape) * (rng.random(problem.free.shape) < 0.7),
            uplink=rng.uniform(0, 0.1, problem.tree.n_vertices) * np.isfinite(problem.uplink_free),
        )
        values = best_values(problem, problem.open_jobs, problem.free, problem.uplink_free, prices)
        bound = certified(problem, prices, values, problem.open_jobs)
        groups, j = group_jobs(problem), int(rng.integers(problem.n_jobs))
        job = instance.jobs[j]
        for names in list(enumerate_job(World(instance), job))[:8]:
            counts = {problem.node_index[n]: x for n, x in names.items()}
            column = make_column(problem, groups, int(groups.of_job[j]), utility(problem, j, counts), counts)
            (loss,) = Losses(problem, groups, prices).of([column])
            assert loss >= -1e-9
            jobs = list(instance.jobs)
            jobs[j] = msgspec.structs.replace(job, placement=names, movable=False)
            held, _ = optimum(msgspec.structs.replace(instance, jobs=jobs))
            if held is None:
                continue
            compared += 1
            ruled_out += loss > bound - best
            assert held <= bound - loss + 1e-9 * max(1.0, abs(bound)), (seed, names)
    assert compared > 150
    assert ruled_out > 10


def test_what_is_kept_loses_no_more_than_allowed() -> None:
    """`within` keeps, in their order, exactly the columns whose loss is at most the limit; infinity keeps all."""
    apart = 0
    for seed in range(30):
        instance = random_instance(27_000 + seed, max_nodes=4)
        problem = compile_problem(instance)
        groups = group_jobs(problem)
        columns = []
        for g, j in enumerate(groups.first.tolist()):
            for names in enumerate_job(World(instance), instance.jobs[j]):
                counts = {problem.node_index[n]: x for n, x in names.items()}
                columns.append(make_column(problem, groups, g, utility(problem, j, counts), counts))
        if not columns:
            continue
        zero = Prices(np.zeros_like(problem.free), np.zeros(problem.tree.n_vertices))
        losses = Losses(problem, groups, zero)
        best = {g: max(c.utility for c in columns if c.group == g) for g in {c.group for c in columns}}
        assert losses.within(columns, np.inf) == columns
        # Without prices a loss is the distance to the group's largest utility; not at rounding distance from the limit.
        kept = losses.within(columns, 0.0501)
        assert kept == [c for c in columns if best[c.group] - c.utility <= 0.0501]
        apart += 0 < len(kept) < len(columns)
    assert apart > 5
