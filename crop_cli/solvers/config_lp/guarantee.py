"""The factor that rounding the configuration LP guarantees, relative to what, and why (docs/guarantees.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crop_cli.model.problem import Problem
from crop_cli.model.solution import Guarantee
from crop_cli.solvers.config_lp.configuration import Classes


@dataclass(frozen=True, slots=True)
class Evidence:
    """Numbers of one run.

    Attributes
    ----------
    relaxed
        Value of the feasible point of the configuration LP that was rounded.
    upper
        Proven upper bound of the configuration LP; None if there was no time for it.
    """

    relaxed: float
    upper: float | None


def factor(domains: int, evidence: Evidence) -> float:
    """(1 − (1 − 1/m)^m)·β with β = relaxed/upper: what rounding reaches of `upper` at least; 0 if nothing is proved."""
    if evidence.upper is None:
        return 0.0
    if domains == 0 or evidence.upper <= 0:
        return 1.0
    return (1.0 - (1.0 - 1.0 / domains) ** domains) * min(1.0, max(0.0, evidence.relaxed / evidence.upper))


def guarantee(problem: Problem, classes: Classes, evidence: Evidence, confined: bool, value: float) -> Guarantee:
    """What a run proves about the final placement.

    Parameters
    ----------
    confined
        Whether some optimum keeps every job inside one domain.
    value
        F of the final placement.
    """
    level = problem.tree.level_name(classes.depth)
    # Rounded down, but for what rounding in a sum of doubles can take off.
    claimed = math.floor((factor(classes.count, evidence) + 1e-9) * 1e6) / 1e6
    reason = _missing_condition(problem, evidence, claimed, value)
    if reason:
        return Guarantee(why=reason)
    return Guarantee(
        a_priori=claimed,
        relative_to="optimum" if confined else f"best placement that keeps each job inside one {level}",
        why=_why(classes, evidence, level, claimed),
    )


def _missing_condition(problem: Problem, evidence: Evidence, claimed: float, value: float) -> str | None:
    """Which condition of the theorem fails, if one does."""
    if evidence.upper is None:
        return "the run was stopped before the configuration LP had a proven bound"
    if claimed <= 0:
        return "the run was stopped before the configuration LP had a point to round"
    if problem.pinned_value < 0:
        return f"the jobs that stay where they are contribute {problem.pinned_value:.6g} < 0 to F"
    # Rounding reached this (a theorem); what came after it keeps it, unless jobs that must run got in the way.
    reached = problem.pinned_value + claimed * evidence.upper
    if value < reached - 1e-9 * max(1.0, abs(reached)):
        return (
            f"jobs that must run cost something or displaced others, so that F = {value:.6g} is below the "
            f"{reached:.6g} to which the factor applies"
        )
    return None


def _why(classes: Classes, evidence: Evidence, level: str, claimed: float) -> str:
    """One sentence with the numbers."""
    upper = evidence.upper or 0.0
    if classes.count == 0 or upper <= 0:
        return f"no {level} has room for an open job that would add to F, so nothing can be gained there"
    beta = evidence.relaxed / upper
    solved = "to optimality" if beta >= 1 - 1e-6 else f"to β = {math.floor(beta * 1e4) / 1e4:g} of its bound"
    if classes.count == 1:
        return f"the only {level} domain with room: its configuration LP is solved {solved}"
    rule = "1 − (1 − 1/m)^m" if beta >= 1 - 1e-6 else "(1 − (1 − 1/m)^m)·β"
    return (
        f"m = {classes.count} {level} domains of {len(classes.members)} kinds, their configuration LP solved {solved} "
        f"({upper:.6g}): rounding reaches {rule} = {claimed:g} whatever the domains are"
    )
