"""Interchangeable nodes and subtrees, and the order that breaks their symmetry.

Two nodes are interchangeable when they have the same parent and the same data: free resources, hardware, failures,
state, bandwidth and what is left of it. Two sibling subtrees are when the multisets of their children are, with equal
uplinks. Swapping two interchangeable subtrees turns a feasible placement into one of the same value, so we may ask that
interchangeable siblings stand in the order of their load (GPUs in use by open jobs, most first):

- Sort the children of the deepest inner vertices first, then go up. Sorting whole subtrees later moves their children
  together and keeps the order among interchangeable ones, since they are matched in that order.
- Renaming jobs of the same kind changes no load, so an order among such jobs is compatible with all of this.

A node that a movable job runs on is like no other node, because staying there is free.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Placement, Problem

IntArray = NDArray[np.int64]


def sibling_classes(problem: Problem) -> list[list[int]]:
    """Classes, with two vertices or more, of interchangeable siblings; ascending within a class, deepest first."""
    keys = _keys(problem)
    classes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for v in range(problem.tree.n_vertices - 1, 0, -1):
        classes[int(problem.tree.parent[v]), keys[v]].append(v)
    return [members[::-1] for members in classes.values() if len(members) > 1]


def canonical(problem: Problem, placement: Placement) -> Placement:
    """An equivalent placement in which every class of interchangeable siblings has descending loads."""
    tree = problem.tree
    load = np.zeros(problem.n_nodes, dtype=np.int64)
    for counts in placement.values():
        for n, workers in counts.items():
            load[n] += workers
    keys = _keys(problem)
    # content[n]: the node whose workers node n takes over.
    content = np.arange(problem.n_nodes)
    for members in sibling_classes(problem):
        ranges = [range(int(tree.first_node[v]), int(tree.end_node[v])) for v in members]
        held = [(-int(load[content[r]].sum()), i) for i, r in enumerate(ranges)]
        moved = content.copy()
        for target, (_, source) in enumerate(sorted(held)):
            for to, back in zip(
                _leaves(problem, keys, members[target]), _leaves(problem, keys, members[source]), strict=True
            ):
                moved[to] = content[back]
        content = moved
    place = np.empty_like(content)
    place[content] = np.arange(problem.n_nodes)
    return {j: {int(place[n]): x for n, x in sorted(counts.items())} for j, counts in placement.items()}


def _keys(problem: Problem) -> list[int]:
    """(V) equal for two vertices of the same depth exactly when their subtrees are interchangeable up to the parent."""
    tree = problem.tree
    touched = {n for counts in problem.current.values() for n in counts}
    numbers: dict[object, int] = {}
    keys = [0] * tree.n_vertices
    for v in range(tree.n_vertices - 1, 0, -1):
        uplink = (int(tree.depth[v]), int(problem.link_of[v]), float(problem.uplink_free[v]))
        n = v - tree.node_vertex
        data: object
        if n >= 0:
            failures = float(problem.failures[n])
            data = (
                problem.free[n].tobytes(),
                int(problem.hardware_of[n]),
                failures,
                bool(problem.up[n]),
                n if n in touched else -1,
            )
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
