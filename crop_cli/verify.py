"""Whether a solution file tells the truth about its instance: everything it claims, recomputed from the definitions.

Nothing of the solvers is used, with one exception: where the file has prices, the bound that they prove is recomputed
with the oracle. A claim that cannot be recomputed (a bound without prices) is held against those that can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from crop_cli.explanation.check_prices import check_prices
from crop_cli.model.certificate import TOLERANCE, gap_of, proof_scale, ratio_of
from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.outcome import running_on
from crop_cli.model.rules import Violation
from crop_cli.model.solution import Metrics, Solution
from crop_cli.names import number

NUMBERS = ("compute_s", "comm_s", "iteration_s", "efficiency", "goodput")


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes
    ----------
    violations
        Every claim and every rule that does not hold; empty when all is well.
    status
        What the solution claims to be.
    evaluation
        The evaluator's word on the placement; None where the solution claims that there is none.
    bound
        The upper bound that the solution claims. It is held against F.
    certified_bound
        The upper bound that the solution's prices prove, recomputed; None where it has none. A bound of at least this
        is proven; whether a lower one is right no check can tell.
    """

    violations: list[Violation]
    status: str
    evaluation: Evaluation | None
    bound: float | None = None
    certified_bound: float | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations


def verify(instance: Instance, solution: Solution, sha256: str | None = None) -> Report:
    """Hold a solution against its instance.

    Parameters
    ----------
    instance
        A valid instance.
    solution
        What is claimed.
    sha256
        Of the instance file; None where there is no file, and then the claimed one is not compared.
    """
    found = [*_identity(instance, solution, sha256), *_rows(instance, solution)]
    evaluation = None
    if solution.status in ("optimal", "feasible"):
        evaluation = evaluate(instance, {row.job: row.nodes for row in solution.placements})
        found += evaluation.violations
        found += _outcomes(solution, evaluation)
        found += _figures(solution, evaluation)
    else:
        found += _nothing_found(solution)
    found += _certificate(instance, solution)
    found += _against_standing_still(instance, solution)
    found += _run(solution)
    objective = evaluation.objective if evaluation is not None and evaluation.feasible else None
    prices = check_prices(instance, solution, objective)
    return Report([*found, *prices.violations], solution.status, evaluation, solution.bound, prices.certified_bound)


def bound_is_proven(report: Report) -> bool:
    """Whether the prices in the file prove the bound that it claims, up to the tolerance of proofs."""
    if report.bound is None or report.certified_bound is None:
        return False
    return report.certified_bound <= report.bound + TOLERANCE * max(1.0, abs(report.bound))


def differs(claimed: float | None, true: float | None) -> bool:
    """Whether two numbers differ by more than 1e-6 of max(1, |true|); unknown equals unknown only."""
    if claimed is None or true is None:
        return claimed is not true
    return not abs(claimed - true) <= TOLERANCE * max(1.0, abs(true))


def _wrong(what: str, claimed: Any, true: Any) -> Violation:
    def shown(value: Any) -> str:
        return repr(value) if isinstance(value, float) else str(value) if value is not None else "null"

    kind = what.split(" ", maxsplit=1)[0]
    return Violation(f"wrong {kind}", f"{what} is given as {shown(claimed)}, but it is {shown(true)}")


def _identity(instance: Instance, solution: Solution, sha256: str | None) -> Iterator[Violation]:
    """The solution is one of this instance."""
    if solution.instance.name != instance.name:
        yield _wrong("instance name", repr(solution.instance.name), repr(instance.name))
    if sha256 is not None and solution.instance.sha256 is not None and solution.instance.sha256 != sha256:
        yield _wrong("instance sha256", solution.instance.sha256, sha256)


def _rows(instance: Instance, solution: Solution) -> Iterator[Violation]:
    """Every job of the instance is listed exactly once, as placed or as unplaced."""
    known = {job.name for job in instance.jobs}
    placed = [row.job for row in solution.placements]
    unplaced = [row.job for row in solution.unplaced]
    for where, names in (("placements", placed), ("unplaced", unplaced)):
        for name, times in Counter(names).items():
            if times > 1:
                yield Violation("listed twice", f"job {name!r} has {times} rows in {where}")
    for name in sorted(set(placed) & set(unplaced)):
        yield Violation("listed twice", f"job {name!r} is listed both as placed and as unplaced")
    for name in sorted(set(unplaced) - known):
        yield Violation("unknown job", f"the instance has no job {name!r}, which is listed as unplaced")
    listed = {*placed, *unplaced}
    nothing_placed = solution.status in ("infeasible", "no_solution")
    for job in instance.jobs:
        pinned = job.placement is not None and not job.movable
        if job.name not in listed and not (pinned and nothing_placed):
            yield Violation("job not listed", f"job {job.name!r} is listed neither as placed nor as unplaced")


def _outcomes(solution: Solution, evaluation: Evaluation) -> Iterator[Violation]:
    """Level, times and goodput of every placed job whose placement can be read."""
    for row in solution.placements:
        true = evaluation.jobs.get(row.job)
        if true is None:
            continue
        if row.level != true.level:
            yield _wrong(f"level of job {row.job!r}", row.level, true.level)
        for name in NUMBERS:
            if differs(getattr(row, name), getattr(true, name)):
                yield _wrong(f"{name} of job {row.job!r}", getattr(row, name), getattr(true, name))


