"""The integer master: the best placement that takes every job from a given list of columns.

Every node and every uplink has its own row: what comes out is a placement, not an average over classes. The GPUs below
every vertex above the nodes have a row too. It says nothing new, but it is what cuts of branch and bound are made from:
jobs of 8 workers do not fill a rack with 53 free GPUs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_array

from crop_cli.model.problem import FloatArray, IntArray, Placement, Problem
from crop_cli.solvers.columns.column import Column, Groups
from crop_cli.solvers.columns.program import QUESTIONS, solve_here
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.exact.sparse_model import SparseModel

NODES = 200
"""Nodes of branch and bound that a call may take unless told otherwise."""


def best_of_columns(
    problem: Problem,
    groups: Groups,
    columns: Sequence[Column],
    jobs: Sequence[int],
    free: FloatArray,
    uplink_free: FloatArray,
    *,
    above: float | None = None,
    enough: float | None = None,
    nodes: int = NODES,
    questions: int = QUESTIONS,
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
    enough
        The search ends with a placement whose utilities add up to at least this.
    nodes
        Most nodes of branch and bound: 1 is little more than rounding.
    questions
        How often HiGHS may ask whether to go on.
    gap
        Share of the largest utility: the search ends when this near to the best.
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
    largest = float(np.abs(model.cost).max())
    taken = solve_here(
        model, nodes=nodes, questions=questions, gap=gap * largest, above=above, enough=enough, budget=budget
    ).x
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
    that is loaded, then GPUs below vertices. Capacities are those of the solvers: what is free and the slack
    (`Problem.node_slack`).
    """
    listed = np.array(jobs, dtype=np.int64)
    size = np.bincount(groups.of_job[listed], minlength=len(groups))
    must = np.bincount(groups.of_job[listed], weights=problem.must_place[listed], minlength=len(groups))
    kept = distinct(c for c in columns if size[c.group] > 0 and (c.utility > 0 or must[c.group] > 0))
    tree, n_resources = problem.tree, len(problem.resources)
    first_uplink = len(groups) + problem.n_nodes * n_resources
    first_sum = first_uplink + tree.n_vertices
    demand = [problem.kind(job).demand for job in groups.first.tolist()]
    rows, owner, amount = [], [], []
    for i, column in enumerate(kept):
        on_nodes = column.workers[:, None] * demand[column.group]
        at = len(groups) + column.nodes[:, None] * n_resources + np.arange(n_resources)
        asked = on_nodes > 0
        above, below = _sums(problem, column)
        rows += [np.array([column.group]), at[asked], first_uplink + column.vertices, first_sum + above]
        amount += [np.ones(1), on_nodes[asked], column.gbps, below]
        owner.append(np.full(1 + int(asked.sum()) + len(column.vertices) + len(above), i))
    gpus = np.floor(free[:, 0] + problem.node_slack[:, 0])
    upper = np.concatenate(
        [
            size,
            np.maximum(0.0, free + problem.node_slack).ravel(),
            np.maximum(0.0, uplink_free + problem.uplink_slack),
            np.maximum(0.0, tree.sum_below(np.maximum(0.0, gpus))[: tree.node_vertex]),
        ]
    )
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


def taken_by(groups: Groups, columns: Sequence[Column], placement: Placement) -> IntArray | None:
    """How often a placement takes each column; None if it takes others too."""
    at = {(c.group, c.nodes.tobytes(), c.workers.tobytes()): i for i, c in enumerate(columns)}
    taken = np.zeros(len(columns), dtype=np.int64)
    for job, counts in placement.items():
        nodes = np.array(sorted(counts), dtype=np.int64)
        workers = np.array([counts[n] for n in nodes.tolist()], dtype=np.int64)
        i = at.get((int(groups.of_job[job]), nodes.tobytes(), workers.tobytes()))
        if i is None:
            return None
        taken[i] += 1
    return taken


def distinct(columns: Iterable[Column]) -> list[Column]:
    """Without columns that put the same workers of a group on the same nodes."""
    seen: dict[object, Column] = {}
    for column in columns:
        seen.setdefault((column.group, column.nodes.tobytes(), column.workers.tobytes()), column)
    return list(seen.values())


def _sums(problem: Problem, column: Column) -> tuple[IntArray, FloatArray]:
    """Vertices above the nodes with workers of a column below them, and how many."""
    tree = problem.tree
    at, workers = tree.node_vertex + column.nodes, column.workers.astype(np.float64)
    vertices, below = [], []
    for _ in range(tree.max_depth):
        at, inverse = np.unique(tree.parent[at], return_inverse=True)
        workers = np.bincount(inverse, weights=workers).astype(np.float64)
        vertices.append(at)
        below.append(workers)
    return np.concatenate(vertices), np.concatenate(below)
