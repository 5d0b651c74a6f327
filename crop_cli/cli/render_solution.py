"""A solution as a report: the summary, the placement, and why each other job waits."""

from __future__ import annotations

import math

from crop_cli.cli.render_prices import price_tables
from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.model.certificate import TOLERANCE
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Guarantee, LevelTraffic, Metrics, Runtime, Solution
from crop_cli.names import folded, number, percent, plural

STOP = {
    "proved": "proved",
    "completed": "the solver ended by itself; the bound does not prove it optimal",
    "gap_limit": "within the gap asked for",
    "time_limit": "the time limit was reached",
    "interrupted": "interrupted",
    "killed": "the back end overran the time limit and was stopped",
    "error": "the back end failed",
}

CSV_COLUMNS = ["job", "gpus", "nodes", "level", "compute_s", "comm_s", "iteration_s", "efficiency", "goodput"]


def solution_report(instance: Instance, solution: Solution, *, full: bool = False) -> Report:
    """Everything of a solution that a person wants to see; `full`: every price."""
    facts = [
        ("instance", _instance(instance)),
        ("solver", _solver(solution)),
        ("status", f"{solution.status} ({STOP[solution.stop_reason]})"),
        ("objective", _value(solution.objective)),
        ("bound", _value(solution.bound)),
        ("gap", _gap(solution)),
        ("ratio", "-" if solution.ratio is None else f"{solution.ratio:.6g} of the bound"),
        ("guarantee", _guarantee(solution.guarantee)),
    ]
    if solution.metrics is not None:
        facts += _figures(solution.metrics)
    facts.append(("time", _time(solution.runtime_s)))
    return Report(
        facts, [_placements(solution), _unplaced(instance, solution), *price_tables(solution.prices, full=full)]
    )


def solution_csv(solution: Solution) -> str:
    """The placement table with full precision; nodes as "n1:8 n2:8"."""
    rows: list[list[object]] = [
        [
            row.job,
            sum(row.nodes.values()),
            " ".join(f"{name}:{count}" for name, count in row.nodes.items()),
            row.level,
            row.compute_s,
            row.comm_s,
            row.iteration_s,
            row.efficiency,
            row.goodput,
        ]
        for row in solution.placements
    ]
    return comma_separated(CSV_COLUMNS, rows)


def nodes_text(nodes: dict[str, int]) -> str:
    """Workers per node with equal neighbours folded: "n[1-4]:8 n7:2"."""
    runs: list[tuple[int, list[str]]] = []
    for name, count in nodes.items():
        if runs and runs[-1][0] == count:
            runs[-1][1].append(name)
        else:
            runs.append((count, [name]))
    return " ".join(f"{group}:{count}" for count, names in runs for group in folded(names))


def _instance(instance: Instance) -> str:
    nodes = len(instance.cluster.nodes)
    gpus = sum(node.gpus for node in instance.cluster.nodes)
    size = f"{plural(nodes, 'node')}, {plural(gpus, 'GPU')}, {plural(len(instance.jobs), 'job')}"
    return f"{instance.name} ({size})" if instance.name else size


def _solver(solution: Solution) -> str:
    used = solution.solver
    if used.back_end is None:
        return used.name
    version = f" {used.back_end_version}" if used.back_end_version else ""
    return f"{used.name} ({used.back_end}{version})"


def _value(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.9g}"


def _gap(solution: Solution) -> str:
    if solution.gap is not None and 0 < solution.gap <= TOLERANCE:
        return f"0 % (within {TOLERANCE:g})"
    if solution.gap is not None:
        return percent(solution.gap)
    return "undefined: the objective is 0" if solution.bound is not None and solution.objective == 0 else "unknown"


def _guarantee(guarantee: Guarantee) -> str:
    if guarantee.a_priori is None:
        return f"none a priori: {guarantee.why}" if guarantee.why else "none a priori"
    relative = guarantee.relative_to or "optimum"
    factor = math.floor(guarantee.a_priori * 1e4 + 1e-6) / 1e4  # never more than is guaranteed
    return f"at least {factor:g} of the {relative} a priori: {guarantee.why}"


def _figures(metrics: Metrics) -> list[tuple[str, str]]:
    moved = f", {metrics.jobs_moved} moved" if metrics.jobs_moved else ""
    facts = [
        (
            "GPUs",
            f"{metrics.gpus_used} used, {metrics.gpus_free} free (of these {metrics.gpus_stranded} stranded), "
            f"{metrics.gpus_total} up",
        ),
        ("jobs", f"{metrics.jobs_placed} of {metrics.jobs_total} placed{moved}"),
        ("goodput", f"{number(metrics.weighted_goodput)} GPUs of perfect work, weighted"),
        ("communication", f"overhead {percent(metrics.communication_overhead)} of the placed jobs' GPU time"),
    ]
    facts += [("traffic", _traffic(row)) for row in metrics.traffic if row.cuts]
    facts += [
        ("throughput", f"{number(metrics.throughput)} GPU iterations per second"),
        ("failures", f"{number(metrics.failures_per_day)} per day hit a job"),
        ("blast radius", _blast(metrics)),
    ]
    return facts


def _traffic(row: LevelTraffic) -> str:
    load = ""
    if row.highest_load is not None:
        load = f", highest load {percent(row.highest_load)} ({row.highest_loaded_uplink})"
    return (
        f"{row.level} uplinks: {row.cuts} cut, {number(row.gb_per_iteration)} GB per iteration, "
        f"{number(row.reserved_gbps)} Gbit/s reserved{load}"
    )


def _blast(metrics: Metrics) -> str:
    if metrics.worst_node is None:
        return "no job is placed"
    text = f"worst node {metrics.worst_node}: {number(metrics.worst_node_blast)}"
    if metrics.worst_switch is not None:
        text += f", worst switch {metrics.worst_switch}: {number(metrics.worst_switch_blast)}"
    return text + " (weighted goodput lost)"


def _time(runtime: Runtime) -> str:
    return (
        f"{runtime.total:.3f} s (load {runtime.load:.3f}, build {runtime.build:.3f}, solve {runtime.solve:.3f}, "
        f"bound {runtime.bound:.3f})"
    )


def _placements(solution: Solution) -> Table:
    columns = ["job", "GPUs", "nodes", "inside", "iteration", "waiting", "efficiency", "goodput"]
    rows = [
        [
            row.job,
            str(sum(row.nodes.values())),
            nodes_text(row.nodes),
            row.level,
            f"{number(row.iteration_s)} s",
            percent((row.iteration_s - row.compute_s) / row.iteration_s),
            f"{row.efficiency:.4f}",
            number(row.goodput),
        ]
        for row in solution.placements
    ]
    return Table("Placement", columns, rows, frozenset({1, 4, 5, 6, 7}))


def _unplaced(instance: Instance, solution: Solution) -> Table:
    gpus = {job.name: job.gpus for job in instance.jobs}
    rows = [[row.job, str(gpus[row.job]), row.reason] for row in solution.unplaced]
    return Table("Not placed", ["job", "GPUs", "reason"], rows, frozenset({1}))