def _figures(solution: Solution, evaluation: Evaluation) -> Iterator[Violation]:
    """Objective and metrics."""
    if differs(solution.objective, evaluation.objective):
        yield _wrong("objective", solution.objective, evaluation.objective)
    if solution.metrics is None:
        yield Violation("wrong metrics", "metrics are missing")
        return
    yield from _metrics(solution.metrics, evaluation.metrics)


def _metrics(claimed: Metrics, true: Metrics) -> Iterator[Violation]:
    for name in Metrics.__struct_fields__:
        if name == "traffic":
            continue
        yield from _compare(f"metrics.{name}", getattr(claimed, name), getattr(true, name))
    levels = [row.level for row in claimed.traffic]
    if levels != [row.level for row in true.traffic]:
        yield _wrong("metrics.traffic levels", levels, [row.level for row in true.traffic])
        return
    for mine, right in zip(claimed.traffic, true.traffic, strict=True):
        for name, value in msgspec.structs.asdict(right).items():
            yield from _compare(f"metrics.traffic {name} of level {right.level!r}", getattr(mine, name), value)


def _compare(what: str, claimed: Any, true: Any) -> Iterator[Violation]:
    """Numbers by tolerance, the rest exactly."""
    both = (claimed, true)
    if all(isinstance(value, int | float) for value in both):
        if differs(claimed, true):
            yield _wrong(what, claimed, true)
    elif claimed != true:
        yield _wrong(what, claimed, true)


def _nothing_found(solution: Solution) -> Iterator[Violation]:
    """Without a placement there is nothing to claim about one."""
    for what in ("objective", "metrics", "gap", "ratio"):
        if getattr(solution, what) is not None:
            yield Violation(f"wrong {what}", f"{what} must be null when the status is {solution.status!r}")
    if solution.placements:
        yield Violation("wrong placements", f"there are placements although the status is {solution.status!r}")
    if solution.status == "infeasible" and solution.bound is not None:
        yield Violation("wrong bound", "an infeasible instance has no bound")


def _certificate(instance: Instance, solution: Solution) -> Iterator[Violation]:
    """Bound, gap, ratio, status and stop reason agree with each other."""
    objective, bound = solution.objective, solution.bound
    a_priori = solution.guarantee.a_priori
    if a_priori is not None and not 0 <= a_priori <= 1:
        yield Violation("wrong guarantee", f"the a-priori factor {number(a_priori)} is not between 0 and 1")
    proved = solution.status in ("optimal", "infeasible")
    if proved != (solution.stop_reason == "proved"):
        yield Violation(
            "wrong stop_reason", f"stop_reason {solution.stop_reason!r} does not go with status {solution.status!r}"
        )
    if objective is None or solution.status not in ("optimal", "feasible"):
        return
    if bound is None:
        for what in ("gap", "ratio"):
            if getattr(solution, what) is not None:
                yield Violation(f"wrong {what}", f"{what} must be null without a bound")
        if solution.status == "optimal":
            yield Violation("wrong status", "the status is 'optimal', but there is no bound")
        return
    slack = TOLERANCE * max(proof_scale(instance), abs(objective))
    if bound < objective - slack:
        yield Violation("wrong bound", f"the bound {bound!r} is below the objective {objective!r}")
    for what, claimed, true in (
        ("gap", solution.gap, gap_of(objective, bound)),
        ("ratio", solution.ratio, ratio_of(objective, bound)),
    ):
        if differs(claimed, true):
            yield _wrong(what, claimed, true)
    optimal = bound - objective <= slack
    if optimal != (solution.status == "optimal"):
        yield Violation(
            "wrong status",
            f"the status is {solution.status!r}, but bound - objective is {bound - objective!r} "
            f"(optimal: at most {slack!r})",
        )


def _against_standing_still(instance: Instance, solution: Solution) -> Iterator[Violation]:
    """Claims about all placements hold for the plainest one: what runs stays, nothing else starts."""
    plain = evaluate(instance, {job.name: running_on(job.placement) for job in instance.jobs if job.placement})
    if not plain.feasible:
        return
    if solution.status == "infeasible":
        yield Violation("wrong status", "the status is 'infeasible', but to start no job and move none is feasible")
    elif solution.bound is not None and solution.bound < plain.objective - TOLERANCE * max(1.0, abs(plain.objective)):
        yield Violation(
            "wrong bound",
            f"the bound {solution.bound!r} is below the objective {plain.objective!r} of starting and moving no job",
        )


def _run(solution: Solution) -> Iterator[Violation]:
    """What is told about the run is possible."""
    for name, seconds in msgspec.structs.asdict(solution.runtime_s).items():
        if seconds < 0:
            yield Violation("wrong runtime_s", f"runtime_s.{name} is negative: {seconds!r}")
    asked = solution.solver.options.get("gap")
    if (
        solution.stop_reason == "gap_limit"
        and isinstance(asked, int | float)
        and (solution.gap is None or solution.gap > asked + TOLERANCE)
    ):
        yield Violation("wrong stop_reason", f"stop_reason 'gap_limit', but the gap asked for was {asked!r}")
