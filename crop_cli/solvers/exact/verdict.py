"""What a run of a back end comes to: its last word weighed against what was verified."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from crop_cli.model.solution import StopReason
from crop_cli.solvers.exact.evidence import Evidence
from crop_cli.solvers.exact.protocol import Outcome
from crop_cli.solvers.exact.sparse_model import IntArray


@dataclass(frozen=True, slots=True)
class BackendResult:
    """What a back end found out, verified.

    Attributes
    ----------
    x
        Best feasible integer point, the model's start included; None when none is known.
    cost
        cost·x, recomputed; None without x.
    bound
        Valid lower bound of the minimum cost; None when unknown. Never above `cost`.
    infeasible
        Proven: the model has no feasible point.
    stop_reason
        `proved`, `gap_limit`, `time_limit`, `interrupted` (by `should_stop`), `killed` (ended by force at the limit),
        `completed` (a limit among the raw options), or `error`.
    version
        Of the library; "" when it did not come to say so.
    seconds
        Wall-clock time of the whole run, process start included.
    log
        End of the library's output.
    forced
        Whether the process had to be ended by force.
    notes
        What was refused or went wrong, one sentence each.
    """

    x: IntArray | None
    cost: float | None
    bound: float | None
    infeasible: bool
    stop_reason: StopReason
    version: str
    seconds: float
    log: str
    forced: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run went: the child's last word, the gap it was allowed to leave, why it was asked to stop, whether it was
    ended by force, its exit code, and the end of its log."""

    outcome: Outcome | None
    allowed_gap: float = 0.0
    asked: StopReason | None = None
    forced: bool = False
    exit_code: int | None = None
    log: str = ""


def verdict(evidence: Evidence, ended: Ended, began: float) -> BackendResult:
    """The result of a run that began at `time.monotonic() = began`; completes the evidence."""
    outcome = ended.outcome
    if outcome is not None and outcome.bound is not None:
        evidence.claim(outcome.bound)
    evidence.settle()
    infeasible = outcome is not None and outcome.ending == "infeasible" and evidence.x is None
    if evidence.proved or infeasible:
        stop_reason: StopReason = "proved"
    elif outcome is None:
        stop_reason = _without_outcome(evidence, ended)
    else:
        stop_reason = _from_outcome(evidence, outcome, ended)
    return BackendResult(
        x=evidence.x,
        cost=evidence.cost,
        bound=None if infeasible else evidence.bound,
        infeasible=infeasible,
        stop_reason=stop_reason,
        version="" if outcome is None else outcome.version,
        seconds=time.monotonic() - began,
        log=ended.log,
        forced=ended.forced,
        notes=tuple(evidence.notes),
    )


def _without_outcome(evidence: Evidence, ended: Ended) -> StopReason:
    if ended.forced:
        return "interrupted" if ended.asked == "interrupted" else "killed"
    code = ended.exit_code
    if code is not None and code < 0:
        evidence.notes.append(f"The solver process was ended by {signal.Signals(-code).name}.")
    else:
        evidence.notes.append(f"The solver process ended with code {code} and no result.")
    return "error"


def _from_outcome(evidence: Evidence, outcome: Outcome, ended: Ended) -> StopReason:
    """The reason for an ending without proof; the notes say what is wrong when it is `error`."""
    match outcome.ending:
        case "optimal" if evidence.cost is not None and evidence.bound is not None:
            if evidence.cost - evidence.bound > ended.allowed_gap + evidence.tolerance:
                evidence.notes.append(
                    f"The back end stopped with a cost of {evidence.cost:.9g} and a bound of {evidence.bound:.9g}."
                )
            return "gap_limit"
        case "time_limit":
            return "time_limit"
        case "interrupted":
            return ended.asked or "interrupted"
        case "other_limit":
            return "completed"
        case "optimal":
            evidence.notes.append("The back end claims an optimum, but its point or its bound was refused.")
        case "infeasible":
            evidence.notes.append("The back end calls the model infeasible, but a verified point is known.")
        case "usage" | "error":
            evidence.notes.append(f"The back end failed: {outcome.message}.")
    return "error"
