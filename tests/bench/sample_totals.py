"""Aggregates and profiles of the made-up bench."""

from __future__ import annotations

from collections.abc import Iterator

from crop_cli.bench.records import Aggregate, Profile, Row


def aggregates(rows: list[Row], sets: list[str], solvers: list[tuple[str, str, float, float]]) -> Iterator[Aggregate]:
    """One aggregate per set and solver, means where the real ones are geometric."""
    for name in sets:
        for solver, role, *_ in solvers:
            mine = [row for row in rows if row.solver == solver and name in ("*", row.instance.partition("/")[0])]
            ratios = sorted(row.ratio or 0.0 for row in mine if row.verdict not in ("infeasible", "no_solution"))
            overheads = [row.overhead for row in mine if row.overhead is not None]
            worst = min(mine, key=lambda row: 2 if row.ratio is None else row.ratio)
            yield Aggregate(
                solver=solver,
                role=role,
                instances=name,
                runs=len(mine),
                solved=sum(row.verdict in ("optimal", "feasible", "infeasible") for row in mine),
                optimal=sum(row.verdict == "optimal" for row in mine),
                overbooked=sum(row.verdict == "overbooked" for row in mine),
                failed=sum(row.verdict in ("failed", "no_solution") for row in mine),
                mean_ratio=sum(ratios) / len(ratios) if ratios else None,
                median_ratio=ratios[len(ratios) // 2] if ratios else None,
                worst_ratio=ratios[0] if ratios else None,
                worst_instance=worst.instance,
                seconds=sum(row.seconds for row in mine) / len(mine),
                par2=sum(row.seconds for row in mine) / len(mine) * 1.3,
                wins=sum(row.win for row in mine),
                mean_overhead=sum(overheads) / len(overheads) if overheads else None,
                mean_overhead_ratio=1.4 if overheads else None,
                mean_throughput_ratio=0.93 if overheads else None,
                peak_mib=max(row.peak_mib or 0 for row in mine),
            )


def profiles(rows: list[Row], solvers: list[tuple[str, str, float, float]]) -> Iterator[Profile]:
    """Both profiles of every solver."""
    fastest: dict[tuple[str, int], float] = {}
    for row in rows:
        key = row.instance, row.seed
        fastest[key] = min(fastest.get(key, row.seconds), row.seconds)
    for solver, *_ in solvers:
        mine = [row for row in rows if row.solver == solver]
        short = sorted(1 - row.ratio for row in mine if row.ratio is not None)
        slow = sorted(row.seconds / fastest[row.instance, row.seed] for row in mine if row.verdict != "failed")
        share = [(k + 1) / len(mine) for k in range(len(mine))]
        yield Profile(solver=solver, kind="quality", x=short, share=share[: len(short)])
        yield Profile(solver=solver, kind="performance", x=slow, share=share[: len(slow)])
