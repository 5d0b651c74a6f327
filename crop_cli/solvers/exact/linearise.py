"""The linearisation of model.md, section 6, as sparse arrays for any back end.

Interchangeable jobs (`options`) are one *group*. A group has

- `whole[n]`, the number of its jobs that run wholly on node n: their utility is known, so it is the objective;
- one copy of a block of columns (`split`) per job, for a placement that is split over nodes; copies are used in order;
- for a movable job `stay`, which is 1 when it keeps its current placement; all else pays the migration;
- `homed[v]`, per inner vertex, the number of its jobs with their home at or below v.

So equal jobs are told apart only where they must be, and performance levels are needed for splits alone. Rows across
groups are the resources of nodes, the bandwidth of the uplinks that can be overbooked, and the order of interchangeable
siblings (`symmetry`).

F = constant − cost·x; the constant is the value of the pinned jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Placement, Problem, reserved_gbps
from crop_cli.solvers.exact.coding import encode
from crop_cli.solvers.exact.linearised import Group, Linearised
from crop_cli.solvers.exact.options import Options, all_options, limiting_uplinks
from crop_cli.solvers.exact.rows import Block, Rows, Sheet
from crop_cli.solvers.exact.split import split_block
from crop_cli.solvers.exact.symmetry import add_copy_orders, add_orders

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class OutOfTimeError(Exception):
    """The time was up before the model stood."""


def linearise(
    problem: Problem, start: Placement | None = None, should_stop: Callable[[], bool] = lambda: False
) -> Linearised:
    """The problem as a mixed-integer program that any back end can solve.

    Its optimum is the maximum of F over all feasible placements; it is infeasible exactly when none of them places all
    jobs that must be placed.

    Parameters
    ----------
    problem
        Any problem; the size of the model is about jobs × vertices.
    start
        A feasible placement that becomes `model.start`.
    should_stop
        Asked before every group of jobs; a large model takes a while to build.

    Raises
    ------
    OutOfTimeError
        When `should_stop` said so.
    """
    groups_options = all_options(problem)
    limiting = limiting_uplinks(problem, groups_options)
    sheet = Sheet(n_resources=len(problem.resources))
    built = []
    for options in groups_options:
        if should_stop():
            raise OutOfTimeError
        built.append(_add_group(problem, sheet, options, limiting))
    groups = tuple(built)
    _add_resources(problem, sheet)
    _add_uplinks(problem, sheet, limiting)
    _add_domains(problem, sheet, groups)
    add_orders(problem, sheet.rows, groups)
    linearised = Linearised(problem, sheet.model(), problem.pinned_value, groups)
    if start is None:
        return linearised
    return replace(linearised, model=replace(linearised.model, start=encode(linearised, start)))


def _add_group(problem: Problem, sheet: Sheet, options: Options, limiting: set[int]) -> Group:
    """Columns of a group, and the rows that count its jobs."""
    demand = options.kind.demand
    whole = sheet.add_block(_whole_block(options), demand)
    split, copies = None, list[int]()
    if options.reach.homes:
        split = split_block(problem, options, limiting)
        copies = [sheet.add_block(split.block, demand) for _ in options.jobs]
    stay = -1
    if options.stay_value is not None:
        stay = sheet.add_block(_stay_block(problem, options.jobs[0], options.stay_value, limiting), demand)
    group = Group(options, whole, split, tuple(copies), stay, homed={})
    _add_homed(problem, sheet, group)
    add_copy_orders(sheet.rows, group)
    if options.must:
        sheet.rows.add([(group.homed[0], 1.0)], lower=float(len(options.jobs)))
    return group


def _add_homed(problem: Problem, sheet: Sheet, group: Group) -> None:
    """`Group.homed`, from the bottom up: jobs at home in the children, and splits whose home is the vertex itself.

    They are sums of other columns; as columns, libraries branch on them, and a branch on where a job is, or whether it
    is placed at all, decides far more than one on a single node.
    """
    tree, options, depths = problem.tree, group.options, group.options.reach.depths
    homed: dict[int, list[int]] = {
        v: [] for d in depths[:-1] for v in range(int(tree.start[d]), int(tree.start[d + 1]))
    }
    for i, n in enumerate(options.whole_nodes):
        v = int(tree.node_vertex + n)
        while v not in homed:
            v = int(tree.parent[v])
        homed[v].append(group.whole + i)
    if group.split is not None:
        for v, tails in group.split.tails.items():
            homed[v] += [first + tails[0] for first in group.copies]
    if group.stay >= 0:
        homed[0].append(group.stay)
    for v in sorted(homed, reverse=True):
        if not homed[v] and (v > 0 or not options.must):
            continue
        column = sheet.add_column(len(options.jobs))
        sheet.rows.add([*((c, 1.0) for c in homed[v]), (column, -1.0)], lower=0.0, upper=0.0)
        group.homed[v] = column
        if v > 0:
            above = int(tree.parent[v])
            while above not in homed:
                above = int(tree.parent[above])
            homed[above].append(column)


def _whole_block(options: Options) -> Block:
    n = len(options.whole_nodes)
    return Block(
        value=options.whole_value,
        upper=options.whole_fit,
        rows=Rows(),
        placed=np.arange(n),
        worker_column=np.arange(n),
        worker_node=options.whole_nodes,
        worker_count=np.full(n, options.kind.k),
        rate_column=np.zeros(0, dtype=np.int64),
        rate_vertex=np.zeros(0, dtype=np.int64),
        rate=np.zeros(0),
    )


def _stay_block(problem: Problem, job: int, value: float, limiting: set[int]) -> Block:
    counts = problem.current[job]
    vertices, rates = reserved_gbps(problem, job, counts)
    limited = np.isin(vertices, list(limiting))
    return Block(
        value=np.array([value]),
        upper=np.array([1]),
        rows=Rows(),
        placed=np.array([0]),
        worker_column=np.zeros(len(counts), dtype=np.int64),
        worker_node=np.array(list(counts), dtype=np.int64),
        worker_count=np.array(list(counts.values()), dtype=np.int64),
        rate_column=np.zeros(int(limited.sum()), dtype=np.int64),
        rate_vertex=vertices[limited],
        rate=rates[limited],
    )


def _add_resources(problem: Problem, sheet: Sheet) -> None:
    """Σ_j d_jr·x_jn ≤ free, for every resource of every node; without rows that cannot bind.

    GPUs are whole, and so are other resources of which every job needs whole numbers: their capacity is rounded down.
    """
    columns, nodes, loads = sheet.loads()
    order = np.argsort(nodes, kind="stable")
    columns, nodes, loads = columns[order], nodes[order], loads[order]
    upper = np.concatenate([*sheet.upper, np.zeros(0, dtype=np.int64)])
    ends = np.searchsorted(nodes, np.arange(problem.n_nodes + 1))
    for n in range(problem.n_nodes):
        of_node = slice(ends[n], ends[n + 1])
        for r in range(len(problem.resources)):
            load, column = loads[of_node, r], columns[of_node]
            room = float(problem.free[n, r] + problem.node_slack[n, r])
            if (load == np.rint(load)).all():
                room = float(np.floor(room))
            if float(load @ upper[column]) > room:
                sheet.rows.add(_terms(column[load > 0], load[load > 0]), upper=room)


def _add_uplinks(problem: Problem, sheet: Sheet, limiting: set[int]) -> None:
    """Σ_j r_jv ≤ what is left of φ·B_v."""
    columns, vertices, rates = sheet.reserved()
    for v in sorted(limiting):
        of_vertex = vertices == v
        room = float(problem.uplink_free[v] + problem.uplink_slack[v])
        sheet.rows.add(_terms(columns[of_vertex], rates[of_vertex]), upper=room)


def _add_domains(problem: Problem, sheet: Sheet, groups: tuple[Group, ...]) -> None:
    """Σ_j k_j·homed_j(v) ≤ free GPUs below v, for every inner vertex v.

    The rows of the nodes imply it. As one row over whole jobs it is a knapsack, which libraries round far better.
    """
    gpus = problem.tree.sum_below(problem.free_gpus)
    for v in range(problem.tree.node_vertex):
        held = [(group.homed[v], float(group.options.kind.k)) for group in groups if v in group.homed]
        if held:
            sheet.rows.add(held, upper=float(gpus[v]))


def _terms(columns: IntArray | list[int], coefficients: FloatArray | list[float]) -> list[tuple[int, float]]:
    return [(int(c), float(a)) for c, a in zip(columns, coefficients, strict=True)]
