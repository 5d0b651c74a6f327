"""The exact solver: linearise, hand over to a library, and believe only what is recomputed."""

from __future__ import annotations

from dataclasses import dataclass, field

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.problem import Placement, Problem, utility
from crop_cli.model.solution import StopReason
from crop_cli.solvers.contract import Answer, Budget, Event, Listener, Request
from crop_cli.solvers.exact.backends import BACKENDS, RECOMMENDED
from crop_cli.solvers.exact.coding import decode
from crop_cli.solvers.exact.linearise import OutOfTimeError, linearise
from crop_cli.solvers.exact.linearised import Linearised
from crop_cli.solvers.exact.process import run_backend
from crop_cli.solvers.exact.sparse_model import IntArray
from crop_cli.solvers.exact.verdict import BackendResult

PROOF = 1e-6
"""F is proved optimal when the bound exceeds it by at most this, relative to max(1, |F|)."""

STOP = 5e-7
"""Gap, relative to max(1, |F|), at which a library may stop when a proof is asked for."""

FLOAT_SAFETY = 1e-9
"""A library's bound is raised by this, relative to max(1, |bound|), since it computes in floating point."""


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener, *, back_end: str = "exact") -> Answer:
    """Best placement with proof, as far as the budget goes.

    Parameters
    ----------
    problem, request, budget, listen
        See `crop_cli.solvers.contract`. Options of the request go to the library as they are. The answer is never
        worse than `request.start`.
    back_end
        `cp-sat`, `highs`, `scip`, `cbc`, or `exact` for the best one that is installed.

    Raises
    ------
    UsageError
        If the back end or an option is unknown, or the library is not installed.
    BackendError
        If the library failed and nothing is known.
    """
    name = best_installed() if back_end == "exact" else back_end
    known = _Known(problem, budget, listen, request.gap, bound=request.bound)
    if request.start is not None:
        known.offer(request.start, announce=False)
    began = budget.elapsed
    try:
        linearised = linearise(problem, request.start, lambda: budget.should_stop)
    except OutOfTimeError:
        seconds = {"build": budget.elapsed - began}
        return Answer(known.placement, budget.stop_reason(), request.bound, seconds=seconds, back_end=name)
    built = budget.elapsed
    listen(Event("phase", built, text=f"{name}: {_size(linearised)}"))
    if budget.should_stop:
        return Answer(known.placement, budget.stop_reason(), seconds={"build": built - began}, back_end=name)
    result = run_backend(
        name,
        linearised.model,
        time_limit=budget.remaining,
        seed=request.seed,
        threads=request.threads,
        absolute_gap=STOP * max(1.0, abs(known.value or 0.0)),
        options=dict(request.options),
        should_stop=lambda: budget.interrupted or known.within_gap or known.proved,
        on_incumbent=lambda x, _cost: known.offer_point(linearised, x),
        on_bound=lambda cost: known.claim(linearised.constant - cost),
    )
    if result.x is not None:
        known.offer_point(linearised, result.x)
    if result.bound is not None:
        known.claim(linearised.constant - result.bound)
    seconds = {"build": built - began, "solve": budget.elapsed - built}
    return _answer(known, result, name, seconds)


def best_installed() -> str:
    """The first back end of `RECOMMENDED` that is installed.

    Raises
    ------
    UsageError
        If none is.
    """
    for name in RECOMMENDED:
        if BACKENDS[name].installed:
            return name
    packages = ", ".join(dict.fromkeys(BACKENDS[name].package for name in RECOMMENDED))
    raise UsageError(f"an exact solver needs one of the packages {packages}; none is installed")


@dataclass(slots=True)
class _Known:
    """Best placement by its own value of F, and best bound, as they come in."""

    problem: Problem
    budget: Budget
    listen: Listener
    gap: float
    placement: Placement | None = None
    value: float | None = None
    bound: float | None = None
    notes: list[str] = field(default_factory=list)

    def offer(self, placement: Placement, *, announce: bool = True) -> None:
        """Keep a feasible placement if it is better."""
        value = objective(self.problem, placement)
        if self.value is None or value > self.value:
            self.placement, self.value = placement, value
            if announce:
                self.listen(Event("incumbent", self.budget.elapsed, value))

    def offer_point(self, linearised: Linearised, x: IntArray) -> None:
        """Keep the placement of a feasible point if it is better."""
        self.offer(decode(linearised, x))

    def claim(self, bound: float) -> None:
        """Keep an upper bound of F if it is better."""
        bound += FLOAT_SAFETY * max(1.0, abs(bound))
        if self.bound is None or bound < self.bound:
            self.bound = bound
            self.listen(Event("bound", self.budget.elapsed, bound))

    @property
    def within_gap(self) -> bool:
        """Whether the relative gap that was asked for is reached."""
        if self.gap <= 0 or self.value is None or self.bound is None:
            return False
        return self.bound - self.value <= self.gap * abs(self.value)

    @property
    def proved(self) -> bool:
        """Whether bound and value meet."""
        return self.value is not None and self.bound is not None and self.bound - self.value <= _tolerance(self.value)

    def settle(self) -> None:
        """Bring bound and value into agreement: rounding is cut off, a contradiction costs the bound its place."""
        if self.value is None or self.bound is None or self.bound >= self.value:
            return
        if self.value - self.bound > _tolerance(self.value):
            self.notes.append(
                f"The back end's bound {self.bound:.9g} was discarded: a verified placement reaches {self.value:.9g}."
            )
            self.bound = None
        else:
            self.bound = self.value


def objective(problem: Problem, placement: Placement) -> float:
    """F of a feasible placement of open jobs (model.md, section 5)."""
    return problem.pinned_value + sum(utility(problem, job, counts) for job, counts in placement.items())


def _tolerance(value: float) -> float:
    return PROOF * max(1.0, abs(value))


def _size(linearised: Linearised) -> str:
    rows, columns = linearised.model.matrix.shape
    return f"{columns} variables, {rows} rows, {linearised.model.matrix.nnz} coefficients"


def _answer(known: _Known, result: BackendResult, name: str, seconds: dict[str, float]) -> Answer:
    known.settle()
    notes = [*result.notes, *known.notes]
    infeasible = result.infeasible and known.placement is None
    if result.infeasible and not infeasible:
        notes.append("The back end calls the instance infeasible, but a feasible placement is known.")
    stop_reason = _stop_reason(known, result, infeasible)
    if stop_reason == "error" and known.placement is None:
        raise BackendError(f"{name} failed: {' '.join(notes) or 'no reason given'} {result.log}".strip())
    return Answer(
        placement=known.placement,
        stop_reason=stop_reason,
        bound=None if infeasible else known.bound,
        infeasible=infeasible,
        back_end=name,
        back_end_version=result.version or None,
        seconds=seconds,
        notes=tuple(notes),
    )


def _stop_reason(known: _Known, result: BackendResult, infeasible: bool) -> StopReason:
    """`proved` and `gap_limit` by crop's own numbers; else what the back end's run came to."""
    if infeasible or known.proved:
        return "proved"
    if known.budget.interrupted:
        return "interrupted"
    if known.within_gap:
        return "gap_limit"
    # The library stopped by itself, but crop's numbers do not meet.
    return "completed" if result.stop_reason in ("proved", "gap_limit") else result.stop_reason
