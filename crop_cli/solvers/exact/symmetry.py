"""Interchangeable nodes and subtrees, and the order that breaks their symmetry.

Two nodes are interchangeable when they have the same parent and the same data: free resources, hardware, failures,
state, bandwidth and what is left of it. Two sibling subtrees are when the multisets of their children are, with equal
uplinks. Swapping two interchangeable subtrees turns a feasible placement into one of the same value. A node that a
movable job runs on is like no other node, because staying there is free.

So we may ask that interchangeable siblings stand in the order of the first group of jobs in them, when groups of
interchangeable jobs are ranked, largest jobs first. A job is *in* a node when it has workers there; it is in a switch
when its home is there or below. (Loads would be an order, too, but a weak one: good placements fill most nodes.)

All the orders hold at once for some equivalent of every placement:

- Sort the children of the deepest inner vertices first, then go up. Sorting whole subtrees later moves their children
  together, in their order, since interchangeable ones are matched in that order; what is in them stays the same.
- Renaming interchangeable jobs does not change which groups are where. So they can be renamed last: the copies of a
  group's block are used in the order of the home's number.

With P_g(v) the number of jobs of group g in v, n_g the number of its jobs, and u the sibling before v, the rows say:
P_g(v) ≤ n_g·Σ_{f ranked up to g} P_f(u). For a group of one job and inner vertices more holds, since a job has one
home: Σ_{w from v on} P_g(w) ≤ Σ_{f ranked before g} P_f(u).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Placement, Problem
from crop_cli.solvers.exact.linearised import Group
from crop_cli.solvers.exact.rows import Rows, Terms

IntArray = NDArray[np.int64]

RANKED = 8
"""So many groups decide an order; siblings with none of them are last. More make the model large and no faster."""

MOST_COPIES = 8
"""Groups of more jobs do not: their sums would be long."""

COMPARED = 6
"""The order of copies is asked for at so many of the homes, evenly spaced, the last one included."""


def sibling_classes(problem: Problem) -> list[list[int]]:
    """Classes, with two vertices or more, of interchangeable siblings; ascending within a class, deepest first."""
    keys = _keys(problem)
    classes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for v in range(problem.tree.n_vertices - 1, 0, -1):
        classes[int(problem.tree.parent[v]), keys[v]].append(v)
    return [members[::-1] for members in classes.values() if len(members) > 1]


def add_orders(problem: Problem, rows: Rows, groups: Sequence[Group]) -> None:
    """The rows of the module's text."""
    for members in sibling_classes(problem):
        depth = int(problem.tree.depth[members[0]])
        inner = depth < problem.tree.max_depth
        ranked = _ranked(problem, groups, depth)
        inside = [[_inside(problem, group, v) for v in members] for group in ranked]
        for i in range(1, len(members)):
            before: list[int] = []
            for group, columns in zip(ranked, inside, strict=True):
                n = len(group.options.jobs)
                if inner and n == 1:
                    later: Terms = [(c, 1.0) for at in columns[i:] for c in at]
                    _at_most(rows, later, before, 1)
                    before += columns[i - 1]
                else:
                    before += columns[i - 1]
                    _at_most(rows, [(c, 1.0) for c in columns[i]], before, n)


