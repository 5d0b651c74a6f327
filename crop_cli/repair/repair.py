"""The repair of one failure: first with nobody else moved; if a hit job waits then, with moves that raise F."""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.problem import Placement, Problem, compile_problem, named
from crop_cli.model.solution import Solution
from crop_cli.repair.certified import certified, solution_of
from crop_cli.repair.moves import by_engine, make_room
from crop_cli.repair.one_by_one import one_by_one
from crop_cli.repair.pinned import ORACLE, How, Pinned, repair_pinned
from crop_cli.repair.report import report_of
from crop_cli.repair.results import RepairReport, Way
from crop_cli.repair.scene import ByName, Failure, Running, degraded, not_required, only
from crop_cli.solvers.auto import worth_exact
from crop_cli.solvers.state import State

DEFAULT_MIGRATION_MINUTES = 10.0
"""What a move costs a job that says nothing about it."""

PINNED_SHARE, MOVES_SHARE = 0.3, 0.5
"""Most of the time left for the repair with nobody moved, and then for that with moves; the bound has the rest."""

DIGITS = 9
"""Decimals of F that decide; where they are equal fewer moves do."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """The report, the degraded instance, and the repaired placement as a solution of that."""

    report: RepairReport
    instance: Instance
    solution: Solution


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A repaired placement, waiting jobs started where there is room, with the evaluator's word on it."""

    placement: ByName
    evaluation: Evaluation
    solver: str
    way: Way

    def rank(self, required: set[str]) -> tuple[int, float, int]:
        """Required jobs placed, then F, then as few moves as possible."""
        placed, moved = len(required & self.placement.keys()), self.evaluation.metrics.jobs_moved
        return placed, round(self.evaluation.objective, DIGITS), -moved


def repair(running: Running, failure: Failure, how: How, migration_minutes: float) -> Repaired:
    """Repair the placement after a failure.

    Parameters
    ----------
    running
        Jobs where they run.
    failure
        What is down.
    how
        What repairs, and the time for all.
    migration_minutes
        What a move costs a job that says nothing about it.

    Raises
    ------
    BackendError
        If a solver failed without any answer.
    """
    hit = {job.name for job in running.hit_by(failure)}
    instance = degraded(running, failure, migration_minutes)
    first = repair_pinned(running, failure, _part(how, PINNED_SHARE))
    # A required job that was hit and waits is required no more in what is evaluated; all those that have a place are.
    best = _candidate(instance, hit, first.placement, first.solver, "pinned" if hit else "nothing")
    bounds: list[float | None] = []
    if hit - first.placement.keys():
        best, bounds = _try_moves(running, instance, hit, best, first, _part(how, MOVES_SHARE))
    final = _as_required(instance, hit, best.placement)
    problem = compile_problem(final)
    placement = _indices(problem, best.placement)
    proof = certified(problem, placement, best.evaluation, bounds, how)
    solution = solution_of(final, problem, placement, best.evaluation, proof, how, best.solver)
    report = report_of(running, failure, final, best.evaluation, solution, first, best.way, how)
    return Repaired(report, final, solution)


def _part(how: How, share: float) -> How:
    return How(how.engine, how.request, how.budget.part(share), how.listen)


def _as_required(instance: Instance, hit: set[str], placement: ByName) -> Instance:
    """The degraded instance in which hit jobs without a place are not required: else it had no solution."""
    return not_required(instance, hit - placement.keys())


def _indices(problem: Problem, placement: ByName) -> Placement:
    """Open jobs of a placement by indices."""
    node = problem.node_index
    return {
        j: {node[n]: x for n, x in placement[name].items()}
        for j, name in enumerate(problem.job_names)
        if name in placement and j not in problem.pinned
    }


def _candidate(instance: Instance, hit: set[str], placement: ByName, solver: str, way: Way) -> _Candidate:
    """Start what waited before in what is left, the most GPUs' worth first, and evaluate."""
    final = _as_required(instance, hit, placement)
    problem = compile_problem(final)
    placed = _indices(problem, placement)
    waiting = [j for j in problem.open_jobs.tolist() if j not in placed and problem.job_names[j] not in hit]
    waiting.sort(key=lambda j: (-problem.kind(j).weight * problem.kind(j).k, j))
    placed |= one_by_one(problem, waiting, State.of(problem, placed))
    everything = named(problem, placed)
    return _Candidate(everything, evaluate(final, everything), solver, way)


def _try_moves(
    running: Running, instance: Instance, hit: set[str], best: _Candidate, first: Pinned, how: How
) -> tuple[_Candidate, list[float | None]]:
    """Others may move: the best of the placements that bring in a hit job that waits, and bounds of F of the whole.

    Few moves by the oracle come first. The engine decides by F alone who moves: it is asked where it can prove its
    answer, and on larger clusters, where it would move hundreds for a gain of its own, only if a hit job waits still.
    """
    ran = only(instance, set(running.held))
    needed = {job.name for job in ran.jobs if job.required} & hit
    bounds: list[float | None] = []

    def offer(placement: ByName, solver: str, waiting: set[str]) -> None:
        nonlocal best
        candidate = _candidate(instance, hit, placement, solver, "moves")
        if candidate.evaluation.feasible and waiting & candidate.placement.keys():
            best = max(best, candidate, key=lambda each: each.rank(needed))

    for problem in map(compile_problem, [ran, not_required(ran, hit)] if needed else [ran]):
        start, bounds, small = _indices(problem, first.placement), [], worth_exact(problem)
        waiting = _hopeful(problem, hit) - first.placement.keys()
        if not waiting:
            break
        offer(named(problem, make_room(problem, start, how.budget)), ORACLE, waiting)
        if not small:
            waiting -= best.placement.keys()
        if how.engine is None or not waiting or how.budget.should_stop:
            continue
        solver, found, bound = by_engine(problem, start, how)
        bounds = [bound]
        if found is not None:
            offer(named(problem, found), solver, waiting)
    # The last problem requires the least, so that its bounds hold for all; but not where others wait beside its jobs.
    return best, bounds if len(ran.jobs) == len(instance.jobs) else []


def _hopeful(problem: Problem, hit: set[str]) -> set[str]:
    """Hit jobs that are no larger than all that is free beside the jobs that run: no move makes that more."""
    room = int(problem.free_gpus.sum()) - sum(problem.kind(j).k for j in problem.current)
    return {job.name for job in problem.instance.jobs if job.name in hit and job.gpus <= room}
