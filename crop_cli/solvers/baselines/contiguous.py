"""Contiguous: windows of queued jobs on consecutive nodes, least hops by an exact integer program.

The static continuity assignment of window-based topology-aware allocation: of each window of jobs, as many as possible
start, each on consecutive nodes in tree order; among these choices the sum of their hop costs is least
(model/modelhpc.py). Start nodes are binaries; that a job runs, a binary of its own in the source, is their sum here,
and jobs with equal demands and constraints share their variables. The source gives whole nodes to jobs; here a node's
GPUs and resources are shared by capacity, which is the same for jobs that fill their nodes. HiGHS replaces SCIP.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from crop_cli.model.problem import Counts, Placement
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.queueing.baseline import Queue, whole_queue
from crop_cli.solvers.queueing.options import whole_number
from crop_cli.solvers.queueing.runs import hop_cost, runs
from crop_cli.solvers.queueing.scratch import scratch
from crop_cli.solvers.queueing.view import View

WINDOW = 32
"""Jobs of one program."""

LONGEST = 10.0
"""Seconds that one program may take where no limit is set."""

OUT_OF_TIME = 1
"""Status of a program that ended at its time limit (`scipy.optimize.milp`)."""


@whole_queue(
    source="Optimization of Topology-Aware Job Allocation on a High-Performance Computing Cluster by Neural Simulated "
    "Annealing, IEEE CLUSTER 2023, arXiv 2302.03517 (github.com/lzk23/hpcschedule, model/modelhpc.py)",
    knows=("window",),
)
def place(queue: Queue, view: View, budget: Budget) -> Placement:
    """Window after window, each on what those before it leave."""
    size = whole_number(view.options, "window", WINDOW)
    ahead, found = scratch(view), Placement()
    for start in range(0, len(queue), size):
        if budget.should_stop:
            break
        left = -(-(len(queue) - start) // size)
        seconds = LONGEST if budget.remaining is None else budget.remaining / left
        for job, counts in _solve(queue[start : start + size], ahead, seconds).items():
            ahead.take(job, counts)
            found[job] = counts
    view.limited = ahead.limited
    return found


@dataclass(frozen=True, slots=True)
class _Group:
    """Jobs of a window with equal demands and constraints, their runs, and what each run costs."""

    jobs: list[int]
    runs: list[Counts]
    costs: list[float]


def _solve(window: Queue, view: View, seconds: float) -> Placement:
    """The window's program: minimise Σ hop cost of chosen runs + Σ penalty of jobs without one."""
    groups = _groups(window, view)
    columns = [(g, counts) for g, group in enumerate(groups) for counts in group.runs]
    if not columns:
        return {}
    # One more job is always worth any hops; a job that must run is worth all others.
    penalty = 1.0 + sum(max(group.costs) * len(group.jobs) for group in groups)
    must = [view.problem.must_place[group.jobs[0]] for group in groups]
    gain = np.array([penalty * (1 + len(window) * must[g]) for g, _ in columns])
    result = milp(
        np.concatenate([np.array(group.costs) for group in groups]) - gain,
        integrality=np.ones(len(columns), dtype=np.int64),
        bounds=Bounds(0, [len(groups[g].jobs) for g, _ in columns]),
        constraints=_rows(view, groups, columns),
        options={"time_limit": seconds},
    )
    view.limited |= result.status == OUT_OF_TIME
    if result.x is None:
        return {}
    placement: Placement = {}
    waiting = [iter(group.jobs) for group in groups]
    for (g, counts), times in zip(columns, np.rint(result.x).astype(int).tolist(), strict=True):
        placement.update({next(waiting[g]): dict(counts) for _ in range(times)})
    return placement


def _groups(window: Queue, view: View) -> list[_Group]:
    """Jobs with equal runs together, those that must run apart; groups without any run are left out."""
    members: dict[object, list[int]] = {}
    for job in window:
        kind = view.problem.kind(job)
        types = np.isfinite(kind.compute_s).tobytes()
        key = (kind.demand.tobytes(), types, kind.allowed.tobytes(), bool(view.problem.must_place[job]))
        members.setdefault(key, []).append(job)
    groups = []
    for jobs in members.values():
        found = list(runs(view, jobs[0]))
        if found:
            groups.append(_Group(jobs, found, [hop_cost(view.problem.tree, counts) for counts in found]))
    return groups


def _rows(view: View, groups: list[_Group], columns: list[tuple[int, Counts]]) -> LinearConstraint:
    """At most one run for each job of a group; no more on a node than it has free of every resource."""
    n_resources = view.state.free.shape[1]
    rows, places, amounts = [g for g, _ in columns], list(range(len(columns))), [1.0] * len(columns)
    for c, (g, counts) in enumerate(columns):
        demand = view.problem.kind(groups[g].jobs[0]).demand
        for n, x in counts.items():
            for r in np.flatnonzero(demand).tolist():
                rows.append(len(groups) + n * n_resources + r)
                places.append(c)
                amounts.append(x * float(demand[r]))
    limits = np.concatenate([[len(group.jobs) for group in groups], view.state.free.ravel()])
    matrix = csr_array((amounts, (rows, places)), shape=(len(limits), len(columns)))
    return LinearConstraint(matrix, -np.inf, np.maximum(limits, 0.0))
