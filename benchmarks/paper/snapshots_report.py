"""The table of the snapshots: every policy against the least proven bound."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from benchmarks.paper.journal import Row
from benchmarks.paper.tables import percent, spread, table

TEXT = (
    "Moments of clusters of 512 GPUs (100 Gbit/s per node, load 1.3) simulated with CROP and a round every half hour; "
    "the waiting window asks for more than is free. Running jobs stay. F is what placing the window adds, the bound "
    "the least that any exact run proved; overhead is that of the window's placed jobs, and its best that of the "
    "solution with the highest F."
)

NEAR = 0.95

PROVEN = 1e-6


def report(rows: list[Row]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Markdown, figures and pictures (none)."""
    cases: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        cases[row["task"]][row["policy"]] = row
    best = {task: max(_fair(case), key=lambda row: row["objective"]) for task, case in cases.items()}
    proven = sum(row["objective"] >= row["bound"] * (1 - PROVEN) for row in best.values())
    figures = {
        name: _figures([(case[name], best[task]) for task, case in cases.items() if name in case])
        for name in dict.fromkeys(row["policy"] for row in rows)
    }
    ranked = sorted(figures.items(), key=lambda item: -item[1]["ratio"])
    heads = (
        "policy",
        "F / bound: mean",
        "worst",
        f"at least {NEAR:g}",
        "overhead",
        "best's",
        "GPUs placed",
        "overbooks",
    )
    lines = [
        "# Snapshots",
        "",
        f"{TEXT} {len(cases)} moments, {proven} of them solved to proven optimality.",
        "",
        *table(heads, [_line(name, found) for name, found in ranked]),
    ]
    return "\n".join(lines) + "\n", {"moments": len(cases), "proven": proven, "policies": figures}, {}


def _fair(case: dict[str, Row]) -> list[Row]:
    return [row for row in case.values() if not row["overbooked"]]


def _figures(pairs: list[tuple[Row, Row]]) -> dict[str, float]:
    ratios = [row["objective"] / row["bound"] for row, _ in pairs]
    return {
        "ratio": spread(ratios).mean,
        "worst": min(ratios),
        "near": sum(ratio >= NEAR for ratio in ratios),
        "count": len(pairs),
        "overhead": spread(row["overhead"] for row, _ in pairs).mean,
        "best_overhead": spread(best["overhead"] for _, best in pairs).mean,
        "gpus": spread(row["gpus"] for row, _ in pairs).mean,
        "overbooked": sum(row["overbooked"] for row, _ in pairs),
    }


def _line(name: str, found: dict[str, float]) -> list[str]:
    return [
        name, f"{found['ratio']:.4f}", f"{found['worst']:.4f}", f"{found['near']} of {found['count']}",
        percent(found["overhead"], 2), percent(found["best_overhead"], 2), f"{found['gpus']:.1f}",
        str(found["overbooked"]),
    ]  # fmt: skip
