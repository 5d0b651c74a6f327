"""What a placement rule may look at: the tree, what is free, and where a job could go by its own constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts, Placement, Problem
from crop_cli.solvers.fits import Fit, Room
from crop_cli.solvers.state import State

IntArray = NDArray[np.int64]


@dataclass(slots=True)
class View:
    """The cluster at one moment of the queue.

    Uplinks and failures are not part of it: most rules ignore them, and those that do not read `problem` and `state`.

    Attributes
    ----------
    problem
        The compiled instance: `problem.tree` has the vertices, `problem.kind(job)` a job's tables.
    state
        What is left: `state.free` (N, R) and `state.uplink_free` (V), negative where an uplink is overbooked. Rules
        read it; who calls the rule keeps it.
    placed
        Jobs that have a place: running ones, and those the queue placed so far.
    rng
        Seeded by the request.
    options
        `--set` pairs of the rule.
    limited
        Set by a rule of which a step ended at its share of the time limit: more time could have changed the answer.
    """

    problem: Problem
    state: State
    placed: Placement
    rng: np.random.Generator
    options: dict[str, str]
    limited: bool = False

    @property
    def free_gpus(self) -> IntArray:
        """(N) free GPUs of nodes that are up."""
        return np.rint(self.state.free[:, 0]).astype(np.int64)

    def slots(self, job: int) -> IntArray:
        """(N) most workers of the job on every node: resources, GPU type, state, and counts allowed on one node."""
        sets = self.sets(job)
        first = self.problem.tree.node_vertex
        return np.array([sets.get(first + n, 1).bit_length() - 1 for n in range(self.problem.n_nodes)], dtype=np.int64)

    def sets(self, job: int) -> dict[int, int]:
        """Counts of the job's workers that every vertex can hold, as bits (`crop_cli.model.count_sets`).

        Capacity, GPU types and all shape constraints are in it, uplinks are not. Vertices that can hold no worker are
        no keys; the root (0) is not masked to {0, k}, so that it tells how much of the gang would fit.
        """
        room = Room(self.problem, np.maximum(self.state.free, 0.0), self.state.uplink_free)
        kind = self.problem.kind(job)
        below = Fit(room, kind).attainable(kind.allowed, uplinks=False).below
        return {v: counts for v, counts in below.items() if counts != 1}

    def domains(self, depth: int) -> Iterator[int]:
        """Vertices of one depth; 0 is the root, `problem.tree.max_depth` the nodes."""
        start = self.problem.tree.start
        return iter(range(int(start[depth]), int(start[depth + 1])))

    def children(self, vertex: int) -> range:
        """Vertices just below."""
        return range(int(self.problem.tree.first_child[vertex]), int(self.problem.tree.end_child[vertex]))

    def nodes_below(self, vertex: int) -> range:
        """Node indices below a vertex."""
        return range(int(self.problem.tree.first_node[vertex]), int(self.problem.tree.end_node[vertex]))

    def within_depth(self, job: int) -> int:
        """Depth of the level inside one domain of which the job has to stay; 0 where it may span the cluster."""
        level = self.problem.instance.jobs[job].within
        return 0 if level is None else self.problem.tree.depth_of(level)

    def take(self, job: int, counts: Counts) -> None:
        """Give the job this place."""
        self.state.take(job, counts)
        self.placed[job] = counts
