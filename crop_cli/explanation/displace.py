"""What it costs the others to have a job placed: the instance solved again with the job required.

Two ways are tried, and the best placement counts: the placement that is explained is repaired around the job, and a
solver starts from nothing. All are passed by the evaluator on the original instance.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from crop_cli.explanation.answers import Displaced
from crop_cli.explanation.scene import Scene
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.problem import Counts, Placement, Problem, compile_problem, named, reserved_gbps, utility
from crop_cli.reasons.unplaced import NOTHING
from crop_cli.solvers.auto import run
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.oracle import Prices, best_placement, best_placements, fits
from crop_cli.solvers.registry import Engine
from crop_cli.solvers.state import State


@dataclass(frozen=True, slots=True)
class How:
    """What solves again, how, the time for it, and the bound's prices: what a place costs others, if they are known."""

    engine: Engine
    request: Request
    budget: Budget
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class Forced:
    """The best placement found with the job in it; or why there is none."""

    displaced: Displaced | None
    note: str


def force(scene: Scene, job: int, at: Counts | None, how: How) -> Forced:
    """Solve again with a job required.

    Parameters
    ----------
    scene
        The placement that is explained.
    job
        A job that waits, or that could be placed better.
    at
        The very place it has to have; None: any.
    how
        What solves, how, and how long.
    """
    problem = compile_problem(_requiring(scene, job, at))
    found: list[tuple[float, str, Placement]] = []
    for target in [at] if at is not None else _targets(problem, scene, job, how.prices):
        repaired = repair(scene, job, target, how.budget)
        if repaired is not None:
            _offer(scene, found, "repair", repaired)
    note = "no placement with the job in it was found in the time"
    if not how.budget.should_stop:
        outcome = run(how.engine, problem, how.request, how.budget, lambda _event: None)
        if outcome.placement is not None:
            answer = outcome.placement if at is None else {**outcome.placement, job: at}
            _offer(scene, found, how.engine.name, answer)
        elif outcome.status == "infeasible":
            note = "no placement has the job in it, whatever other job gives way (proved)"
    if not found:
        return Forced(None, note)
    objective, finder, placement = max(found, key=lambda each: each[0])
    before, names = scene.placement, scene.problem.job_names
    return Forced(
        Displaced(
            place=scene.place(job, placement[job]),
            objective_change=objective - (scene.objective or 0.0),
            lost=[names[j] for j in sorted(before) if j not in placement],
            gained=[names[j] for j in sorted(placement) if j not in before and j != job],
            moved=[
                names[j]
                for j in sorted(placement)
                if j != job and j in scene.problem.current and placement[j] != before.get(j)
            ],
            found_by=finder,
        ),
        "",
    )


def _requiring(scene: Scene, job: int, at: Counts | None) -> Instance:
    """The instance in which the job has to be placed, or runs where it is to be."""
    wanted = scene.instance.jobs[job]
    if at is None:
        wanted = msgspec.structs.replace(wanted, required=True)
    else:
        nodes = {scene.problem.node_names[n]: x for n, x in at.items()}
        wanted = msgspec.structs.replace(wanted, placement=nodes, movable=False)
    jobs = [wanted if j == job else each for j, each in enumerate(scene.instance.jobs)]
    return msgspec.structs.replace(scene.instance, jobs=jobs)


def _offer(scene: Scene, found: list[tuple[float, str, Placement]], finder: str, placement: Placement) -> None:
    """Keep a placement that the evaluator accepts."""
    evaluation = evaluate(scene.instance, named(scene.problem, placement))
    if evaluation.feasible:
        found.append((evaluation.objective, finder, placement))


def _targets(problem: Problem, scene: Scene, job: int, prices: Prices | None) -> list[Counts]:
    """The job's best places, beside the jobs that must run, where a GPU costs what its node's jobs lose, or the price.

    `problem` is that in which the job is required.
    """
    original = scene.problem
    others = {j: counts for j, counts in scene.placement.items() if j != job}
    staying = {j: counts for j, counts in others.items() if original.must_place[j]}
    room = State.of(original, staying)
    loss = np.zeros_like(original.free)
    for j, counts in others.items():
        if j not in staying:
            per_gpu = max(0.0, utility(original, j, counts)) / original.kind(j).k
            for n, x in counts.items():
                loss[n, 0] += per_gpu * x
    loss[:, 0] /= np.maximum(1, original.free_gpus)
    found: list[Counts] = []
    for at in (Prices(loss, np.zeros(original.tree.n_vertices)), prices):
        if at is not None:
            best = best_placement(problem, job, np.maximum(room.free, 0.0), np.maximum(room.uplink_free, 0.0), at)
            if best is not None and best.counts not in found:
                found.append(best.counts)
    return found


def repair(scene: Scene, job: int, target: Counts, budget: Budget) -> Placement | None:
    """The placement explained with the job at its target, and as few others gone for it as seems to cost least.

    Jobs in its way leave, those that lose least first; those that need not have left return, and what waits is placed
    where there is room. None where the jobs that may leave are not enough.
    """
    problem = scene.problem
    placement = {j: counts for j, counts in scene.placement.items() if j != job}
    state = State.of(problem, placement)
    gone = _evict(problem, placement, state, job, target)
    if gone is None:
        return None
    state.take(job, target)
    placement[job] = target
    for other, counts in sorted(gone.items(), key=lambda each: -utility(problem, *each)):
        if fits(problem, problem.kind(other), counts, state.free, state.uplink_free):
            state.take(other, counts)
            placement[other] = counts
    _refill(problem, placement, state, budget)
    return placement


def _evict(problem: Problem, placement: Placement, state: State, job: int, target: Counts) -> Placement | None:
    """Take jobs out until the job fits at its target; None where those that may leave are not enough."""
    gone: Placement = {}
    kind = problem.kind(job)
    while not fits(problem, kind, target, state.free, state.uplink_free):
        in_the_way = [
            j for j in placement if not problem.must_place[j] and _frees(problem, state, placement[j], j, job, target)
        ]
        if not in_the_way:
            return None
        first = min(in_the_way, key=lambda j: (utility(problem, j, placement[j]), j))
        gone[first] = placement.pop(first)
        state.release(first, gone[first])
    return gone


def _frees(problem: Problem, state: State, counts: Counts, other: int, job: int, target: Counts) -> bool:
    """Whether a job holds something that the target lacks."""
    demand = problem.kind(job).demand
    for n in counts.keys() & target.keys():
        if (target[n] * demand > state.free[n] + problem.node_slack[n]).any():
            return True
    vertices, rates = reserved_gbps(problem, job, target)
    short = vertices[rates > np.maximum(state.uplink_free[vertices] + problem.uplink_slack[vertices], 0.0)]
    mine, gbps = reserved_gbps(problem, other, counts)
    return bool(np.isin(mine[gbps > 0], short).any())


def _refill(problem: Problem, placement: Placement, state: State, budget: Budget) -> None:
    """Place waiting jobs in what is left, the most valuable first, each at its best place."""
    waiting = [j for j in problem.open_jobs.tolist() if j not in placement]
    first = best_placements(problem, np.array(waiting, dtype=np.int64), state.free, state.uplink_free)
    hopeful = [(best.utility, j) for j, best in zip(waiting, first, strict=True) if best is not None]
    for value, j in sorted(hopeful, key=lambda each: (-each[0], each[1])):
        if budget.should_stop or value <= NOTHING:
            return
        best = best_placement(problem, j, state.free, state.uplink_free)
        if best is not None and best.utility > NOTHING:
            placement[j] = best.counts
            state.take(j, best.counts)
