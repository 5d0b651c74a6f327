"""What the configuration LP is about: groups of like jobs, classes of like domains, and configurations.

A configuration is an arrangement up to which jobs of a group and which domain of a class it is of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from crop_cli.model.problem import IntArray, Problem
from crop_cli.model.rules import TOLERANCE
from crop_cli.solvers.greedy.domains import Likeness, find_domains
from crop_cli.solvers.greedy.finder import Place
from crop_cli.solvers.greedy.outlook import Outlook


@dataclass(frozen=True)
class Groups:
    """Open jobs in groups that have the same utility wherever they are placed.

    Attributes
    ----------
    of
        (J) group of every job; −1 for jobs that are not open.
    members
        Jobs of every group, those that must run first.
    size
        (G) jobs of every group.
    """

    of: IntArray
    members: tuple[tuple[int, ...], ...]
    size: IntArray

    @classmethod
    def of_problem(cls, problem: Problem) -> Groups:
        """Jobs of one kind are a group; a job whose move costs something is one of its own."""
        found: dict[tuple[int, int], list[int]] = {}
        for job in problem.open_jobs.tolist():
            own = job in problem.current and problem.migration_cost[job] > 0
            found.setdefault((int(problem.kind_of[job]), job if own else -1), []).append(job)
        of = np.full(problem.n_jobs, -1, dtype=np.int64)
        for g, jobs in enumerate(found.values()):
            of[jobs] = g
            jobs.sort(key=lambda j: (not problem.must_place[j], j))
        members = tuple(tuple(jobs) for jobs in found.values())
        return cls(of, members, np.array([len(jobs) for jobs in members], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class Classes:
    """Domains of one level in classes; an arrangement of one domain can be carried over to the others of its class.

    Attributes
    ----------
    depth
        Depth of the level.
    members
        Vertices of every class, ascending.
    nodes
        Per class and member the nodes below, so that those at equal positions correspond.
    """

    depth: int
    members: tuple[tuple[int, ...], ...]
    nodes: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def count(self) -> int:
        """Number of domains."""
        return sum(map(len, self.members))

    @property
    def size(self) -> IntArray:
        """(C) domains of every class."""
        return np.array([len(members) for members in self.members], dtype=np.int64)


class Slot(NamedTuple):
    """A place of one job of a group: workers by position in the domain's nodes, and the utility there."""

    group: int
    utility: float
    workers: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """An arrangement of any domain of a class, by any jobs of the groups; `value` is the sum of its utilities."""

    of_class: int
    slots: tuple[Slot, ...]
    value: float


def widened(problem: Problem) -> Problem:
    """The problem with capacities raised by what the evaluator tolerates: bounds of it hold for all that is accepted.

    GPUs are whole and stay as they are.
    """
    slack = TOLERANCE * np.maximum(1.0, problem.capacity)
    slack[:, 0] = 0.0
    capacity = problem.instance.cluster.oversubscription * problem.tree.uplink_gbps
    return replace(
        problem,
        free=problem.free + slack,
        uplink_free=problem.uplink_free + TOLERANCE * np.maximum(1.0, capacity),
    )


def find_classes(problem: Problem, outlook: Outlook, likeness: Likeness, depth: int) -> Classes:
    """Classes of the domains of a depth in which some open job may gain something.

    Finer than the likeness: nodes at equal positions have equal capacities too, of which tolerances are shares.
    """
    found: dict[tuple[int, bytes], list[tuple[int, tuple[int, ...]]]] = {}
    for c, members in enumerate(find_domains(problem, outlook, likeness, depth).classes):
        for vertex in members:
            nodes = _nodes_below(problem, likeness, vertex)
            key = (c, problem.capacity[list(nodes), 1:].tobytes())
            found.setdefault(key, []).append((vertex, nodes))
    return Classes(
        depth,
        tuple(tuple(vertex for vertex, _ in pairs) for pairs in found.values()),
        tuple(tuple(nodes for _, nodes in pairs) for pairs in found.values()),
    )


def configuration_of(places: dict[int, Place], groups: Groups, of_class: int, nodes: tuple[int, ...]) -> Configuration:
    """Forget which jobs and which domain of the class an arrangement is of; `nodes` are those of its domain."""
    position = {n: i for i, n in enumerate(nodes)}
    slots = sorted(
        Slot(int(groups.of[job]), place.utility, tuple(sorted((position[n], x) for n, x in place.counts.items())))
        for job, place in places.items()
        if place.utility > 0
    )
    return Configuration(of_class, tuple(slots), float(sum(slot.utility for slot in slots)))


def _nodes_below(problem: Problem, likeness: Likeness, vertex: int) -> tuple[int, ...]:
    """Nodes below a vertex in an order by which those of two like vertices correspond."""
    level = [vertex]
    for _ in range(problem.tree.max_depth - int(problem.tree.depth[vertex])):
        level = [child for v in level for child in likeness.children(v)]
    return tuple(v - problem.tree.node_vertex for v in level)
