"""What a group of interchangeable jobs can do: the options that the linearisation gives columns to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crop_cli.model import count_sets
from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Problem, reserved_gbps, utility
from crop_cli.solvers.exact.reach import Home, Reach, reach

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Options:
    """Placements that interchangeable jobs can have.

    Attributes
    ----------
    jobs
        Open jobs of one kind, all or none of which must be placed; a movable job is alone.
    must
        Whether they must be placed.
    kind
        Their tables.
    migration_cost
        What F loses by any placement but the current one; 0 for jobs that do not run.
    reach
        Counts per vertex, and the homes of splits that are worth having.
    whole_nodes, whole_value, whole_fit
        Nodes that can hold a whole job, what it adds to F there, and how many fit at once.
    stay_value
        What a movable job adds to F where it is; None for other jobs.
    """

    jobs: tuple[int, ...]
    must: bool
    kind: Kind
    migration_cost: float
    reach: Reach
    whole_nodes: IntArray
    whole_value: FloatArray
    whole_fit: IntArray
    stay_value: float | None


def all_options(problem: Problem) -> list[Options]:
    """Options of all groups of open jobs, in the order of their first jobs.

    Left out is what adds nothing to F, unless the jobs must be placed: taking such a job away never lowers F.
    """
    members: dict[tuple[int, bool, int], list[int]] = defaultdict(list)
    for j in map(int, problem.open_jobs):
        members[int(problem.kind_of[j]), bool(problem.must_place[j]), j if j in problem.current else -1].append(j)
    reached = {number: reach(problem, problem.kinds[number]) for number, _, _ in members}
    return [_options(problem, tuple(jobs), must, reached[kind]) for (kind, must, _), jobs in members.items()]


def _options(problem: Problem, jobs: tuple[int, ...], must: bool, reached: Reach) -> Options:
    kind, first = problem.kind(jobs[0]), jobs[0]
    running = problem.current.get(first)
    moves = float(problem.migration_cost[first]) if running is not None else 0.0
    value = _whole_value(problem, kind, reached.whole) - moves
    kept = np.full(len(value), True) if must else value > 0
    nodes = reached.whole[kept]
    return Options(
        jobs=jobs,
        must=must,
        kind=kind,
        migration_cost=moves,
        reach=reached if must else replace(reached, homes=_worthwhile(problem, kind, reached.homes)),
        whole_nodes=nodes,
        whole_value=value[kept],
        whole_fit=np.minimum(len(jobs), _whole_fit(problem, kind, nodes)),
        stay_value=None if running is None else utility(problem, first, running),
    )


def _whole_value(problem: Problem, kind: Kind, nodes: IntArray) -> FloatArray:
    """Utility of the job on one node: nothing is cut (model.md, section 5)."""
    hardware = problem.hardware_of[nodes]
    compute = kind.compute_s[hardware]
    comm = kind.node_comm(np.full(len(nodes), kind.k), hardware)
    efficiency = kind.best / (compute + np.maximum(0.0, comm - kind.overlap * compute))
    loss = problem.failures[nodes] * kind.days_lost_per_failure
    value: FloatArray = kind.weight * kind.k * (efficiency - problem.instance.objective.failure_weight * loss)
    return value


def _whole_fit(problem: Problem, kind: Kind, nodes: IntArray) -> IntArray:
    needs = kind.demand > 0
    room = problem.free[nodes][:, needs] + problem.node_slack[nodes][:, needs]
    fit: IntArray = np.floor(room / (kind.k * kind.demand[needs])).min(axis=1, initial=np.inf).astype(np.int64)
    return fit


def _worthwhile(problem: Problem, kind: Kind, homes: tuple[Home, ...]) -> tuple[Home, ...]:
    """Homes and levels whose goodput exceeds the penalty of the fewest uplinks that such a split cuts."""
    penalty = problem.instance.objective.cut_penalty
    kept = []
    for home in homes:
        cost = penalty * sum(home.least)
        levels = tuple(level for level in home.levels if kind.k * float(kind.levels.efficiency[level]) > cost)
        if levels:
            kept.append(replace(home, levels=levels))
    return tuple(kept)


def limiting_uplinks(problem: Problem, groups: list[Options]) -> set[int]:
    """Uplinks that jobs could overbook together.

    A split job takes a GPU below every vertex whose uplink it cuts, so at most as many cut an uplink as there are free
    GPUs below; the largest rates count. What movable jobs reserve where they are comes on top.
    """
    gpus = problem.tree.sum_below(problem.free_gpus)
    finite = np.flatnonzero(np.isfinite(problem.uplink_free))
    rates: dict[int, list[float]] = {int(v): [] for v in finite}
    stays = np.zeros(problem.tree.n_vertices)
    for options in groups:
        for v in rates if options.reach.homes else ():
            counts = count_sets.members(options.reach.parts[v])
            if counts:
                link = options.kind.link_rate[problem.link_of[v]]
                rates[v] += [float(link[counts].max())] * len(options.jobs)
    for job, counts_now in problem.current.items():
        vertices, at = reserved_gbps(problem, job, counts_now)
        np.add.at(stays, vertices, at)
    return {
        v
        for v, found in rates.items()
        if sum(sorted(found, reverse=True)[: int(gpus[v])]) + stays[v] > problem.uplink_free[v]
    }
