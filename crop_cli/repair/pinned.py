"""Repair with nobody else moved: hit jobs are placed in what is free, all other running jobs stay where they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import Problem, compile_problem, named
from crop_cli.repair.one_by_one import one_by_one
from crop_cli.repair.scene import ByName, Failure, Running, degraded, not_required, only, standing
from crop_cli.solvers.auto import run, worth_exact
from crop_cli.solvers.contract import Budget, Listener, Request
from crop_cli.solvers.registry import ENGINES, Engine
from crop_cli.solvers.run import Outcome
from crop_cli.solvers.state import State

ORACLE = "oracle"
"""Name of the way that needs no engine."""


@dataclass(frozen=True, slots=True)
class How:
    """What repairs, how, and the time for it; no engine: the oracle, one job after the other."""

    engine: Engine | None
    request: Request
    budget: Budget
    listen: Listener


@dataclass(frozen=True, slots=True)
class Pinned:
    """A repair in which nobody else moves.

    Attributes
    ----------
    placement
        Of hit jobs and of those that stay.
    objective
        F, jobs that waited before left aside.
    proved
        No other placement of the hit jobs has a higher F.
    solver
        What found it.
    """

    placement: ByName
    objective: float
    proved: bool
    solver: str


def repair_pinned(running: Running, failure: Failure, how: How) -> Pinned:
    """Place the hit jobs beside all others.

    A required job that has no place there gives way to the failure: then none of those hit is required.

    Raises
    ------
    BackendError
        If a solver failed without any answer.
    """
    hit = {job.name for job in running.hit_by(failure)}
    # What a move would cost matters not where nobody moves.
    instance = standing(only(degraded(running, failure, 0.0), set(running.held)))
    found = _solved(running, instance, hit, how)
    return found or _solved(running, not_required(instance, hit), hit, how) or _nothing(instance)


def _nothing(instance: Instance) -> Pinned:
    """Those that are not hit stay; nobody is placed."""
    placement = {job.name: dict(job.placement) for job in instance.jobs if job.placement is not None}
    return Pinned(placement, evaluate(instance, placement).objective, proved=False, solver=ORACLE)


def _solved(running: Running, instance: Instance, hit: set[str], how: How) -> Pinned | None:
    """The best placement that the oracle and the engine find; None where jobs that are required have no place."""
    problem = compile_problem(instance)
    found = _by_oracle(running, problem)
    if how.engine is None or not hit:
        return found and replace(found, proved=not hit)
    worth = sum(max(0.0, running.before.jobs[name].utility) for name in hit)
    outcome = solve_small(problem, how, worth)
    if outcome.placement is not None and outcome.evaluation is not None:
        objective, proved = outcome.evaluation.objective, outcome.status == "optimal"
        if found is None or objective > found.objective:
            found = Pinned(named(problem, outcome.placement), objective, proved, outcome.back_end or how.engine.name)
        elif proved:
            found = replace(found, proved=True)
    return found


def _by_oracle(running: Running, problem: Problem) -> Pinned | None:
    """One hit job after the other: required ones first, then by weighted goodput."""

    def rank(j: int) -> tuple[bool, float, int]:
        job: Job = problem.instance.jobs[j]
        return not job.required, -job.weight * running.before.jobs[job.name].goodput, j

    placed = one_by_one(problem, sorted(problem.open_jobs.tolist(), key=rank), State.empty(problem))
    placement = named(problem, placed)
    evaluation = evaluate(problem.instance, placement)
    return Pinned(placement, evaluation.objective, proved=False, solver=ORACLE) if evaluation.feasible else None


def solve_small(problem: Problem, how: How, worth: float) -> Outcome:
    """Run the engine; `auto` leaves small problems to an exact back end at once.

    Parameters
    ----------
    problem
        The compiled instance.
    how
        With an engine.
    worth
        The part of F that is decided: the gap asked for is one of this, not of all that runs anyway.
    """
    engine = how.engine or ENGINES["auto"]
    if engine.name == "auto" and ENGINES["exact"].installed and worth_exact(problem):
        engine = ENGINES["exact"]
    whole = abs(problem.pinned_value) + worth
    gap = how.request.gap * worth / whole if whole > 0 else how.request.gap
    return run(engine, problem, replace(how.request, gap=gap), how.budget, how.listen)
