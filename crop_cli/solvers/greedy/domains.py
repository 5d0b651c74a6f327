"""Domains of one level: which there are, which are alike, and which level suits the jobs (model.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import BoolArray, IntArray, Problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.finder import Finder, node_values, worker_caps
from crop_cli.solvers.greedy.outlook import Outlook


@dataclass(frozen=True)
class Domains:
    """The domains of one level in which some open job may gain something, in classes of interchangeable ones.

    Attributes
    ----------
    depth
        Depth of the level.
    classes
        Vertices of each class, ascending. All domains of a class offer every job the same utilities.
    """

    depth: int
    classes: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """Number of domains."""
        return sum(len(members) for members in self.classes)

    @property
    def identical(self) -> bool:
        """Whether all domains are interchangeable."""
        return len(self.classes) <= 1


@dataclass(frozen=True)
class Likeness:
    """Which subtrees no job can tell apart.

    Two nodes are alike when hardware, free resources and failures agree (failures only count if some open job loses
    work by them) and no movable job runs there whose move costs something; two inner vertices when their children,
    with the children's uplinks, can be matched one to one.

    Attributes
    ----------
    subtree
        (V) class of what lies below a vertex, its own uplink aside; comparable within a depth.
    uplink
        (V) class of a vertex's own uplink: bandwidth, and how much of it is free.
    """

    problem: Problem
    subtree: IntArray
    uplink: IntArray

    @classmethod
    def of(cls, problem: Problem) -> Likeness:
        """Classes of all vertices."""
        tree, start = problem.tree, problem.tree.node_vertex
        lossy = problem.instance.objective.failure_weight > 0 and any(
            problem.kind(j).days_lost_per_failure > 0 for j in problem.open_jobs
        )
        marks = np.zeros(problem.n_nodes)
        for job, counts in problem.current.items():
            if problem.migration_cost[job] > 0:
                for n in counts:
                    marks[n] = n + 1
        failures = problem.failures if lossy else np.zeros(problem.n_nodes)
        subtree = np.zeros(tree.n_vertices, dtype=np.int64)
        subtree[start:] = _classes(problem.free, problem.hardware_of, failures, marks)
        free = np.where(np.isfinite(problem.uplink_free), problem.uplink_free, -1.0)
        likeness = cls(problem, subtree, _classes(problem.link_of, free))
        for depth in range(tree.max_depth - 1, -1, -1):
            seen: dict[tuple[tuple[int, int], ...], int] = {}
            for v in range(int(tree.start[depth]), int(tree.start[depth + 1])):
                key = tuple((int(subtree[c]), int(likeness.uplink[c])) for c in likeness.children(v))
                subtree[v] = seen.setdefault(key, len(seen))
        return likeness

    def children(self, vertex: int) -> list[int]:
        """Children in an order by which those of two like vertices correspond."""
        tree = self.problem.tree
        children = range(int(tree.first_child[vertex]), int(tree.end_child[vertex]))
        return sorted(children, key=lambda c: (self.subtree[c], self.uplink[c], c))


def _classes(*columns: np.ndarray) -> IntArray:
    """(n) number of each distinct row."""
    rows = np.column_stack(columns)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def find_domains(problem: Problem, outlook: Outlook, likeness: Likeness, depth: int) -> Domains:
    """Domains of a depth in which some open job may gain something."""
    start = int(problem.tree.start[depth])
    members: dict[int, list[int]] = {}
    for v in np.flatnonzero(_promising(problem, outlook, depth)):
        members.setdefault(int(likeness.subtree[start + v]), []).append(start + int(v))
    return Domains(depth, tuple(tuple(group) for group in members.values()))


def _promising(problem: Problem, outlook: Outlook, depth: int) -> BoolArray:
    """Per vertex of a depth, whether it has room for some job with positive utility, by a test that errs to yes."""
    tree, board = problem.tree, Board.empty(problem)
    vertices = slice(int(tree.start[depth]), int(tree.start[depth + 1]))
    every = slice(0, problem.n_nodes)
    found = np.zeros(vertices.stop - vertices.start, dtype=bool)
    for kind in np.unique(problem.kind_of[problem.open_jobs]):
        room = (outlook.need[kind] <= problem.free + problem.node_slack).all(axis=1)
        alone = room & (node_values(problem, outlook, kind, every) > 0)
        found |= tree.sum_below(alone.astype(np.int64)).astype(np.int64)[vertices] > 0
        if outlook.across[kind, depth:].max(initial=-np.inf) > 0:
            caps = worker_caps(board, outlook, problem, kind, every)
            found |= tree.sum_below(caps)[vertices] >= outlook.k[kind]
        if found.all():
            break
    return found


def deepest_fit(problem: Problem, finder: Finder, likeness: Likeness, budget: Budget) -> dict[int, int]:
    """For every open job the depth of the smallest domain that holds it in the cluster without other open jobs.

    Jobs that fit nowhere are left out. When the budget is used up the others count as fitting into the cluster only.
    """
    board = Board.empty(problem)
    by_kind: dict[int, int | None] = {}
    found = {}
    for job in problem.open_jobs.tolist():
        kind = int(problem.kind_of[job])
        if budget.should_stop:
            by_kind.setdefault(kind, 0)
        if kind not in by_kind:
            depths = range(problem.tree.max_depth, -1, -1)
            by_kind[kind] = next((d for d in depths if _fits_at(finder, likeness, board, job, d)), None)
        depth = by_kind[kind]
        if depth is not None:
            found[job] = depth
    return found


def _fits_at(finder: Finder, likeness: Likeness, board: Board, job: int, depth: int) -> bool:
    """Whether some domain of a depth holds the job; the roomiest are tried first, like ones once."""
    problem, outlook = finder.problem, finder.outlook
    tree, kind = problem.tree, int(problem.kind_of[job])
    every = slice(0, problem.n_nodes)
    if depth == tree.max_depth:
        room = (outlook.need[kind] <= problem.free + problem.node_slack).all(axis=1)
        return bool((room & (outlook.alone[kind, problem.hardware_of] > -np.inf)).any())
    if outlook.across[kind, depth] == -np.inf:
        return False
    start = int(tree.start[depth])
    caps = tree.sum_below(worker_caps(board, outlook, problem, kind, every)).astype(np.int64)
    total = caps[start : int(tree.start[depth + 1])]
    tried: set[int] = set()
    for v in np.argsort(-total, kind="stable"):
        if total[v] < outlook.k[kind]:
            return False
        alike = int(likeness.subtree[start + v])
        if alike not in tried and finder.best(board, job, below=start + int(v)) is not None:
            return True
        tried.add(alike)
    return False


def choose_depth(problem: Problem, fit: dict[int, int]) -> int:
    """Deepest level into whose domains every job fits; failing that, the deepest that serves the most demand.

    Parameters
    ----------
    fit
        What `deepest_fit` returns.
    """
    if not fit:
        return problem.tree.max_depth
    served = [
        sum(problem.kind(j).k for j, d in fit.items() if d >= depth) for depth in range(problem.tree.max_depth + 1)
    ]
    most = max(served[1:])
    return max(depth for depth in range(1, len(served)) if served[depth] == most)
