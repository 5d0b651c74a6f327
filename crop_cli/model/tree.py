"""The cluster's tree as arrays.

Vertices are numbered breadth first: 0 is the root, then every vertex of depth 1, and so on; nodes come last. The
children of a vertex are neighbours, in the order of the file, and so are all vertices of one depth below any vertex.
Sums over subtrees are therefore differences of prefix sums.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.instance import Cluster

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

ROOT_NAME = "cluster"


@dataclass(frozen=True, slots=True)
class Tree:
    """A rooted tree of uniform depth D with V vertices and N nodes.

    Attributes
    ----------
    levels
        Names of depths 1..D; the last is the nodes'.
    names
        Name of every vertex (V); the root is "cluster".
    parent
        Parent of every vertex (V); −1 for the root.
    depth
        Depth of every vertex (V), 0..D.
    start
        First vertex of every depth (D+2): depth d is `range(start[d], start[d+1])`.
    first_child, end_child
        Children of v are `range(first_child[v], end_child[v])` (V); empty for nodes.
    first_node, end_node
        Nodes below v are node indices `range(first_node[v], end_node[v])` (V); node n is vertex `start[D] + n`.
    uplink_gbps
        Bandwidth of every vertex's uplink (V), infinite where unlimited and for the root.
    """

    levels: tuple[str, ...]
    names: tuple[str, ...]
    parent: IntArray
    depth: IntArray
    start: IntArray
    first_child: IntArray
    end_child: IntArray
    first_node: IntArray
    end_node: IntArray
    uplink_gbps: FloatArray

    @property
    def n_vertices(self) -> int:
        """Vertices, root and nodes included."""
        return len(self.names)

    @property
    def n_nodes(self) -> int:
        """Leaves."""
        return int(self.start[-1] - self.start[-2])

    @property
    def max_depth(self) -> int:
        """Depth D of the nodes."""
        return len(self.levels)

    @property
    def node_vertex(self) -> int:
        """Vertex number of node 0."""
        return int(self.start[-2])

    def level_name(self, depth: int) -> str:
        """Name of a depth; depth 0 is "cluster"."""
        return ROOT_NAME if depth == 0 else self.levels[depth - 1]

    def depth_of(self, level: str) -> int:
        """Depth of a level's name. Raises ValueError if there is no such level."""
        return self.levels.index(level) + 1

    def sum_below(self, per_node: NDArray[np.generic]) -> NDArray[np.generic]:
        """Sum of a per-node quantity below every vertex: (..., N) to (..., V)."""
        zero = np.zeros((*per_node.shape[:-1], 1), dtype=per_node.dtype)
        prefix = np.concatenate([zero, np.cumsum(per_node, axis=-1)], axis=-1)
        total: NDArray[np.generic] = prefix[..., self.end_node] - prefix[..., self.first_node]
        return total

    def ancestors(self, vertex: int) -> list[int]:
        """The vertex and all above it up to, but without, the root."""
        chain = []
        while vertex > 0:
            chain.append(vertex)
            vertex = int(self.parent[vertex])
        return chain


def build_tree(cluster: Cluster) -> tuple[Tree, list[int]]:
    """Number the vertices of a valid cluster.

    Returns
    -------
    tree
        The tree.
    order
        Position in `cluster.nodes` of node 0, 1, ...
    """
    depth_count = len(cluster.levels)
    switch_children: dict[tuple[int, str | None], list[int]] = defaultdict(list)
    depth_of = {name: d for d, name in enumerate(cluster.levels, start=1)}
    for i, switch in enumerate(cluster.switches):
        switch_children[(depth_of[switch.level], switch.parent)].append(i)
    node_children: dict[str | None, list[int]] = defaultdict(list)
    for i, node in enumerate(cluster.nodes):
        node_children[node.parent].append(i)

    names, parent, bandwidth = [ROOT_NAME], [-1], [np.inf]
    start, order = [0, 1], []
    for d in range(1, depth_count + 1):
        for above in range(start[d - 1], start[d]):
            key = None if d == 1 else names[above]
            if d < depth_count:
                for i in switch_children[(d, key)]:
                    switch = cluster.switches[i]
                    names.append(switch.name)
                    parent.append(above)
                    bandwidth.append(np.inf if switch.uplink_gbps is None else switch.uplink_gbps)
            else:
                for i in node_children[key]:
                    node = cluster.nodes[i]
                    names.append(node.name)
                    parent.append(above)
                    bandwidth.append(np.inf if node.uplink_gbps is None else node.uplink_gbps)
                    order.append(i)
        start.append(len(names))
    return _finish(tuple(cluster.levels), names, parent, start, bandwidth), order


def _finish(levels: tuple[str, ...], names: list[str], parent: list[int], start: list[int], gbps: list[float]) -> Tree:
    """Depths, children and node ranges from the parents."""
    depth = np.repeat(np.arange(len(levels) + 1), np.diff(start))
    parents = np.array(parent, dtype=np.int64)
    n_vertices, node_vertex = len(names), start[-2]
    children = np.bincount(parents[1:], minlength=n_vertices)
    end_child = 1 + np.cumsum(children)
    below = np.zeros(n_vertices, dtype=np.int64)
    below[node_vertex:] = 1
    for d in range(len(levels), 0, -1):
        np.add.at(below, parents[start[d] : start[d + 1]], below[start[d] : start[d + 1]])
    # Vertices of one depth stand in the order of the nodes below them, so prefix sums give the ranges.
    end_node = np.concatenate([np.cumsum(below[start[d] : start[d + 1]]) for d in range(len(levels) + 1)])
    return Tree(
        levels=levels,
        names=tuple(names),
        parent=parents,
        depth=depth,
        start=np.array(start, dtype=np.int64),
        first_child=end_child - children,
        end_child=end_child,
        first_node=end_node - below,
        end_node=end_node,
        uplink_gbps=np.array(gbps, dtype=np.float64),
    )
