"""`--set effort=quick`: each job once, at its best place in what is left, those of the highest value per GPU first.

One construction of the greedy, without arrangements, improvement or a guarantee: for simulations, which place few jobs
many thousand times. A job that reaches its ceiling inside one node goes to the tightest such node; for all others the
oracle is asked. While capacity only shrinks, a best place that is still free is still best.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem, reserved_gbps
from crop_cli.solvers.contract import Answer, Budget
from crop_cli.solvers.oracle import Best, best_placement
from crop_cli.solvers.state import State

AT_CEILING = 1e-9
"""Share of w·k by which a place may miss the ceiling and still be called as good as any."""


STEPS = 4
"""Larger gangs first: places are about equally good whose utility per GPU, in so many steps of w, is the same."""


def solve_quickly(problem: Problem, budget: Budget, *, larger_first: bool = False) -> Answer:
    """One construction. Running jobs that may be moved stay; jobs that must run go first, but nobody makes room.

    Parameters
    ----------
    larger_first
        Of jobs whose places are about equally good the larger gang comes first. A job of one GPU never waits for the
        network: by density alone it comes before every gang that does, and over many rounds gangs are scattered.
    """
    state = State.of(problem, problem.current)
    jobs = [int(j) for j in problem.open_jobs if int(j) not in problem.current]
    first: dict[int, Best | None] = {}
    by_kind: dict[int, Best | None] = {}
    for job in jobs:
        kind = int(problem.kind_of[job])
        if kind not in by_kind:
            by_kind[kind] = _best(problem, job, state)
        first[job] = by_kind[kind]
    rank = _coarse_density if larger_first else _density
    order = sorted(jobs, key=lambda j: (not problem.must_place[j], -rank(problem, j, first[j])))
    placement: Placement = dict(problem.current)
    gone: set[int] = set()
    for job in order:
        if budget.should_stop:
            break
        best, kind = first[job], int(problem.kind_of[job])
        if kind in gone or best is None:
            continue
        if not _still_free(problem, job, best, state):
            best = _best(problem, job, state)
        if best is None or (best.utility <= 0 and not problem.must_place[job]):
            # The same kind finds no better place later, in less room.
            gone.add(kind)
            continue
        state.take(job, best.counts)
        placement[job] = dict(best.counts)
    missing = [j for j in jobs if problem.must_place[j] and j not in placement]
    reason = budget.stop_reason() if budget.should_stop else "completed"
    if missing:
        note = "the quick greedy found no place for a job that must run; that proves nothing"
        return Answer(None, reason, notes=(note,))
    return Answer(placement, reason)


def _best(problem: Problem, job: int, state: State) -> Best | None:
    """The best place in what is free; inside one node if that is as good as it gets."""
    kind = problem.kind(job)
    free = np.maximum(state.free, 0.0)
    if len(kind.levels) and kind.allowed[:, kind.k].all():
        holds = (kind.k * kind.demand <= free + problem.node_slack).all(axis=1)
        nodes = np.flatnonzero(holds)
        if len(nodes):
            worth = _inside_one_node(problem, job, nodes)
            ceiling = kind.weight * kind.k * float(kind.levels.efficiency[0])
            best = float(worth.max())
            if best >= ceiling - AT_CEILING * kind.weight * kind.k:
                equal = nodes[worth >= best - AT_CEILING * kind.weight * kind.k]
                tightest = int(equal[np.argmin(free[equal, 0])])
                return Best(best, best, {tightest: kind.k})
    return best_placement(problem, job, free, np.maximum(state.uplink_free, 0.0))


def _inside_one_node(problem: Problem, job: int, nodes: np.typing.NDArray[np.int64]) -> FloatArray:
    """Utility of the whole gang on each of these nodes; −inf where the type is not allowed."""
    kind = problem.kind(job)
    hardware = problem.hardware_of[nodes]
    compute = kind.compute_s[hardware]
    comm = kind.node_comm(np.full(len(nodes), kind.k), hardware) if kind.k > 1 else np.zeros(len(nodes))
    with np.errstate(invalid="ignore"):
        iteration = compute + np.maximum(0.0, comm - kind.overlap * compute)
    loss = problem.instance.objective.failure_weight * problem.failures[nodes] * kind.days_lost_per_failure
    worth: FloatArray = kind.weight * kind.k * (kind.best / iteration - loss)
    return np.where(np.isfinite(compute), worth, -np.inf)


def _density(problem: Problem, job: int, best: Best | None) -> float:
    return -np.inf if best is None else best.utility / problem.kind(job).k


def _coarse_density(problem: Problem, job: int, best: Best | None) -> float:
    """Utility per GPU in steps of a quarter of the weight; among equals, more workers are a little more."""
    if best is None:
        return -np.inf
    kind = problem.kind(job)
    # A gang has far fewer than a million workers.
    return kind.weight * (round(STEPS * best.utility / (kind.k * kind.weight)) + 1e-6 * kind.k)


def _still_free(problem: Problem, job: int, best: Best, state: State) -> bool:
    demand = problem.kind(job).demand
    for n, x in best.counts.items():
        if (x * demand > state.free[n] + problem.node_slack[n]).any():
            return False
    vertices, rates = reserved_gbps(problem, job, best.counts)
    return bool((rates <= state.uplink_free[vertices] + problem.uplink_slack[vertices]).all())
