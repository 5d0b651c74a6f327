"""Two summaries side by side: what got better, what got worse, and which of it cannot be chance.

A run that ended by itself on one thread gives the same again with the same version, so its status, verification and
objective may not get worse. Times are compared only as ratios within one bench: machines differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.bench.gates import SLACK, Failure, where
from crop_cli.bench.records import Row, Summary
from crop_cli.bench.statistics import ALL, SHIFT, aggregates_of

RANK = {"failed": 0, "no_solution": 1, "overbooked": 2, "feasible": 3, "optimal": 4, "infeasible": 4}
"""How much a verdict says; a proof of infeasibility as much as one of optimality."""


@dataclass(frozen=True, slots=True)
class Change:
    """One run in both summaries.

    Attributes
    ----------
    before, after
        Its rows.
    worse
        What got worse, in words; empty if nothing did.
    better
        Whether anything got better and nothing worse.
    certain
        Whether it must not happen: both runs are deterministic.
    """

    before: Row
    after: Row
    worse: str
    better: bool
    certain: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two summaries: runs in both, runs in only one, runs on a file that changed."""

    changes: list[Change]
    gone: list[Row]
    new: list[Row]
    other_file: list[Row]


Key = tuple[str, str, int]


def compare(before: Summary, after: Summary) -> Comparison:
    """Match runs by instance, solver and seed."""
    old = {_key(row): row for row in before.rows}
    new = {_key(row): row for row in after.rows}
    both = [key for key in old if key in new]
    same = [key for key in both if old[key].sha256 == new[key].sha256]
    settled = before.settings == after.settings
    return Comparison(
        changes=[_change(old[key], new[key], settled=settled) for key in same],
        gone=[row for key, row in old.items() if key not in new],
        new=[row for key, row in new.items() if key not in old],
        other_file=[new[key] for key in both if old[key].sha256 != new[key].sha256],
    )


def regressions(
    before: Summary, after: Summary, *, max_slowdown: float | None = None, pace: str | None = None
) -> list[Failure]:
    """What got worse against an earlier summary and cannot be chance; only what this bench runs is asked.

    Parameters
    ----------
    max_slowdown
        Most that a solver's time, over the pacemaker's in the same bench, may grow by this factor; None: not asked.
    pace
        The pacemaker; None: the first solver that both have.
    """
    compared = compare(before, after)
    found = [
        Failure("--baseline", where(change.after), change.worse)
        for change in compared.changes
        if change.worse and change.certain
    ]
    if not compared.changes:
        found.append(Failure("--baseline", "all", "no run is in both summaries: the gate checks nothing"))
    elif before.settings != after.settings:
        found.append(Failure("--baseline", "all", "the settings of the runs differ: the gate checks nothing"))
    if max_slowdown is not None:
        found += _slowdowns(before, after, max_slowdown, pace)
    return found


def _slowdowns(before: Summary, after: Summary, most: float, pace: str | None) -> list[Failure]:
    common = {_question(row) for row in before.rows} & {_question(row) for row in after.rows}
    old, new = _times(before, common), _times(after, common)
    both = [solver for solver in after.solvers if solver in old and solver in new]
    pace = pace or next(iter(both), None)
    others = [solver for solver in both if solver != pace]
    gate = f"--max-slowdown {most:g}"
    if pace not in both or not others:
        return [Failure(gate, str(pace), "needs two solvers that both summaries have: the gate checks nothing")]
    found = []
    for solver in others:
        was, now = old[solver] / old[pace], new[solver] / new[pace]
        if now > most * was:
            text = f"takes {now:.3g} times as long as {pace}; it was {was:.3g} times, so {now / was:.3g} times slower"
            found.append(Failure(gate, solver, text))
    return found


def _times(summary: Summary, common: set[tuple[Key, str]]) -> dict[str, float]:
    """Shifted geometric mean of every solver over common runs, the shift left in so that quotients are tame."""
    rows = [row for row in summary.rows if _question(row) in common]
    references = {reference.instance: reference for reference in summary.references}
    whole = [a for a in aggregates_of(rows, references, summary.settings.time_limit) if a.instances == ALL]
    return {a.solver: a.seconds + SHIFT for a in whole if a.seconds is not None}


def _change(old: Row, new: Row, *, settled: bool) -> Change:
    worse = []
    if RANK[new.verdict] < RANK[old.verdict]:
        worse.append(f"was {old.verdict}, is {new.verdict}" + (f" ({new.error})" if new.error else ""))
    if old.verified and not new.verified:
        worse.append("was verified, is not")
    step = _step(old.objective, new.objective)
    if step < 0:
        worse.append(f"objective was {old.objective:.12g}, is {new.objective:.12g}")
    better = not worse and (step > 0 or RANK[new.verdict] > RANK[old.verdict])
    # A run that meets its time limit now and did not before is slower, which no summary of another machine can judge.
    certain = settled and old.deterministic and new.stop_reason not in ("time_limit", "interrupted", "killed")
    return Change(old, new, "; ".join(worse), better, certain)


def _step(old: float | None, new: float | None) -> float:
    """By how much F rose; 0 within rounding or where one is unknown."""
    if old is None or new is None or abs(new - old) <= SLACK * max(1.0, abs(old)):
        return 0.0
    return new - old


def _key(row: Row) -> Key:
    return row.instance, row.solver, row.seed


def _question(row: Row) -> tuple[Key, str]:
    """The run and the file that it solved."""
    return _key(row), row.sha256
