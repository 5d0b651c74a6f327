"""One run of an engine: heuristic, bound, exact back end, with every placement passed by the evaluator.

A heuristic engine is followed by the closed-form bound, so that it has a gap too. An exact engine starts from the
greedy's placement and keeps the better of the two. `auto` is an exact engine that stops after the bound when the gap is
small enough already, or when the instance is too large for a back end to be worth the wait (`worth_exact`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.certificate import Certificate, certify, proof_scale, within_gap
from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.problem import Placement, Problem, named
from crop_cli.model.solution import Guarantee, Status, StopReason
from crop_cli.solvers.contract import Answer, Budget, Event, Listener, Request
from crop_cli.solvers.registry import ENGINES, Engine

if TYPE_CHECKING:
    from crop_cli.solvers.columns.bound import ColumnBound
    from crop_cli.solvers.oracle import Prices

GREEDY_OPTIONS = frozenset({"level", "oracle"})
"""Keys of `--set` that belong to the greedy; an exact engine passes all others on to its back end."""

AUTO_LARGEST = 15_000
"""Largest `exact_size` for which `auto` runs an exact back end: above, none improved on the greedy within a minute."""

LONG_EFFORT = 30_000.0
"""Work of column generation (about milliseconds) where `auto` has nothing better to do with its time."""

SHARE_ALONE, SHARE_FIRST = 0.8, 0.3
"""Most of the time limit that the greedy may take: before the bound only, and before an exact back end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run ended with; `evaluation` is the evaluator's word on `placement`, and None when there is none.

    `prices` certify a bound in closed form: that of column generation, which an exact back end may have lowered since.
    """

    status: Status
    stop_reason: StopReason
    placement: Placement | None
    evaluation: Evaluation | None
    bound: float | None
    gap: float | None
    ratio: float | None
    guarantee: Guarantee
    back_end: str | None
    back_end_version: str | None
    seconds: dict[str, float]
    prices: Prices | None = None


@dataclass(slots=True)
class _Run:
    """State of one run: the best verified placement, all bounds, and what the stages said."""

    problem: Problem
    budget: Budget
    listen: Listener
    placement: Placement | None = None
    evaluation: Evaluation | None = None
    bounds: list[float | None] = field(default_factory=list)
    guarantee: Guarantee = field(default_factory=Guarantee)
    relaxation: ColumnBound | None = None
    prices: Prices | None = None
    infeasible: bool = False
    cut_short: bool = False
    refused: list[str] = field(default_factory=list)
    last: Answer | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, text: str) -> None:
        self.listen(Event("note", self.budget.elapsed, text=text))

    def phase(self, text: str) -> None:
        self.listen(Event("phase", self.budget.elapsed, text=text))

    def timed(self, phase: str, since: float) -> None:
        self.seconds[phase] = self.seconds.get(phase, 0.0) + self.budget.elapsed - since

    @property
    def least_bound(self) -> float | None:
        return min((bound for bound in self.bounds if bound is not None), default=None)

    @property
    def certificate(self) -> Certificate | None:
        return (
            None
            if self.evaluation is None
            else certify(self.evaluation.objective, self.bounds, proof_scale(self.problem.instance))
        )


def run(engine: Engine, problem: Problem, request: Request, budget: Budget, listen: Listener) -> Outcome:
    """Run an engine on a problem and certify what it found.

    Parameters
    ----------
    engine
        Of the registry.
    problem
        The compiled instance.
    request, budget, listen
        As for any solver; besides the solver's events, "note" events carry one sentence for the user.

    Raises
    ------
    UsageError
        An option that the engine does not know.
    BackendError
        A library failed, or the evaluator refused what it found, and no other verified placement is there.
    """
    engine.require()
    state = _Run(problem, budget, listen)
    if engine.role == "heuristic":
        _stage(state, engine, request, budget.part(SHARE_ALONE))
        _bound(state, request)
    else:
        own, passed = _split_options(engine, request)
        alone = engine.role == "auto" and not worth_exact(problem)
        _stage(state, ENGINES["greedy"], own, budget.part(SHARE_ALONE if alone else SHARE_FIRST))
        if not state.infeasible:
            _bound(state, request, long=alone)
        if _goes_on(state, engine, request):
            known = replace(passed, start=state.placement, bound=state.least_bound, relaxation=state.relaxation)
            _stage(state, engine, known, budget)
    return _outcome(state, request)


def exact_size(problem: Problem) -> int:
    """About a tenth of the coefficients of the exact model, without building it.

    For every open job: vertices with a node that it could use, times the square of its classes of counts with equal
    traffic (model.md, section 6): 1 for all-reduce, k − 1 for all-to-all.
    """
    tree = problem.tree
    size = 0
    members = np.bincount(problem.kind_of[problem.open_jobs], minlength=len(problem.kinds))
    for kind, count in zip(problem.kinds, members, strict=True):
        if count:
            usable = np.isfinite(kind.compute_s[problem.hardware_of]) & (problem.free_gpus > 0)
            vertices = int(np.count_nonzero(tree.sum_below(usable.astype(np.int64))[1:]))
            classes = 1 + int(np.count_nonzero(np.diff(kind.link_time[0, 1:-1])))
            size += int(count) * vertices * classes**2
    return size


def worth_exact(problem: Problem) -> bool:
    """Whether `auto` tries an exact back end: an `exact_size` of at most `AUTO_LARGEST`."""
    return exact_size(problem) <= AUTO_LARGEST


def _split_options(engine: Engine, request: Request) -> tuple[Request, Request]:
    """The greedy's options and the back end's."""
    own = {key: value for key, value in request.options.items() if key in GREEDY_OPTIONS}
    others = {key: value for key, value in request.options.items() if key not in GREEDY_OPTIONS}
    if others and engine.role == "auto":
        unknown, known = ", ".join(map(repr, others)), ", ".join(sorted(GREEDY_OPTIONS))
        raise UsageError(
            f"solver 'auto' has no option {unknown} (it knows {known}); name a back end with --solver to set its own"
        )
    return replace(request, options=own), replace(request, options=others)


def _goes_on(state: _Run, engine: Engine, request: Request) -> bool:
    """Whether the exact back end runs after greedy and bound."""
    if state.infeasible:
        return False
    if state.budget.should_stop:
        state.cut_short = True
        return False
    if engine.role in ("exact", "refining"):
        return True
    certificate = state.certificate
    if (certificate is not None and within_gap(certificate, request.gap)) or not ENGINES["exact"].installed:
        return False
    if not worth_exact(state.problem):
        state.note(
            f"no exact back end was tried: the model's size {exact_size(state.problem)} is above {AUTO_LARGEST}; "
            "--solver exact tries it all the same"
        )
        return False
    return True


def _stage(state: _Run, engine: Engine, request: Request, budget: Budget) -> None:
    """Run one solver, verify its placement, keep what is better."""
    state.phase("exact" if engine.role == "auto" else engine.name)
    since = state.budget.elapsed
    try:
        answer = engine.load()(state.problem, request, budget, state.listen)
    except BackendError as error:
        if state.evaluation is None:
            raise
        answer = Answer(None, "error", notes=(f"{engine.name} failed: {error}",))
    spent = state.budget.elapsed - since
    build = min(spent, answer.seconds.get("build", 0.0))
    state.seconds["build"] = state.seconds.get("build", 0.0) + build
    state.seconds["solve"] = state.seconds.get("solve", 0.0) + spent - build
    state.last = answer
    for note in answer.notes:
        state.note(note)
    accepted = _offer(state, engine, answer)
    if answer.placement is None or accepted:
        state.bounds.append(answer.bound)
        if answer.guarantee.a_priori is not None or not state.guarantee.why:
            state.guarantee = answer.guarantee
    if answer.infeasible:
        _claim_infeasible(state, engine.name)


def _offer(state: _Run, engine: Engine, answer: Answer) -> bool:
    """Pass an answer's placement by the evaluator; keep it if it is better. True if it was accepted."""
    if answer.placement is None:
        return False
    evaluation = evaluate(state.problem.instance, named(state.problem, answer.placement))
    if not evaluation.feasible:
        text = "; ".join(violation.message for violation in evaluation.violations[:3])
        state.refused.append(f"the evaluator refused the placement of {engine.name}: {text}")
        state.note(state.refused[-1])
        return False
    if state.evaluation is None or evaluation.objective > state.evaluation.objective:
        state.placement, state.evaluation = answer.placement, evaluation
        state.listen(Event("incumbent", state.budget.elapsed, evaluation.objective))
    return True


