"""Figures per solver: how many, how good, how fast; and the profiles behind the plots."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, median

from crop_cli.bench.records import Aggregate, Profile, Reference, Row
from crop_cli.bench.rows import ENDED

SHIFT = 1.0
"""Seconds added before, and taken off after, the geometric mean of times: milliseconds are no factor of two."""

SHORTEST = 0.01
"""Seconds below which two times are equal in a performance profile."""

FACTORS = [round(10 ** (i / 8), 4) for i in range(33)]
"""Abscissas of performance profiles: 1 to 10,000."""

LOSSES = [0.0, *(float(f"{10 ** (i / 4):.4g}") for i in range(-24, 1))]
"""Abscissas of quality profiles: 0, then 10⁻⁶ to 1."""

ALL = "*"
"""Stands for all sets."""

SOLVED = frozenset({"optimal", "feasible", "infeasible"})


def aggregates_of(rows: list[Row], references: dict[str, Reference], limit: float | None) -> list[Aggregate]:
    """One entry per solver over all sets, then per set and solver, in the order of the rows.

    Parameters
    ----------
    limit
        Time limit of the runs, seconds.
    """
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[ALL, row.solver].append(row)
        groups[row.instance.partition("/")[0], row.solver].append(row)
    ranked = sorted(groups, key=lambda key: key[0] != ALL)
    return [_aggregate(name, groups[name, solver], references, limit) for name, solver in ranked]


def profiles_of(rows: list[Row], references: dict[str, Reference]) -> list[Profile]:
    """Performance and quality profile of every solver."""
    fastest: dict[tuple[str, int], float] = defaultdict(lambda: math.inf)
    by_solver: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_solver[row.solver].append(row)
        if row.verdict in SOLVED:
            key = (row.instance, row.seed)
            fastest[key] = min(fastest[key], max(SHORTEST, row.seconds))
    found = []
    for solver, own in by_solver.items():
        factors = [
            max(SHORTEST, row.seconds) / fastest[row.instance, row.seed] if row.verdict in SOLVED else math.inf
            for row in own
        ]
        losses = [1.0 - ratio for _, ratio in counted_ratios(own, references)]
        found.append(Profile(solver=solver, kind="performance", x=FACTORS, share=_shares(factors, FACTORS)))
        found.append(Profile(solver=solver, kind="quality", x=LOSSES, share=_shares(losses, LOSSES)))
    return found


def counted_ratios(rows: Iterable[Row], references: dict[str, Reference]) -> list[tuple[Row, float]]:
    """Ratios of the rows that have one, at most 1; 0 for a row without an answer where a positive value is known."""
    counted = []
    for row in rows:
        reference = references[row.instance]
        if row.ratio is not None:
            counted.append((row, min(1.0, row.ratio)))
        elif row.objective is None and (reference.value or 0.0) > 0:
            counted.append((row, 0.0))
    return counted


def shifted_geometric_mean(seconds: Iterable[float], shift: float = SHIFT) -> float | None:
    """exp(mean of log(t + s)) − s; None for no times."""
    logs = [math.log(t + shift) for t in seconds]
    return math.exp(fmean(logs)) - shift if logs else None


def _aggregate(name: str, rows: list[Row], references: dict[str, Reference], limit: float | None) -> Aggregate:
    counted = counted_ratios(rows, references)
    ratios = [ratio for _, ratio in counted]
    worst = min(counted, key=lambda pair: pair[1], default=None)
    verdicts = [row.verdict for row in rows]
    overheads = [row.overhead for row in rows if row.overhead is not None]
    overhead_ratios = [row.overhead_ratio for row in rows if row.overhead_ratio is not None]
    throughputs = [row.throughput_ratio for row in rows if row.throughput_ratio is not None]
    return Aggregate(
        solver=rows[0].solver,
        role=rows[0].role,
        instances=name,
        runs=len(rows),
        solved=sum(verdict in SOLVED for verdict in verdicts),
        optimal=verdicts.count("optimal"),
        overbooked=verdicts.count("overbooked"),
        failed=verdicts.count("failed") + verdicts.count("no_solution"),
        mean_ratio=fmean(ratios) if ratios else None,
        median_ratio=median(ratios) if ratios else None,
        worst_ratio=worst[1] if worst else None,
        worst_instance=worst[0].instance if worst else None,
        seconds=shifted_geometric_mean(_charged(row, limit, 1.0) for row in rows),
        par2=fmean(_par2(row, limit) for row in rows),
        wins=sum(row.win for row in rows),
        mean_overhead=fmean(overheads) if overheads else None,
        mean_overhead_ratio=fmean(overhead_ratios) if overhead_ratios else None,
        mean_throughput_ratio=fmean(throughputs) if throughputs else None,
        peak_mib=max((row.peak_mib for row in rows if row.peak_mib is not None), default=None),
    )


def _charged(row: Row, limit: float | None, times: float) -> float:
    """Seconds of a run with an answer; for one without, so many times the limit."""
    answered = row.verdict in SOLVED or row.verdict == "overbooked"
    return row.seconds if answered or limit is None else max(row.seconds, times * limit)


def _par2(row: Row, limit: float | None) -> float:
    if row.stop_reason in ENDED:
        return _charged(row, limit, 2.0)
    return row.seconds if limit is None else 2.0 * limit


def _shares(figures: list[float], grid: list[float]) -> list[float]:
    if not figures:  # no ratio is known on any instance
        return [0.0 for _ in grid]
    return [sum(figure <= x * (1 + 1e-9) for figure in figures) / len(figures) for x in grid]
