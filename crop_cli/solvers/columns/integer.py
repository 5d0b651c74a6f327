"""The integer master: the best placement that takes every job from a given list of columns. Solved by HiGHS.

Every node and every uplink has its own row: what comes out is a placement, not an average over classes. HiGHS runs in
this process and cannot be stopped from outside, so the limits are counted nodes and a small model; a clock on top keeps
the run's budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import highspy
import numpy as np
from scipy.sparse import csr_array

from crop_cli.model.problem import FloatArray, IntArray, Placement, Problem
from crop_cli.solvers.columns.column import Column, Groups
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.exact.sparse_model import SparseModel

NODES = 200
"""Nodes of branch and bound that a call may take unless told otherwise."""

FEASIBILITY = 1e-9
"""How far HiGHS may exceed a row; far less than the slack that is left to it."""

ABOVE = 1e-7
"""Share by which a placement has to be better than one that is known."""

CALM = 10.0
"""Seconds that a call may take where the budget has no limit: HiGHS counts nodes, not what it does in one of them."""


def best_of_columns(
    problem: Problem,
    groups: Groups,
    columns: Sequence[Column],
    jobs: Sequence[int],
    free: FloatArray,
    uplink_free: FloatArray,
    *,
    above: float | None = None,
    nodes: int = NODES,
    gap: float = 1e-7,
    budget: Budget | None = None,
) -> Placement | None:
    """Best placement of some jobs in what is free, each on one of its group's columns.

    Parameters
    ----------
    problem, groups
        The instance, and its groups of interchangeable jobs (`group_jobs`), to which the columns refer.
    columns
        Candidates. Those of groups without a job in `jobs` are left aside, so are those that nobody has to take and
        that are worth nothing.
    jobs
        Jobs that may be placed. Those of them that must be placed are.
    free, uplink_free
        (N, R) resources and (V) Gbit/s that these jobs may take together.
    above
        Only a placement whose utilities add up to more than this is of use.
    nodes
        Most nodes of branch and bound: 1 is little more than rounding.
    gap
        Relative gap at which the search ends.
    budget
        The run's; the call ends with it, within what one step of HiGHS takes.

    Returns
    -------
    Placement or None
        Of `jobs`; None if none was found.
    """
    model, kept = integer_master(problem, groups, columns, jobs, free, uplink_free)
    if not kept:
        useless = above is not None and above >= 0
        return None if useless or any(problem.must_place[job] for job in jobs) else {}
    taken = _solve(model, above, nodes, gap, budget)
    return None if taken is None else assign(problem, groups, kept, jobs, taken)


def integer_master(
    problem: Problem,
    groups: Groups,
    columns: Sequence[Column],
    jobs: Sequence[int],
    free: FloatArray,
    uplink_free: FloatArray,
) -> tuple[SparseModel, list[Column]]:
    """The model min −Σ U_c·λ_c over whole λ, and the columns that it is about, without doubles.

    Rows: must_g ≤ Σ λ_c ≤ size_g for the groups of `jobs`, then what is free of every node's resources and every uplink
    that is loaded. Capacities are those of the solvers: what is free and the slack (`Problem.node_slack`).
    """
    listed = np.array(jobs, dtype=np.int64)
    size = np.bincount(groups.of_job[listed], minlength=len(groups))
    must = np.bincount(groups.of_job[listed], weights=problem.must_place[listed], minlength=len(groups))
    kept = _distinct([c for c in columns if size[c.group] > 0 and (c.utility > 0 or must[c.group] > 0)])
    n_resources = len(problem.resources)
    first_uplink = len(groups) + problem.n_nodes * n_resources
    demand = [problem.kind(job).demand for job in groups.first.tolist()]
    rows, owner, amount = [], [], []
    for i, column in enumerate(kept):
        on_nodes = column.workers[:, None] * demand[column.group]
        at = len(groups) + column.nodes[:, None] * n_resources + np.arange(n_resources)
        asked = on_nodes > 0
        rows += [np.array([column.group]), at[asked], first_uplink + column.vertices]
        amount += [np.ones(1), on_nodes[asked], column.gbps]
        owner.append(np.full(1 + int(asked.sum()) + len(column.vertices), i))
    upper = np.concatenate(
        [size, (free + problem.node_slack).ravel(), np.where(np.isfinite(uplink_free), uplink_free, np.inf)]
    )
    upper[first_uplink:] += problem.uplink_slack
    upper[len(groups) :] = np.maximum(upper[len(groups) :], 0.0)
    lower = np.full(len(upper), -np.inf)
    lower[: len(groups)] = np.where(must > 0, must, -np.inf)
    if kept:
        entries = np.concatenate(amount), (np.concatenate(rows), np.concatenate(owner))
        matrix = csr_array(entries, shape=(len(upper), len(kept)))
    else:
        matrix = csr_array((len(upper), 0))
    used = np.diff(matrix.indptr) > 0
    used[: len(groups)] = size > 0
    integral = np.zeros(len(upper), dtype=bool)
    integral[: len(groups)] = True
    model = SparseModel(
        cost=np.array([-column.utility for column in kept]),
        upper=size[[column.group for column in kept]].astype(np.int64),
        matrix=matrix[np.flatnonzero(used)],
        row_lower=lower[used],
        row_upper=upper[used],
        integral_row=integral[used],
        start=None,
    )
    return model, kept


def assign(
    problem: Problem, groups: Groups, columns: Sequence[Column], jobs: Sequence[int], taken: IntArray
) -> Placement:
    """Jobs for columns that are taken so often: those that must be placed first, then in file order."""
    waiting: dict[int, list[int]] = defaultdict(list)
    for job in sorted(jobs, key=lambda j: (not problem.must_place[j], j)):
        waiting[int(groups.of_job[job])].append(job)
    placement: Placement = {}
    for i in np.flatnonzero(taken).tolist():
        for _ in range(int(taken[i])):
            placement[waiting[columns[i].group].pop(0)] = columns[i].counts
    return placement


_FEASIBLE_POINT = 2  # kSolutionStatusFeasible


def _distinct(columns: list[Column]) -> list[Column]:
    """Without columns that put the same workers of a group on the same nodes."""
    seen: dict[object, Column] = {}
    for column in columns:
        seen.setdefault((column.group, column.nodes.tobytes(), column.workers.tobytes()), column)
    return list(seen.values())


def _solve(model: SparseModel, above: float | None, nodes: int, gap: float, budget: Budget | None) -> IntArray | None:
    """Best point found whose value is above a limit, rounded; None if there is none."""
    seconds = CALM
    if budget is not None:
        if budget.should_stop:
            return None
        seconds = CALM if budget.remaining is None else min(CALM, budget.remaining)
    highs = highspy._Highs()  # type: ignore[attr-defined]  # the interface class above it prints a banner
    unit = max(1e-12, float(np.abs(model.cost).max(initial=0.0)))
    options = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "mip_rel_gap": gap,
        "mip_abs_gap": 0.0,
        "mip_max_nodes": nodes,
        "mip_feasibility_tolerance": FEASIBILITY,
    }
    for option, value in options.items():
        _require(highs.setOptionValue(option, value))
    _require(highs.passModel(_lp(model, unit)))
    # After the model: a limit that is set already would cut its loading short.
    _require(highs.setOptionValue("time_limit", max(seconds, 1e-3)))
    if above is not None:
        every = np.arange(len(model.cost), dtype=np.int32)
        most = -above / unit - ABOVE * max(1.0, abs(above) / unit)
        _require(highs.addRow(-np.inf, most, len(every), every, model.cost / unit))
    highs.run()
    if highs.getInfo().primal_solution_status != _FEASIBLE_POINT:
        return None
    taken = np.rint(np.array(highs.getSolution().col_value)).astype(np.int64)
    load = model.matrix @ taken
    # What rounding made infeasible is no solution; the slack of capacities is ten times what HiGHS may exceed.
    slack = FEASIBILITY * np.maximum(1.0, np.abs(load)) * 10
    within = (load <= model.row_upper + slack).all() and (load >= model.row_lower - slack).all()
    return taken if within and (taken >= 0).all() and (taken <= model.upper).all() else None


def _lp(model: SparseModel, unit: float) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = model.matrix.shape
    lp.col_cost_ = model.cost / unit
    lp.col_lower_ = np.zeros(lp.num_col_)
    lp.col_upper_ = model.upper.astype(np.float64)
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = model.matrix.indptr
    lp.a_matrix_.index_ = model.matrix.indices
    lp.a_matrix_.value_ = model.matrix.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * lp.num_col_
    return lp


def _require(status: object) -> None:
    if status != highspy.HighsStatus.kOk:
        raise RuntimeError(f"HiGHS returned {status}")
