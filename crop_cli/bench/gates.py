"""Gates: figures that a bench must reach, `SOLVER.FIGURE OP VALUE`, and what a run must not do in any bench."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from crop_cli.bench.records import Aggregate, Reference, Row, Summary
from crop_cli.bench.statistics import ALL
from crop_cli.errors import UsageError
from crop_cli.names import one

BEST_BASELINE = "best-baseline"
"""Stands, on the right of a gate, for the best feasible placement of all baselines on the same instance and seed."""

OWN = "*"
"""Stands, on the left, for every solver of the bench that is no baseline."""

GUARANTEE: Literal["guarantee"] = "guarantee"
"""On the right: the run's own a-priori factor, where it holds for the optimum."""

SLACK = 1e-9
"""Relative difference that is rounding."""

ROW_FIGURES = (
    "ratio",
    "objective",
    "gap",
    "gap_to_best",
    "overhead",
    "overhead_ratio",
    "throughput",
    "throughput_ratio",
    "gpus_used",
    "jobs_placed",
    "overbooked_uplinks",
    "seconds",
    "peak_mib",
)
AGGREGATE_FIGURES = (
    "mean_ratio",
    "median_ratio",
    "worst_ratio",
    "solved",
    "optimal",
    "failed",
    "wins",
    "par2",
    "mean_overhead",
    "mean_overhead_ratio",
    "mean_throughput_ratio",
)

RATIOS = ("mean_ratio", "median_ratio", "worst_ratio")
"""Figures over all runs of which the instance with the lowest ratio says where to look."""

ALWAYS_ASKED = ("ratio", "gap")
"""Figures of a run that every placement has to reach: one for which they are unknown does not."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b - SLACK * max(1.0, abs(b)),
    "<=": lambda a, b: a <= b + SLACK * max(1.0, abs(b)),
    "==": lambda a, b: abs(a - b) <= SLACK * max(1.0, abs(b)),
    ">": operator.gt,
    "<": operator.lt,
}
_GATE = re.compile(r"\s*(?P<solver>[\w*-]+)\.(?P<figure>\w+)\s*(?P<op>>=|<=|==|>|<)\s*(?P<right>\S+(?:\s+%)?)\s*")


@dataclass(frozen=True, slots=True)
class Failure:
    """A gate that a run, or a whole bench, did not pass.

    Attributes
    ----------
    gate
        As it was written.
    where
        Instance and seed, or the solver for a figure over all runs.
    found
        What was found against what was asked for, in words.
    """

    gate: str
    where: str
    found: str

    def __str__(self) -> str:
        return f"{self.gate}: {self.where}: {self.found}"


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate as it was read; `right` is a number, `guarantee`, or a (solver, figure)."""

    text: str
    solver: str
    figure: str
    op: str
    right: float | Literal["guarantee"] | tuple[str, str]

    def holds(self, left: float, right: float) -> bool:
        """Whether the comparison is true, up to rounding."""
        return _OPERATORS[self.op](left, right)


def read_gate(text: str) -> Gate:
    """Read `greedy.ratio>=0.95`, `greedy.ratio>=guarantee`, `search.objective>=best-baseline.objective`.

    Raises
    ------
    UsageError
        If it is none.
    """
    found = _GATE.fullmatch(text)
    if found is None:
        raise UsageError(f"--require: {text!r} is not SOLVER.FIGURE>=VALUE (or <=, ==, >, <)")
    _check_figure(text, found["figure"], ROW_FIGURES + AGGREGATE_FIGURES)
    gate = Gate(text.strip(), found["solver"], found["figure"], found["op"], _right(text, found["right"]))
    if gate.figure in AGGREGATE_FIGURES and not isinstance(gate.right, float):
        raise UsageError(f"--require: {text!r}: {gate.figure} is a figure over all runs: compare it with a number")
    if gate.right == GUARANTEE and gate.figure != "ratio":
        raise UsageError(f"--require: {text!r}: a guarantee is compared with ratio")
    return gate


def check_solvers(gates: list[Gate], solvers: list[str]) -> None:
    """Refuse gates on solvers that are not in the bench.

    Raises
    ------
    UsageError
        Naming the gate.
    """
    for gate in gates:
        named = [gate.solver] if gate.solver != OWN else []
        named += [gate.right[0]] if isinstance(gate.right, tuple) and gate.right[0] != BEST_BASELINE else []
        for solver in named:
            if solver not in solvers:
                raise UsageError(f"--require: {gate.text!r}: the bench does not run {solver!r}")


def failures(summary: Summary, gates: list[Gate], max_gap: float | None = None) -> list[Failure]:
    """Every gate that is not passed, with instance, figure and threshold.

    Besides those asked for, two always hold: no bound contradicts a verified placement, and none of crop's own solvers
    fails or gives an answer that the check refuses.
    """
    found = [
        Failure("bounds hold", reference.instance, reference.contradiction)
        for reference in summary.references
        if reference.contradiction
    ]
    found += [
        Failure("every answer is verified", where(row), row.error or "no answer passed the evaluator")
        for row in summary.rows
        if row.verdict == "failed" and row.role != "baseline"
    ]
    references = {reference.instance: reference for reference in summary.references}
    for gate in gates:
        found += _check(gate, summary, references)
    if max_gap is not None:
        found += _gaps(summary, max_gap)
    return found


