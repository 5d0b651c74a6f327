"""The factor that a run of the greedy guarantees, relative to what, and why (docs/guarantees.md)."""

from __future__ import annotations

import math

import numpy as np

from crop_cli.model.problem import Problem
from crop_cli.model.solution import Guarantee
from crop_cli.solvers.greedy.lazy import PureRun
from crop_cli.solvers.greedy.outlook import Outlook


def factor(run: PureRun) -> float:
    """f(run) ≥ factor · f(any choice of one arrangement per domain).

    Interchangeable domains: 1 − Π (1 − β_t/m) with β_t = gain/bound of step t. Domains that differ: f/(f + Σ bound_t),
    which is β/(1 + β) when every step has the same β.
    """
    if run.domains.count == 0:
        return 1.0
    if run.domains.identical:
        left = 1.0
        for step in run.steps:
            left *= 1.0 - _beta(step.gain, step.bound) / run.domains.count
        return 1.0 - left
    bounds = sum(step.bound for step in run.steps)
    return 1.0 if bounds <= 0 else run.value / (run.value + bounds)


def guarantee(
    problem: Problem, outlook: Outlook, run: PureRun, fitting: dict[int, int] | None, value: float
) -> Guarantee:
    """What a complete run proves about the final placement.

    Parameters
    ----------
    run
        The greedy over one level's domains.
    fitting
        What `deepest_fit` returns: the jobs that fit at all. None: not known, then nothing is said of the optimum.
    value
        F of the final placement.
    """
    level = problem.tree.level_name(run.domains.depth)
    reason = _missing_condition(problem, run, value)
    if reason:
        return Guarantee(why=reason)
    # Rounded down, but for what rounding in a sum of doubles can take off.
    claimed = math.floor((factor(run) + 1e-9) * 1e6) / 1e6
    if claimed <= 0:
        return Guarantee(why=f"the arrangements of the {level} domains could not be certified")
    known = fitting is not None and confined(problem, outlook, run.domains.depth, fitting)
    inside = "optimum" if known else None
    return Guarantee(
        a_priori=claimed,
        relative_to=inside or f"best placement that keeps each job inside one {level}",
        why=_why(problem, run, level, claimed),
    )


def _beta(gain: float, bound: float) -> float:
    return 1.0 if bound <= 0 else min(1.0, gain / bound)


def _missing_condition(problem: Problem, run: PureRun, value: float) -> str | None:
    """Which condition of the theorems fails, if one does."""
    if not run.complete:
        done, count = len(run.steps), run.domains.count
        return f"the run was stopped after {done} of {count} domains"
    if problem.pinned_value < 0:
        return f"the jobs that stay where they are contribute {problem.pinned_value:.6g} < 0 to F"
    reached = problem.pinned_value + run.value
    if value < reached - 1e-9 * max(1.0, abs(reached)):
        return (
            f"jobs that must run cost something or displaced others, so that F = {value:.6g} is below the "
            f"{reached:.6g} to which the factor applies"
        )
    return None


def confined(problem: Problem, outlook: Outlook, depth: int, fitting: dict[int, int]) -> bool:
    """Whether every job that fits at all lies inside one domain of the depth in some optimum.

    It does if its shape forbids all else, or, for a job that may be left out, if it has no positive utility otherwise.
    """
    for job in fitting:
        outside = float(outlook.across[problem.kind_of[job], :depth].max(initial=-np.inf))
        if outside > (-np.inf if problem.must_place[job] else 0.0):
            return False
    return True


def _why(problem: Problem, run: PureRun, level: str, claimed: float) -> str:
    """One sentence with the numbers."""
    count = run.domains.count
    if count == 0:
        return f"no {level} has room for an open job that would add to F, so nothing can be gained there"
    betas = [_beta(step.gain, step.bound) for step in run.steps]
    exact = min(betas) >= 1 - 1e-6
    if run.domains.identical:
        how = "arranged optimally" if exact else f"arranged at ≥ {_floor(min(betas))} of the best"
        if count == 1:
            return f"the only {level} domain with room is {how}"
        rule = "1 − (1 − 1/m)^m" if exact else "1 − Π(1 − β_t/m)"
        return f"m = {count} interchangeable {level} domains, each {how}: greedy reaches {rule} = {claimed:g}"
    domains = f"{count} {level} domains of {len(run.domains.classes)} kinds"
    if exact:
        return f"{domains}, each arranged optimally: greedy reaches 1/2 whatever the domains are"
    beta = run.value / sum(step.bound for step in run.steps)
    return f"{domains}, arranged at ≥ β = {_floor(beta)} of their bounds: greedy reaches β/(1 + β) = {claimed:g}"


def _floor(share: float) -> str:
    return f"{math.floor(share * 1e3) / 1e3:g}"
