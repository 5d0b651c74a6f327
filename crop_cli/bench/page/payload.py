"""The data that the page's scripts draw from, small enough to embed and safe inside a script element."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from crop_cli.bench.page.figures import short
from crop_cli.bench.page.placements import Drawings
from crop_cli.bench.page.solvers import Style
from crop_cli.bench.page.traces import traces
from crop_cli.bench.records import Reference, Row, Run, Summary
from crop_cli.model.instance import Instance

LONGEST_TEXT = 600
"""Characters that are kept of an error or a description."""

ROW_FIELDS = (
    "objective", "bound", "gap", "gap_to_best", "ratio", "guarantee", "overhead", "overhead_ratio", "throughput",
    "throughput_ratio", "failures_per_day", "worst_node_blast", "worst_switch_blast", "seconds", "peak_mib",
    "gpus_used", "jobs_placed", "overbooked_uplinks", "worst_load",
)  # fmt: skip
"""Figures of a row that are embedded, in this order, after instance, solver, seed, verdict, stop reason and win."""

_Key = tuple[str, str, int]


def payload(
    summary: Summary, runs: list[Run], instances: Mapping[str, Instance], styles: list[Style], drawn: Drawings
) -> dict[str, Any]:
    """Everything that the scripts need; solvers and instances are positions in the first two lists."""
    solver_at = {style.name: k for k, style in enumerate(styles)}
    instance_at = {reference.instance: k for k, reference in enumerate(summary.references)}
    rows = [row for row in summary.rows if row.instance in instance_at]
    by_key: dict[_Key, Run] = {(run.instance, run.solver, run.seed): run for run in runs}
    details = {}
    for k, row in enumerate(rows):
        detail = _detail(row, by_key.get((row.instance, row.solver, row.seed)))
        if detail:
            details[str(k)] = detail
    return {
        "solvers": [asdict(style) for style in styles],
        "instances": [_reference(one, instances.get(one.instance)) for one in summary.references],
        "fields": ROW_FIELDS,
        "rows": [_row(row, instance_at, solver_at) for row in rows],
        "details": details,
        "profiles": [
            {
                "solver": solver_at[one.solver],
                "kind": one.kind,
                "x": [short(x) for x in one.x],
                "share": [short(share, 4) for share in one.share],
            }
            for one in summary.profiles
            if one.solver in solver_at
        ],
        "traces": traces(runs, summary.references, instance_at, solver_at),
        "limit": summary.settings.time_limit,
        "clusters": {str(instance_at[name]): code for name, code in drawn.clusters.items() if name in instance_at},
        "placements": {
            str(instance_at[name]): {
                str(solver_at[solver]): code for solver, code in codes.items() if solver in solver_at
            }
            for name, codes in drawn.placements.items()
            if name in instance_at
        },
        "left_out": {str(instance_at[name]): why for name, why in drawn.left_out.items() if name in instance_at},
    }


def embed(data: object) -> str:
    """JSON that no HTML parser takes for markup: `<`, `>` and `&` are written as escapes, all else beyond ASCII too."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _row(row: Row, instance_at: dict[str, int], solver_at: dict[str, int]) -> list[Any]:
    head = [instance_at[row.instance], solver_at[row.solver], row.seed, row.verdict, row.stop_reason, int(row.win)]
    return head + [short(getattr(row, name), 8) for name in ROW_FIELDS]


def _detail(row: Row, run: Run | None) -> dict[str, Any]:
    """What only some runs have: an error, what a guarantee is relative to, overbooked uplinks, the back end."""
    detail: dict[str, Any] = {}
    if row.error:
        detail["error"] = _cut(row.error)
    if row.guarantee is not None and row.guarantee_holds_for:
        detail["holds_for"] = row.guarantee_holds_for
    if run is not None and run.loads:
        worst = sorted(run.loads.items(), key=lambda item: (-item[1], item[0]))
        detail["loads"] = [[name, short(load, 4)] for name, load in worst]
    if run is not None and run.back_end:
        detail["back_end"] = f"{run.back_end} {run.back_end_version or ''}".strip()
    return detail


def _reference(one: Reference, instance: Instance | None) -> dict[str, Any]:
    """An instance with what is known about it."""
    return {
        "name": one.instance,
        "set": one.instance.partition("/")[0],
        "sha256": one.sha256,
        "nodes": one.size.nodes,
        "gpus": one.size.gpus,
        "jobs": one.size.jobs,
        "value": short(one.value, 10),
        "bound": short(one.bound, 10),
        "optimal": one.optimal,
        "infeasible": one.infeasible,
        "by": one.by,
        "overhead": short(one.overhead),
        "throughput": short(one.throughput),
        "sources": one.sources,
        "contradiction": one.contradiction,
        "description": _cut(instance.description) if instance else "",
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