def add_copy_orders(rows: Rows, group: Group) -> None:
    """Copies of a block are used in the order of their homes: for all u, Σ_{v up to u} h(v) falls along the copies."""
    if group.split is None:
        return
    columns = [group.split.tails[home][0] for home in sorted(group.split.tails)]
    steps = sorted({len(columns) * i // COMPARED for i in range(1, COMPARED + 1)} - {0})
    for one, two in pairwise(group.copies):
        for end in steps:
            used: Terms = [(one + column, 1.0) for column in columns[:end]]
            rows.add(used + [(two + column, -1.0) for column in columns[:end]], lower=0.0)


def canonical(problem: Problem, placement: Placement, groups: Sequence[Group]) -> Placement:
    """An equivalent placement that satisfies the rows of `add_orders`."""
    tree = problem.tree
    keys = _keys(problem)
    content = np.arange(problem.n_nodes)  # content[n]: the node whose workers node n takes over
    for members in sibling_classes(problem):
        ranked = _ranked(problem, groups, int(tree.depth[members[0]]))
        first = _first_in(problem, placement, ranked, content, members)
        moved = content.copy()
        for target, source in zip(members, [members[i] for i in np.argsort(first, kind="stable")], strict=True):
            moved[_leaves(problem, keys, target)] = content[_leaves(problem, keys, source)]
        content = moved
    place = np.empty_like(content)
    place[content] = np.arange(problem.n_nodes)
    return {j: {int(place[n]): x for n, x in sorted(counts.items())} for j, counts in placement.items()}


def _at_most(rows: Rows, left: Terms, right: list[int], times: int) -> None:
    if left:
        rows.add(left + [(c, -float(times)) for c in right], upper=0.0)


def _ranked(problem: Problem, groups: Sequence[Group], depth: int) -> list[Group]:
    """Groups that decide the order of siblings of a depth, largest jobs first."""
    inner = depth < problem.tree.max_depth
    fit = [
        group
        for group in groups
        if len(group.options.jobs) <= MOST_COPIES and (not inner or depth in group.options.reach.depths)
    ]
    return sorted(fit, key=lambda group: (-group.options.kind.k, group.options.jobs))[:RANKED]


def _inside(problem: Problem, group: Group, v: int) -> list[int]:
    """Columns whose sum is the number of a group's jobs in a vertex."""
    node = v - problem.tree.node_vertex
    if node >= 0:
        return group.on_node(node, v)
    return [group.homed[v]] if v in group.homed else []


def _first_in(
    problem: Problem, placement: Placement, ranked: list[Group], content: IntArray, members: list[int]
) -> list[int]:
    """Rank of the first group in every member, for nodes that have taken over others' workers."""
    tree, taken = problem.tree, np.empty_like(content)
    taken[content] = np.arange(len(content))
    first = [len(ranked)] * len(members)
    for rank, group in enumerate(ranked):
        for j in group.options.jobs:
            counts = placement.get(j, {})
            if not counts or counts == problem.current.get(j):
                continue
            nodes = taken[list(counts)]
            for i, v in enumerate(members):
                within = (nodes >= tree.first_node[v]) & (nodes < tree.end_node[v])
                is_in = within.any() if v >= tree.node_vertex else within.all()
                if is_in:
                    first[i] = min(first[i], rank)
    return first


def _keys(problem: Problem) -> list[int]:
    """(V) equal for two vertices of the same depth exactly when their subtrees are interchangeable up to the parent."""
    tree = problem.tree
    touched = {n for counts in problem.current.values() for n in counts}
    numbers: dict[object, int] = {}
    keys = [0] * tree.n_vertices
    for v in range(tree.n_vertices - 1, 0, -1):
        uplink = (int(tree.depth[v]), int(problem.link_of[v]), float(problem.uplink_free[v]))
        n = v - tree.node_vertex
        data: tuple[object, ...]
        if n >= 0:
            own = n if n in touched else -1
            health = (int(problem.hardware_of[n]), float(problem.failures[n]), bool(problem.up[n]))
            data = (problem.free[n].tobytes(), *health, own)
        else:
            data = tuple(sorted(keys[c] for c in range(int(tree.first_child[v]), int(tree.end_child[v]))))
        keys[v] = numbers.setdefault((uplink, data), len(numbers))
    return keys


def _leaves(problem: Problem, keys: list[int], vertex: int) -> list[int]:
    """Nodes below a vertex in an order in which equal subtrees correspond: children by key, then by number."""
    tree = problem.tree
    if vertex >= tree.node_vertex:
        return [vertex - tree.node_vertex]
    children = sorted(range(int(tree.first_child[vertex]), int(tree.end_child[vertex])), key=lambda c: (keys[c], c))
    return [n for c in children for n in _leaves(problem, keys, c)]
