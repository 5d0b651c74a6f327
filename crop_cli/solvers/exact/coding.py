"""Placements as points of the linearisation, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts, Placement, utility
from crop_cli.solvers.exact.linearised import Group, Linearised
from crop_cli.solvers.exact.symmetry import canonical

IntArray = NDArray[np.int64]


def encode(linearised: Linearised, placement: Placement) -> IntArray | None:
    """A feasible point whose value is F of the placement, or better where it had jobs that add nothing.

    Interchangeable nodes, subtrees and jobs change places where the model's order asks for it.

    Returns
    -------
    x
        (n) point; None when the placement is not feasible for the model.
    """
    problem = linearised.problem
    kept = {
        j: counts
        for group in linearised.groups
        for j in group.options.jobs
        if (counts := placement.get(j)) and (group.options.must or utility(problem, j, counts) > 0)
    }
    kept = canonical(problem, kept, linearised.groups)
    x = np.zeros(len(linearised.model.cost), dtype=np.int64)
    for group in linearised.groups:
        splits: list[tuple[int, dict[int, int]]] = []
        for job in group.options.jobs:
            counts = kept.get(job)
            if counts is None:
                continue
            columns = _columns(linearised, group, job, counts)
            if columns is None:
                return None
            stays = counts == problem.current.get(job)
            home = 0 if stays else _home(linearised, group, counts)
            for v in (*problem.tree.ancestors(home), 0):
                if v in group.homed:
                    x[group.homed[v]] += 1
            if len(counts) > 1 and not stays:
                splits.append((home, columns))
            else:
                for column, value in columns.items():
                    x[column] += value
        for first, (_, columns) in zip(group.copies, sorted(splits, key=lambda split: split[0]), strict=False):
            for column, value in columns.items():
                x[first + column] = value
    return x


def decode(linearised: Linearised, x: IntArray) -> Placement:
    """The placement that a feasible point stands for, with the jobs that add nothing left out.

    Among interchangeable jobs the first ones are placed.
    """
    problem = linearised.problem
    placement: Placement = {}
    for group in linearised.groups:
        found: list[Counts] = []
        if group.stay >= 0 and x[group.stay]:
            found.append(dict(problem.current[group.options.jobs[0]]))
        for i, n in enumerate(group.options.whole_nodes):
            found += [{int(n): group.options.kind.k} for _ in range(int(x[group.whole + i]))]
        for first in group.copies:
            counts = _split_counts(group, x, first)
            if counts:
                found.append(counts)
        for job, counts in zip(group.options.jobs, found, strict=False):
            if group.options.must or utility(problem, job, counts) > 0:
                placement[job] = counts
    return placement


def _split_counts(group: Group, x: IntArray, first: int) -> Counts:
    counts: Counts = {}
    if group.split is not None:
        block = group.split.block
        workers = x[first + block.worker_column] * block.worker_count
        for n, w in zip(block.worker_node, workers, strict=True):
            if w > 0:
                counts[int(n)] = counts.get(int(n), 0) + int(w)
    return dict(sorted(counts.items()))


def _home(linearised: Linearised, group: Group, counts: Counts) -> int:
    """The lowest vertex, of a depth that matters to the kind, that holds all workers."""
    tree = linearised.problem.tree
    vertices = {tree.node_vertex + n for n in counts}
    while len(vertices) > 1 or int(tree.depth[next(iter(vertices))]) not in group.options.reach.depths:
        vertices = {int(tree.parent[v]) for v in vertices}
    return vertices.pop()


def _columns(linearised: Linearised, group: Group, job: int, counts: Counts) -> dict[int, int] | None:
    """Columns with values of one job's placement; those of a split are numbered within the block."""
    if counts == linearised.problem.current.get(job):
        return {group.stay: 1}
    if len(counts) == 1:
        at = np.flatnonzero(group.options.whole_nodes == next(iter(counts)))
        return {group.whole + int(at[0]): 1} if len(at) else None
    return None if group.split is None else _split_columns(linearised, group, counts)


def _split_columns(linearised: Linearised, group: Group, counts: Counts) -> dict[int, int] | None:
    """Parts with their classes, the home, and the best level that allows all of them."""
    problem, split = linearised.problem, group.split
    if split is None:
        return None
    tree, kind = problem.tree, group.options.kind
    below: dict[int, int] = {}
    for n, w in counts.items():
        for v in (*tree.ancestors(tree.node_vertex + n), 0):
            below[v] = below.get(v, 0) + w
    depths = set(group.options.reach.depths)
    home = _home(linearised, group, counts)
    columns: dict[int, int] = {}
    for v, w in below.items():
        if w < kind.k and int(tree.depth[v]) in depths:
            part = next((p for p in split.parts.get(v, []) if p.low <= w <= p.high and (w - p.low) % p.step == 0), None)
            if part is None:
                return None
            columns[part.part] = 1
            if part.steps >= 0:
                columns[part.steps] = w // part.step
    levels = next((h.levels for h in group.options.reach.homes if h.vertex == home), ())
    for i, level in enumerate(levels):
        if _allows(linearised, group, level, below):
            return columns | dict.fromkeys(split.tails[home][: i + 1], 1)
    return None


def _allows(linearised: Linearised, group: Group, level: int, below: Counts) -> bool:
    """Whether every count is within the limits of a performance level."""
    problem, kind = linearised.problem, group.options.kind
    allowed, caps = kind.link_allowed(level), kind.node_cap(level)
    for v, w in below.items():
        n = v - problem.tree.node_vertex
        if not allowed[problem.link_of[v], w] or (n >= 0 and w > caps[problem.hardware_of[n]]):
            return False
    return True