def _check(gate: Gate, summary: Summary, references: dict[str, Reference]) -> Iterator[Failure]:
    if gate.figure in AGGREGATE_FIGURES:
        yield from _check_aggregate(gate, summary.aggregates)
        return
    compared = 0
    for row in summary.rows:
        if row.solver != gate.solver and not (gate.solver == OWN and row.role != "baseline"):
            continue
        if references[row.instance].infeasible and row.objective is None:
            continue
        if row.objective is None and gate.figure not in ("seconds", "peak_mib"):
            compared += 1
            yield Failure(gate.text, where(row), f"there is no placement ({row.error or row.stop_reason})")
            continue
        left, right = getattr(row, gate.figure), _threshold(gate, row, summary.rows)
        if right is None or (left is None and gate.figure not in ALWAYS_ASKED):
            continue
        compared += 1
        if left is None:
            yield Failure(gate.text, where(row), f"{gate.figure} is unknown")
        elif not gate.holds(left, right):
            yield Failure(gate.text, where(row), f"{gate.figure} is {left:.9g}, not {gate.op} {right:.9g}")
    if not compared:
        yield Failure(gate.text, gate.solver, "no run has both figures: the gate checks nothing")


def _check_aggregate(gate: Gate, aggregates: list[Aggregate]) -> Iterator[Failure]:
    chosen = [a for a in aggregates if a.instances == ALL and (a.solver == gate.solver or _own(gate, a))]
    for aggregate in chosen:
        left = getattr(aggregate, gate.figure)
        if left is None:
            yield Failure(gate.text, aggregate.solver, f"{gate.figure} is unknown")
        elif isinstance(gate.right, float) and not gate.holds(left, gate.right):
            worst = ""
            if gate.figure in RATIOS and aggregate.worst_instance:
                worst = f" (worst on {aggregate.worst_instance})"
            found = f"{gate.figure} is {left:.9g}, not {gate.op} {gate.right:.9g}{worst}"
            yield Failure(gate.text, aggregate.solver, found)
    if not chosen:
        yield Failure(gate.text, gate.solver, "the bench has no run of it: the gate checks nothing")


def _own(gate: Gate, aggregate: Aggregate) -> bool:
    return gate.solver == OWN and aggregate.role != "baseline"


def _gaps(summary: Summary, most: float) -> Iterator[Failure]:
    gate = f"--max-gap {most:g}"
    infeasible = {reference.instance for reference in summary.references if reference.infeasible}
    rows = [row for row in summary.rows if row.role != "baseline" and row.instance not in infeasible]
    for row in rows:
        if row.verdict == "optimal":
            continue  # proven as far as crop proves anything: also where no gap at all is asked for
        if row.gap is None:
            yield Failure(gate, where(row), "the gap is unknown")
        elif row.gap > most * (1 + SLACK):
            yield Failure(gate, where(row), f"the gap is {row.gap:.6g}, above {most:g}")
    if not any(row.role != "baseline" for row in summary.rows):
        yield Failure(gate, OWN, "there is no run of crop's own solvers: the gate checks nothing")


def _threshold(gate: Gate, row: Row, rows: list[Row]) -> float | None:
    """The right side for one run; None where it does not apply."""
    if isinstance(gate.right, float):
        return gate.right
    if isinstance(gate.right, str):
        return row.guarantee if row.guarantee_holds_for == "optimum" else None
    solver, figure = gate.right
    same = [r for r in rows if r.instance == row.instance and r.seed == row.seed]
    if solver == BEST_BASELINE:
        feasible = [r for r in same if r.role == "baseline" and r.verified and not r.overbooked_uplinks]
        best = max(feasible, key=lambda r: r.objective or 0.0, default=None)
        return None if best is None else getattr(best, figure)
    return next((getattr(r, figure) for r in same if r.solver == solver), None)


def _right(text: str, right: str) -> float | Literal["guarantee"] | tuple[str, str]:
    if right == GUARANTEE:
        return GUARANTEE
    try:
        value = float(right[:-1]) / 100 if right.endswith("%") else float(right)
        if not math.isfinite(value):
            raise UsageError(f"--require: {text!r}: {right!r} is no finite number")
        return value
    except ValueError:
        solver, dot, figure = right.partition(".")
        if not dot:
            raise UsageError(f"--require: {text!r}: {right!r} is no number, {GUARANTEE!r} or SOLVER.FIGURE") from None
        _check_figure(text, figure, ROW_FIGURES)
        return solver, figure


def _check_figure(text: str, figure: str, known: tuple[str, ...]) -> None:
    if figure not in known:
        raise UsageError(f"--require: {text!r}: there is no figure {figure!r} (expected {one(list(known))})")


def where(row: Row) -> str:
    """Instance, solver, and the seed unless it is 0."""
    return f"{row.instance}, {row.solver}" + (f", seed {row.seed}" if row.seed else "")
