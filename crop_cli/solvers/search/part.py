"""A part of the problem: some nodes with what is free there and some jobs, as a problem of its own.

Everything else stays where it is. A placement of the part is one of the whole, and worth as much: utilities, reserved
bandwidth and shapes depend only on the counts below each vertex, and all vertices above the part's nodes are in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crop_cli.model.problem import BoolArray, Counts, IntArray, Placement, Problem
from crop_cli.model.tree import Tree
from crop_cli.solvers.oracle import Prices
from crop_cli.solvers.state import State


@dataclass(frozen=True)
class Part:
    """A part as a problem. Jobs have the same indices in both.

    Attributes
    ----------
    problem
        n nodes, with `free` and `uplink_free` as they are in the state that the part was cut from; nothing is pinned,
        and F is the sum of the placed jobs' utilities alone.
    nodes, vertices
        (n) and (v) index in the whole of every node and vertex of the part, ascending.
    """

    problem: Problem
    nodes: IntArray
    vertices: IntArray

    def inward(self, placement: Placement) -> Placement:
        """A placement on nodes of the part, by the part's node indices."""
        return {job: self._inside(counts) for job, counts in placement.items()}

    def outward(self, placement: Placement) -> Placement:
        """The other way round."""
        at = self.nodes.tolist()
        return {job: {at[n]: x for n, x in counts.items()} for job, counts in placement.items()}

    def prices(self, prices: Prices) -> Prices:
        """Prices of the whole, for the part."""
        return Prices(node=prices.node[self.nodes], uplink=prices.uplink[self.vertices])

    def _inside(self, counts: Counts) -> Counts:
        return {int(np.searchsorted(self.nodes, n)): x for n, x in counts.items()}


def cut_out(problem: Problem, nodes: IntArray, jobs: list[int], state: State) -> Part:
    """Some nodes and jobs as a problem.

    Parameters
    ----------
    problem
        The whole.
    nodes
        Node indices, ascending; at least one.
    jobs
        The jobs to place there. A movable one has to run now on nodes of the part alone: elsewhere is not home.
    state
        What is free: these jobs are not in it.
    """
    kept = np.zeros(problem.n_nodes, dtype=bool)
    kept[nodes] = True
    tree, vertices = _subtree(problem.tree, kept)
    part = Part(problem, nodes, vertices)
    movable = {job: problem.current[job] for job in jobs if job in problem.current}
    return replace(
        part,
        problem=replace(
            problem,
            tree=tree,
            capacity=problem.capacity[nodes],
            free=state.free[nodes],
            hardware_of=problem.hardware_of[nodes],
            failures=problem.failures[nodes],
            up=problem.up[nodes],
            link_of=problem.link_of[vertices],
            uplink_free=state.uplink_free[vertices],
            pinned={},
            current=part.inward(movable),
            open_jobs=np.array(sorted(jobs), dtype=np.int64),
            pinned_value=0.0,
        ),
    )


def _subtree(tree: Tree, nodes: BoolArray) -> tuple[Tree, IntArray]:
    """The tree of some nodes and all vertices above them, and the index of each of its vertices in the whole."""
    kept = tree.sum_below(nodes.astype(np.int64)).astype(np.int64) > 0
    vertices = np.flatnonzero(kept)
    before = np.concatenate([[0], np.cumsum(kept)])
    nodes_before = np.concatenate([[0], np.cumsum(nodes)])
    parent = before[tree.parent[vertices]]
    parent[0] = -1
    subtree = Tree(
        levels=tree.levels,
        names=tuple(tree.names[v] for v in vertices.tolist()),
        parent=parent,
        depth=tree.depth[vertices],
        start=before[tree.start],
        first_child=before[tree.first_child[vertices]],
        end_child=before[tree.end_child[vertices]],
        first_node=nodes_before[tree.first_node[vertices]],
        end_node=nodes_before[tree.end_node[vertices]],
        uplink_gbps=tree.uplink_gbps[vertices],
    )
    return subtree, vertices
