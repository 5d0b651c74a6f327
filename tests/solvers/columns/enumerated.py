"""The whole placement LP of a tiny instance: every placement of every job is a column, nothing is aggregated."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from crop_cli.model.instance import Instance, Job
from tests.bruteforce import World, demand, enumerate_job, job_utility, must_place, rates

SLACK = 1e-6
"""Capacities are those of the evaluator."""


def placement_lp(instance: Instance) -> float | None:
    """Optimum of the LP, pinned jobs included; None if it is infeasible."""
    world = World(instance)
    pinned = [job for job in instance.jobs if job.placement is not None and not job.movable]
    open_jobs = [job for job in instance.jobs if job not in pinned]
    base = sum(job_utility(world, job, {n: x for n, x in (job.placement or {}).items() if x > 0}) for job in pinned)
    row, limit = _capacities(world)
    owner, cost, columns = [], [], []
    for j, job in enumerate(open_jobs):
        for counts in enumerate_job(world, job):
            owner.append(j)
            cost.append(-job_utility(world, job, counts))
            columns.append(_loads(world, job, counts, row))
    must = np.array([must_place(job) for job in open_jobs], dtype=bool)
    if set(np.flatnonzero(must).tolist()) - set(owner):
        return None
    if not columns:
        return base
    of_job = np.array([[float(o == j) for o in owner] for j in range(len(open_jobs))])
    found = linprog(
        cost,
        A_ub=np.vstack([np.array(columns).T, of_job[~must]]),
        b_ub=np.concatenate([limit, np.ones(int((~must).sum()))]),
        A_eq=of_job[must] if must.any() else None,
        b_eq=np.ones(int(must.sum())) if must.any() else None,
        method="highs",
    )
    if found.status == 2:
        return None
    assert found.status == 0, found.message
    return base - float(found.fun)


def _capacities(world: World) -> tuple[dict[object, int], list[float]]:
    """Row of every resource of every node and of every limited uplink, and what it offers."""
    row: dict[object, int] = {}
    limit: list[float] = []
    for name, free in world.free.items():
        for resource, amount in free.items():
            row[name, resource] = len(limit)
            limit.append(amount + (0.0 if resource == "gpus" else SLACK * max(1.0, world.capacity[name][resource])))
    for vertex, gbps in world.uplink_free.items():
        if np.isfinite(gbps):
            row[vertex] = len(limit)
            limit.append(max(0.0, gbps) + SLACK * max(1.0, world.uplink_capacity[vertex]))
    return row, limit


def _loads(world: World, job: Job, counts: dict[str, int], row: dict[object, int]) -> np.ndarray:
    column = np.zeros(len(row))
    for name, x in counts.items():
        for resource, amount in demand(job).items():
            column[row[name, resource]] += amount * x
    for vertex, rate in rates(world, job, counts).items():
        if vertex in row:
            column[row[vertex]] += rate
    return column
