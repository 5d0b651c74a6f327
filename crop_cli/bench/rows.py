"""Runs against their references: one row of figures per run."""

from __future__ import annotations

from collections import defaultdict

from crop_cli.bench.records import Reference, Row, Run
from crop_cli.model.certificate import TOLERANCE

ENDED = frozenset({"proved", "completed", "gap_limit"})
"""Stop reasons of runs that ended by themselves."""


def rows_of(runs: list[Run], references: dict[str, Reference]) -> list[Row]:
    """One row per run, in the order of the runs.

    Parameters
    ----------
    references
        By instance name; every run's instance has one.
    """
    best: dict[tuple[str, int], float] = defaultdict(lambda: -float("inf"))
    for run in runs:
        if run.verified and not run.loads and run.objective is not None:
            key = (run.instance, run.seed)
            best[key] = max(best[key], run.objective)
    return [_row(run, references[run.instance], best[run.instance, run.seed]) for run in runs]


def ratio_to(reference: Reference, objective: float, *, feasible: bool) -> float | None:
    """F over the optimum or the bound; 1 where F meets it; None where that is unknown or not positive.

    A feasible placement is at most 1, up to rounding that is taken off; an overbooked one may be above.
    """
    target = reference.value if reference.optimal else reference.bound
    if target is None:
        return None
    if abs(target - objective) <= TOLERANCE * abs(target):
        return 1.0
    if target <= 0:
        return None
    return min(1.0, objective / target) if feasible else objective / target


def _row(run: Run, reference: Reference, best: float) -> Row:
    feasible = run.verified and not run.loads
    metrics, objective = run.metrics, run.objective if run.verified else None
    overhead = metrics.communication_overhead if metrics else None
    blast = (metrics.worst_node_blast, metrics.worst_switch_blast) if metrics else (None, None)
    return Row(
        instance=run.instance,
        sha256=run.sha256,
        size=run.size,
        solver=run.solver,
        role=run.role,
        seed=run.seed,
        verdict=run.verdict,
        stop_reason=run.stop_reason,
        error=run.error,
        verified=run.verified,
        deterministic=run.stop_reason in ENDED and run.settings.threads == 1,
        objective=objective,
        bound=run.bound,
        gap=run.gap,
        gap_to_best=_gap_to_best(reference, objective),
        ratio=None if objective is None else ratio_to(reference, objective, feasible=feasible),
        guarantee=run.guarantee.a_priori,
        guarantee_holds_for=run.guarantee.relative_to,
        overhead=overhead,
        overhead_ratio=_over(overhead, reference.overhead),
        gpus_used=metrics.gpus_used if metrics else None,
        jobs_placed=metrics.jobs_placed if metrics else None,
        throughput=metrics.throughput if metrics else None,
        throughput_ratio=_over(metrics.throughput if metrics else None, reference.throughput),
        failures_per_day=metrics.failures_per_day if metrics else None,
        worst_node_blast=blast[0],
        worst_switch_blast=blast[1],
        overbooked_uplinks=len(run.loads),
        worst_load=max(run.loads.values(), default=None),
        seconds=seconds_of(run),
        peak_mib=run.peak_mib,
        win=_wins(run, feasible=feasible, best=best),
    )


def seconds_of(run: Run) -> float:
    """What the solver took: loading left out, and of a baseline's run the bound and the check too."""
    phases = run.seconds
    if run.role == "baseline" and "solve" in phases:
        return phases.get("build", 0.0) + phases["solve"]
    return max(0.0, phases.get("total", 0.0) - phases.get("load", 0.0))


def _wins(run: Run, *, feasible: bool, best: float) -> bool:
    if run.verdict == "infeasible":
        return best == -float("inf")
    return feasible and run.objective is not None and run.objective >= best - TOLERANCE * abs(best)


def _gap_to_best(reference: Reference, objective: float | None) -> float | None:
    if objective is None or reference.value is None:
        return None
    if objective == reference.value:
        return 0.0
    return (reference.value - objective) / abs(reference.value) if reference.value else None


def _over(figure: float | None, reference: float | None) -> float | None:
    return None if figure is None or not reference else figure / reference