def _bound(state: _Run, request: Request, *, long: bool = False) -> None:
    """The closed-form dual bound of model.md section 8; column generation goes on longer if nothing comes after it."""
    from crop_cli.solvers.bounds import EFFORT, upper_bound  # noqa: PLC0415 (only runs that get here pay for it)

    state.phase("bound")
    since = state.budget.elapsed
    bound = upper_bound(
        state.problem,
        state.budget,
        target=None if state.evaluation is None else state.evaluation.objective,
        gap=request.gap,
        start=state.placement,
        effort=LONG_EFFORT if long else EFFORT,
        listen=state.listen,
    )
    state.timed("bound", since)
    if bound.infeasible:
        _claim_infeasible(state, "the bound")
        return
    state.bounds.append(bound.value)
    state.relaxation, state.prices = bound.relaxation, bound.prices
    state.listen(Event("bound", state.budget.elapsed, bound.value))


def _claim_infeasible(state: _Run, who: str) -> None:
    """A proof that no placement exists holds unless a verified one is there."""
    if state.evaluation is None:
        state.infeasible = True
    else:
        state.note(f"{who} claims that no placement exists, but one was verified: the claim is ignored")


def _outcome(state: _Run, request: Request) -> Outcome:
    last = state.last
    certificate = state.certificate
    if certificate is None and not state.infeasible and state.refused:
        raise BackendError(state.refused[-1])
    if certificate is None:
        # A bound without a placement still says how good one could be; an infeasible instance has no F to bound.
        bound = None if state.infeasible else state.least_bound
        certificate = Certificate(bound, None, None, "infeasible" if state.infeasible else "no_solution")
    for refused in certificate.refused:
        state.note(f"a claimed upper bound of {refused:.9g} is below a verified placement: it is wrong and is not used")
    return Outcome(
        status=certificate.status,
        stop_reason=_stop_reason(state, certificate, request),
        placement=state.placement,
        evaluation=state.evaluation,
        bound=certificate.bound,
        gap=certificate.gap,
        ratio=certificate.ratio,
        guarantee=state.guarantee if state.evaluation is not None else Guarantee(why="there is no placement"),
        back_end=last.back_end if last else None,
        back_end_version=last.back_end_version if last else None,
        seconds=state.seconds,
        prices=state.prices,
    )


def _stop_reason(state: _Run, certificate: Certificate, request: Request) -> StopReason:
    if certificate.status in ("optimal", "infeasible"):
        return "proved"
    if state.budget.interrupted:
        return "interrupted"
    if certificate.status == "feasible" and within_gap(certificate, request.gap):
        return "gap_limit"
    if state.cut_short:
        return "time_limit"
    reason = state.last.stop_reason if state.last else "completed"
    # A back end's own proof does not count when crop's numbers do not meet.
    return "completed" if reason in ("proved", "gap_limit") else reason
