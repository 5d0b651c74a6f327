"""A gang placed worker by worker, as schedulers of single pods do, without ever leaving its constraints.

A worker goes on the node of the highest score among those on which the rest of the gang still finds room in shapes
that the job allows. Whether it does is decided exactly, from sets of counts: a vertex that holds c workers so far ends
with one of its counts above c, its siblings with any sum of theirs, and both add up to a count that the parent may end
with. A node that cannot take a worker now never can later, because counts only grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crop_cli.model import count_sets
from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.counts import holds
from crop_cli.solvers.queueing.view import View

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

Score = Callable[[IntArray, IntArray], FloatArray]
"""`score(nodes, held)`: how good one more worker is on each of the nodes, which hold so many of the gang so far."""


def worker_by_worker(view: View, job: int, score: Score, sets: dict[int, int] | None = None) -> Counts | None:
    """Places for the gang, the first node of the highest score for each worker in turn; None if it does not fit.

    Parameters
    ----------
    view, job
        The moment and the job.
    score
        Asked for all usable nodes once, then for the node that got a worker.
    sets
        Counts that every vertex can hold, where they are not `view.sets(job)`.
    """
    sets = view.sets(job) if sets is None else sets
    kind, first = view.problem.kind(job), view.problem.tree.node_vertex
    if not holds(sets, 0, kind.k):
        return None
    nodes = np.array(sorted(v - first for v in sets if v >= first), dtype=np.int64)
    caps = np.array([sets[first + n].bit_length() - 1 for n in nodes.tolist()], dtype=np.int64)
    held = np.zeros(len(nodes), dtype=np.int64)
    scores = np.array(score(nodes, held), dtype=np.float64)
    # A job without shape constraints can take any free slot as long as all slots together hold the gang.
    shape = None if kind.allowed[1:].all() else _Shape(view, job, dict(sets))
    for _ in range(kind.k):
        best = int(scores.argmax())
        while shape is not None and not shape.takes_one_more(int(nodes[best])):
            below = shape.barred
            scores[(nodes >= below.start) & (nodes < below.stop)] = -np.inf
            best = int(scores.argmax())
        held[best] += 1
        if shape is not None:
            shape.put(int(nodes[best]))
        if held[best] == caps[best]:
            scores[best] = -np.inf
        else:
            scores[best] = score(nodes[best : best + 1], held[best : best + 1])[0]
    return {int(n): int(x) for n, x in zip(nodes, held, strict=True) if x}


@dataclass(slots=True)
class _Shape:
    """Counts that every vertex may still end with, given what it holds so far.

    `barred` are the nodes that the last refusal concerns: those below the highest vertex that takes no more.
    """

    view: View
    job: int
    sets: dict[int, int]
    held: dict[int, int] = field(default_factory=dict)
    barred: range = range(0)

    def takes_one_more(self, node: int) -> bool:
        """Whether a worker on the node leaves the rest of the gang a way to be placed."""
        tree, k = self.view.problem.tree, self.view.problem.kind(self.job).k
        ends = 1 << k
        for v in reversed(tree.ancestors(tree.node_vertex + node)):
            others = self._total(int(tree.parent[v]), without=v)
            above = self.sets.get(v, 1) >> (self.held.get(v, 0) + 1) << (self.held.get(v, 0) + 1)
            ends = sum(1 << x for x in count_sets.members(above) if others << x & ends)
            if not ends:
                self.barred = self.view.nodes_below(v)
                return False
        return True

    def put(self, node: int) -> None:
        """A worker on the node."""
        tree = self.view.problem.tree
        for v in tree.ancestors(tree.node_vertex + node):
            count = self.held[v] = self.held.get(v, 0) + 1
            ends = self.sets[v] if v >= tree.node_vertex else self._total(v) & self.sets[v]
            self.sets[v] = ends >> count << count

    def _total(self, parent: int, without: int = -1) -> int:
        """Sums of what the children of a vertex may end with."""
        mask = count_sets.up_to(self.view.problem.kind(self.job).k)
        children = (v for v in self.view.children(parent) if v in self.sets and v != without)
        return count_sets.total((self.sets[v] for v in children), mask)
