"""The table of part (a): every policy against the proven optimum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from benchmarks.paper.journal import Row
from benchmarks.paper.plots import ranges
from benchmarks.paper.tables import Spread, gain, percent, spread, table
from benchmarks.paper.testbed import CONDITIONS, OPTIMUM, OWN, SPEEDS

HEADS = (
    "policy", "F / optimum: mean", "worst", "optimal", "goodput / optimum's: mean", "worst", "best",
    "throughput / optimum's: mean", "worst", "best", "overhead: mean", "over optimum's", "overbooks",
)  # fmt: skip

GAIN_HEADS = (
    "baseline", "throughput: mean", "best case", "worst case", "goodput: mean", "best case", "worst case",
    "wins", "ties", "losses",
)  # fmt: skip

CONDITION_HEADS = [f"{gbps} Gbit/s, {condition}" for gbps in SPEEDS for condition in CONDITIONS]

INTRODUCTION = (
    "4 nodes × 2 and 2 nodes × 4 A100 (PCIe 4.0), 25 and 100 Gbit/s per node; healthy, one node 1.5 times slower, or 2 "
    "GPUs taken; the same 20 mixes of ResNet-50, VGG-16, BERT, GPT-2 and Inception v3 jobs of 1 to 8 GPUs on each, "
    "half of which ask for exactly 8 GPUs, half for at least 12. Seconds and messages are those of crop's table of "
    "measured models. Rules that overbook uplinks are scored under fair sharing. Overhead is the share of the placed "
    "jobs' GPU time lost to the network; its last column is the difference to the optimum's in percentage points."
)

GAINS = (
    "How much more throughput (GPU iterations per second) and goodput it has on the same instance; wins and losses "
    "are those of F, which is the goodput less a small penalty. Throughput adds up iterations of different models as "
    "if they were alike, so that a placement which prefers models with short iterations has more of it. Instances "
    "where the baseline places nothing are left out of the means."
)

TIE = 1e-6

CROP = "greedy"
"""What baselines are compared with."""


def report(rows: list[Row]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Markdown, figures and pictures."""
    everything = by_case(rows)
    # An 8-GPU job alone, with 2 GPUs taken: nothing can be placed, and there is nothing to compare.
    cases = {name: case for name, case in everything.items() if case[OPTIMUM]["objective"] > 0}
    empty = len(everything) - len(cases)
    rows = [row for row in rows if row["task"] in cases]
    figures = {name: figures_of(name, cases) for name in names(rows)}
    best = cases.values()
    proven = sum(case[OPTIMUM]["proven"] for case in best)
    baselines = [name for name in ordered(figures) if name not in (OPTIMUM, *OWN)]
    lines = [
        "# 8 GPUs: every policy against the optimum",
        "",
        f"{INTRODUCTION} {len(cases)} instances (on {empty} more nothing fits), the optimum proven on {proven}.",
        "",
        *table(HEADS, [_line(name, figures[name]) for name in ordered(figures)]),
        "",
        "![goodput of every policy over the optimum's](testbed.svg)",
        "",
        f"## {CROP} over each baseline",
        "",
        GAINS,
        "",
        *table(GAIN_HEADS, [_gains(name, cases) for name in baselines]),
        "",
        "## Mean goodput over the optimum's, by condition",
        "",
        *table(("policy", *CONDITION_HEADS), _by_condition(rows, ordered(figures))),
    ]
    picture = ranges(
        "8 GPUs: goodput over that of the proven optimum (worst, mean, best)",
        "share of the optimum's goodput",
        [(name, *_ends(figures[name]["goodput"])) for name in ordered(figures)],
        OWN,
    )
    plain = {name: {key: _plain(value) for key, value in found.items()} for name, found in figures.items()}
    return "\n".join(lines) + "\n", {"cases": len(cases), "proven": proven, "policies": plain}, {"testbed": picture}


def by_case(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Rows by instance and policy."""
    cases: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        cases[row["task"]][row["policy"]] = row
    return dict(cases)


def names(rows: Iterable[Row]) -> list[str]:
    """Policies in the order in which they come."""
    return list(dict.fromkeys(row["policy"] for row in rows))


def figures_of(name: str, cases: dict[str, dict[str, Row]]) -> dict[str, Any]:
    """What the table says about a policy; ratios are to the optimum of the same instance."""
    pairs = [(case[name], case[OPTIMUM]) for case in cases.values() if name in case]
    return {
        "objective": spread(_ratio(row, best, "objective") for row, best in pairs),
        "optimal": sum(_ratio(row, best, "objective") >= 1 - TIE and not row["overbooked"] for row, best in pairs),
        "goodput": spread(_ratio(row, best, "goodput") for row, best in pairs),
        "throughput": spread(_ratio(row, best, "throughput") for row, best in pairs),
        "overhead": spread(row["overhead"] for row, _ in pairs),
        "overhead_more": spread(row["overhead"] - best["overhead"] for row, best in pairs),
        "overbooked": sum(row["overbooked"] for row, _ in pairs),
    }


def ordered(figures: dict[str, dict[str, Any]]) -> list[str]:
    """The optimum, crop's own, baselines from best to worst mean F."""
    ranked = sorted(figures, key=lambda name: -figures[name]["objective"].mean)
    return [OPTIMUM, *OWN, *(name for name in ranked if name not in (OPTIMUM, *OWN))]


def _ratio(row: Row, best: Row, key: str) -> float:
    return float(row[key] / best[key])


def _line(name: str, figures: dict[str, Any]) -> list[str]:
    objective, goodput, throughput = figures["objective"], figures["goodput"], figures["throughput"]
    return [
        name, f"{objective.mean:.4f}", f"{objective.low:.4f}", f"{figures['optimal']} of {objective.count}",
        f"{goodput.mean:.4f}", f"{goodput.low:.4f}", f"{goodput.high:.4f}",
        f"{throughput.mean:.4f}", f"{throughput.low:.4f}", f"{throughput.high:.4f}",
        percent(figures["overhead"].mean, 2), f"{100 * figures['overhead_more'].mean:+.2f}", str(figures["overbooked"]),
    ]  # fmt: skip


def _gains(name: str, cases: dict[str, dict[str, Row]]) -> list[str]:
    pairs = [(case[CROP], case[name]) for case in cases.values()]
    cells = [name]
    for key in ("throughput", "goodput"):
        found = spread(gain(own[key], other[key]) for own, other in pairs if other[key] > 0)
        cells += [percent(value, sign=True) for value in (found.mean, found.high, found.low)]
    differences = [own["objective"] - other["objective"] for own, other in pairs]
    wins, losses = sum(d > TIE for d in differences), sum(d < -TIE for d in differences)
    return [*cells, str(wins), str(len(pairs) - wins - losses), str(losses)]


def _by_condition(rows: list[Row], policies: list[str]) -> Iterable[list[str]]:
    for name in policies:
        cells = [name]
        for gbps in SPEEDS:
            for condition in CONDITIONS:
                mine = [row for row in rows if row["gbps"] == gbps and row["condition"] == condition]
                found = [_ratio(case[name], case[OPTIMUM], "goodput") for case in by_case(mine).values()]
                cells.append(f"{spread(found).mean:.4f}" if found else "-")
        yield cells


def _ends(found: Spread) -> tuple[float, float, float]:
    return found.low, found.mean, found.high


def _plain(value: Any) -> Any:
    if isinstance(value, Spread):
        return {"mean": value.mean, "worst": value.low, "best": value.high, "count": value.count}
    return value
