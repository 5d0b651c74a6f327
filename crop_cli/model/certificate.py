"""What is known about an answer: bound, gap, ratio and status, from numbers that crop recomputed itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crop_cli.model.instance import Instance
from crop_cli.model.solution import Status

TOLERANCE = 1e-6
"""Share of max(`proof_scale`, |F|): a bound this close to F proves it optimal; one that far below F is wrong."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """F against its upper bound (model.md, section 8); unknown is None.

    Attributes
    ----------
    bound
        Least valid upper bound, never below F.
    gap
        (bound − F)/|F|; 0 when they are equal, None when F = 0 < bound or no bound is known.
    ratio
        F/bound where F ≥ 0 < bound, 1 when both are 0; None elsewhere: a quotient of negative numbers says nothing.
    status
        "optimal" exactly when bound − F is within the tolerance.
    refused
        Bounds that a verified F contradicts.
    """

    bound: float | None
    gap: float | None
    ratio: float | None
    status: Status
    refused: tuple[float, ...] = ()


def certify(objective: float, bounds: list[float | None], scale: float = 1.0) -> Certificate:
    """Judge a verified objective by every bound that is claimed for it.

    Parameters
    ----------
    objective
        F of a placement that the evaluator accepted.
    bounds
        Claimed upper bounds; None and not finite ones are unknown.
    scale
        What F is measured by where it is small: `proof_scale` of the instance.
    """
    slack = TOLERANCE * max(scale, abs(objective))
    known = [bound for bound in bounds if bound is not None and math.isfinite(bound)]
    refused = tuple(bound for bound in known if bound < objective - slack)
    valid = [max(bound, objective) for bound in known if bound >= objective - slack]
    if not valid:
        return Certificate(None, None, None, "feasible", refused)
    bound = min(valid)
    optimal = bound - objective <= slack
    return Certificate(
        bound, gap_of(objective, bound), ratio_of(objective, bound), "optimal" if optimal else "feasible", refused
    )


def proof_scale(instance: Instance) -> float:
    """The largest w·k of a job, at most 1: tolerances below 1 must not swallow jobs of tiny weight."""
    return min(1.0, max((job.weight * job.gpus for job in instance.jobs), default=1.0))


def gap_of(objective: float, bound: float) -> float | None:
    """(bound − F)/|F|, never negative; 0 when both are equal; None when F = 0 < bound."""
    if bound <= objective:
        return 0.0
    return (bound - objective) / abs(objective) if objective != 0 else None


def ratio_of(objective: float, bound: float) -> float | None:
    """F/bound, at most 1; 1 when both are 0; None when F < 0 or the bound is not positive."""
    if objective == 0 and bound == 0:
        return 1.0
    return min(1.0, objective / bound) if objective >= 0 and bound > 0 else None


def within_gap(certificate: Certificate, gap: float) -> bool:
    """Whether the answer is good enough for a request: proved, or within its gap."""
    if certificate.status == "optimal":
        return True
    return certificate.gap is not None and certificate.gap <= gap
