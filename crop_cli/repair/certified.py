"""How good a repair is: a bound of the degraded instance in which every job may move, and the solution file of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import msgspec

from crop_cli._version import __version__
from crop_cli.explanation.prices import price_report
from crop_cli.model.certificate import Certificate, certify, proof_scale, within_gap
from crop_cli.model.dump import dump_instance
from crop_cli.model.evaluate import Evaluation, placed_jobs
from crop_cli.model.instance import Instance
from crop_cli.model.problem import Placement, Problem, compile_problem
from crop_cli.model.solution import (
    Guarantee,
    InstanceRef,
    Runtime,
    Solution,
    SolutionPrices,
    SolverInfo,
    StopReason,
    UnplacedJob,
)
from crop_cli.reasons.unplaced import unplaced_reasons
from crop_cli.repair.pinned import How
from crop_cli.solvers.auto import run, worth_exact
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.registry import ENGINES


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of a placement, the prices that prove its bound, and the seconds that it took."""

    certificate: Certificate
    prices: SolutionPrices | None
    seconds: float


def certified(
    problem: Problem, placement: Placement, evaluation: Evaluation, bounds: list[float | None], how: How
) -> Proof:
    """Hold a placement against an upper bound of F over all placements of the instance.

    Parameters
    ----------
    problem
        The degraded instance: running jobs may move at their cost, those that are pinned excepted; all others may wait.
    placement, evaluation
        The repair: open jobs by indices, and the evaluator's word on it.
    bounds
        Upper bounds that are known already.
    how
        The gap that is small enough, and the time. With an engine, small problems are left to an exact back end.
    """
    since, budget, gap = how.budget.elapsed, how.budget, how.request.gap
    scale, small = proof_scale(problem.instance), worth_exact(problem)
    relaxed = problem if small else compile_problem(free_to_move(problem.instance))
    found = upper_bound(relaxed, budget, target=evaluation.objective, gap=gap, start=placement)
    known = [*bounds, None if found.infeasible else found.value]
    prices = None
    if found.prices is not None and not budget.interrupted:
        prices = price_report(problem, found.prices, placement, evaluation.objective, budget)
        known.append(None if prices is None else prices.certified_bound)
    certificate = certify(evaluation.objective, known, scale)
    exact = ENGINES["exact"]
    wanted = how.engine is not None and not within_gap(certificate, gap) and not budget.should_stop
    if wanted and small and exact.installed:
        outcome = run(exact, problem, replace(how.request, options={}), budget, how.listen)
        certificate = certify(evaluation.objective, [*known, outcome.bound], scale)
    return Proof(certificate, prices, budget.elapsed - since)


def free_to_move(instance: Instance) -> Instance:
    """A relaxation in which moves cost nothing and movable jobs may wait: jobs with the same data are priced at once.

    No placement has a lower F in it, so that its bounds hold for the instance; its prices certify a bound there, too.
    """
    jobs = [
        msgspec.structs.replace(job, placement=None, movable=False, required=False) if job.movable else job
        for job in instance.jobs
    ]
    return msgspec.structs.replace(instance, jobs=jobs)


def solution_of(
    instance: Instance,
    problem: Problem,
    placement: Placement,
    evaluation: Evaluation,
    proof: Proof,
    how: How,
    solver: str,
) -> Solution:
    """The repair as a solution of the degraded instance, whose file is what `dump_instance` makes of it."""
    certificate = proof.certificate
    reasons = unplaced_reasons(problem, placement, proved=certificate.status == "optimal")
    total = how.budget.elapsed
    return Solution(
        format="crop-solution/1",
        instance=InstanceRef(name=instance.name, sha256=hashlib.sha256(dump_instance(instance)).hexdigest()),
        crop_version=__version__,
        solver=SolverInfo(
            name="repair",
            back_end=solver,
            options={"gap": how.request.gap, "threads": how.request.threads},
            seed=how.request.seed,
        ),
        status=certificate.status,
        stop_reason=_stop_reason(certificate, how),
        objective=evaluation.objective,
        bound=certificate.bound,
        gap=certificate.gap,
        ratio=certificate.ratio,
        guarantee=Guarantee(why="a repair states none: it moves as little as it can"),
        metrics=evaluation.metrics,
        runtime_s=Runtime(solve=max(0.0, total - proof.seconds), bound=proof.seconds, total=total),
        placements=placed_jobs(evaluation),
        unplaced=[UnplacedJob(job=problem.job_names[j], reason=reason) for j, reason in reasons.items()],
        prices=proof.prices,
    )


def _stop_reason(certificate: Certificate, how: How) -> StopReason:
    if certificate.status == "optimal":
        return "proved"
    if how.budget.interrupted:
        return "interrupted"
    if within_gap(certificate, how.request.gap):
        return "gap_limit"
    return "time_limit" if how.budget.expired else "completed"
