"""One run in the making: the best verified placement, all bounds, and what each stage said.

Every placement passes the evaluator before it counts, and every claim is judged against what was verified.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crop_cli.errors import BackendError
from crop_cli.model.certificate import Certificate, certify, proof_scale, within_gap
from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.problem import Placement, Problem, named
from crop_cli.model.rules import UPLINK
from crop_cli.model.sharing import evaluate_shared
from crop_cli.model.solution import Guarantee, Status, StopReason
from crop_cli.solvers.contract import Answer, Budget, Event, Listener, Request
from crop_cli.solvers.registry import Engine

if TYPE_CHECKING:
    from crop_cli.solvers.columns.bound import ColumnBound
    from crop_cli.solvers.oracle import Prices

NO_GUARANTEE = Guarantee(why="a baseline states none")


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
class Run:
    """State of one run.

    Attributes
    ----------
    placement, evaluation
        The best verified placement, and the evaluator's word on it.
    bounds
        All upper bounds that were claimed.
    relaxation, prices
        What column generation ended with last, and the prices that certify its bound.
    infeasible
        Proven: no placement runs all jobs that must run.
    cut_short
        Time ended before a stage began.
    refused
        Placements that the evaluator did not accept, in words.
    overbooked
        A baseline's placement was refused for overbooked uplinks only: an answer of its kind, no failure.
    last
        Answer of the last stage.
    seconds
        Wall-clock seconds by phase.
    """

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
    overbooked: bool = False
    last: Answer | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def least_bound(self) -> float | None:
        """The lowest bound that anybody claimed."""
        return min((bound for bound in self.bounds if bound is not None), default=None)

    @property
    def certificate(self) -> Certificate | None:
        """What the bounds say about the placement; None without one."""
        if self.evaluation is None:
            return None
        return certify(self.evaluation.objective, self.bounds, proof_scale(self.problem.instance))

    def within(self, gap: float) -> bool:
        """Whether the placement is known to be good enough."""
        certificate = self.certificate
        return certificate is not None and within_gap(certificate, gap)

    def note(self, text: str) -> None:
        """Tell the user one sentence."""
        self.listen(Event("note", self.budget.elapsed, text=text))

    def stage(self, engine: Engine, request: Request, budget: Budget) -> None:
        """Run one solver, verify its placement, keep what is better."""
        self.listen(Event("phase", self.budget.elapsed, text=engine.name))
        since = self.budget.elapsed
        try:
            answer = engine.load()(self.problem, request, budget, self.listen)
        except BackendError as error:
            if self.evaluation is None:
                raise
            answer = Answer(None, "error", notes=(f"{engine.name} failed: {error}",))
        spent = self.budget.elapsed - since
        for phase in ("build", "bound"):
            part = min(spent, answer.seconds.get(phase, 0.0))
            self._add(phase, part)
            spent -= part
        self._add("solve", spent)
        if engine.role == "baseline":
            answer = replace(answer, bound=None, infeasible=False, relaxation=None, guarantee=NO_GUARANTEE)
        self.last = answer
        for note in answer.notes:
            self.note(note)
        if self._offer(engine, answer) or answer.placement is None:
            self.bounds.append(answer.bound)
            if answer.guarantee.a_priori is not None or not self.guarantee.why:
                self.guarantee = answer.guarantee
        if answer.relaxation is not None:
            self.relaxation, self.prices = answer.relaxation, answer.relaxation.certificate
        if answer.infeasible:
            self._claim_infeasible(engine.name)

    def bound(self, gap: float) -> None:
        """The dual bound by column generation (model.md, section 8), as far as it takes no more than a moment."""
        from crop_cli.solvers.bounds import upper_bound  # noqa: PLC0415 (only runs that get here pay for it)

        self.listen(Event("phase", self.budget.elapsed, text="bound"))
        since = self.budget.elapsed
        found = upper_bound(
            self.problem,
            self.budget,
            target=None if self.evaluation is None else self.evaluation.objective,
            gap=gap,
            start=self.placement,
            listen=self.listen,
        )
        self._add("bound", self.budget.elapsed - since)
        if found.infeasible:
            self._claim_infeasible("the bound")
            return
        self.bounds.append(found.value)
        self.relaxation, self.prices = found.relaxation, found.prices
        self.listen(Event("bound", self.budget.elapsed, found.value))

    def outcome(self, gap: float) -> Outcome:
        """The end of it.

        Raises
        ------
        BackendError
            If the evaluator refused the only placement.
        """
        last, certificate = self.last, self.certificate
        if certificate is None and not self.infeasible and self.refused and not self.overbooked:
            raise BackendError(self.refused[-1])
        if certificate is None:
            # A bound without a placement still says how good one could be; an infeasible instance has no F to bound.
            bound = None if self.infeasible else self.least_bound
            certificate = Certificate(bound, None, None, "infeasible" if self.infeasible else "no_solution")
        for refused in certificate.refused:
            self.note(f"a claimed upper bound of {refused:.9g} is below a verified placement: it is wrong and not used")
        return Outcome(
            status=certificate.status,
            stop_reason=self._stop_reason(certificate, gap),
            placement=self.placement,
            evaluation=self.evaluation,
            bound=certificate.bound,
            gap=certificate.gap,
            ratio=certificate.ratio,
            guarantee=self.guarantee if self.evaluation is not None else Guarantee(why="there is no placement"),
            back_end=last.back_end if last else None,
            back_end_version=last.back_end_version if last else None,
            seconds=self.seconds,
            prices=self.prices,
        )

    def _add(self, phase: str, seconds: float) -> None:
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def _offer(self, engine: Engine, answer: Answer) -> bool:
        """Pass an answer's placement by the evaluator; keep it if it is better. True if it was accepted."""
        if answer.placement is None:
            return False
        evaluation = evaluate(self.problem.instance, named(self.problem, answer.placement))
        if not evaluation.feasible:
            self.overbooked = engine.role == "baseline" and all(v.kind == UPLINK for v in evaluation.violations)
            text = "; ".join(violation.message for violation in evaluation.violations[:3])
            self.refused.append(f"the evaluator refused the placement of {engine.name}: {text}")
            self.note(self.refused[-1])
            if self.overbooked:
                shared = evaluate_shared(self.problem.instance, named(self.problem, answer.placement))
                self.note(
                    f"with its {len(shared.loads)} overbooked uplinks shared fairly (times stretched by the load) "
                    f"it would be worth {shared.evaluation.objective:.9g}"
                )
            return False
        if self.evaluation is None or evaluation.objective > self.evaluation.objective:
            self.placement, self.evaluation = answer.placement, evaluation
            self.listen(Event("incumbent", self.budget.elapsed, evaluation.objective))
        return True

    def _claim_infeasible(self, who: str) -> None:
        """A proof that no placement exists holds unless a verified one is there."""
        if self.evaluation is None:
            self.infeasible = True
        else:
            self.note(f"{who} claims that no placement exists, but one was verified: the claim is ignored")

    def _stop_reason(self, certificate: Certificate, gap: float) -> StopReason:
        if certificate.status in ("optimal", "infeasible"):
            return "proved"
        if self.budget.interrupted:
            return "interrupted"
        if certificate.status == "feasible" and within_gap(certificate, gap):
            return "gap_limit"
        if self.cut_short:
            return "time_limit"
        reason = self.last.stop_reason if self.last else "completed"
        # A solver's own proof does not count when crop's numbers do not meet.
        return "completed" if reason in ("proved", "gap_limit") else reason
