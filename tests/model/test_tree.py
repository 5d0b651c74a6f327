"""The numbering of the tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from crop_cli.model.instance import Cluster, Instance, Node, Switch
from crop_cli.model.tree import build_tree
from tests.tiny import instances

CLUSTER = Cluster(
    levels=["pod", "rack", "node"],
    switches=[
        Switch(name="r1", level="rack", parent="p2", uplink_gbps=100.0),
        Switch(name="p1", level="pod", uplink_gbps=800.0),
        Switch(name="r2", level="rack", parent="p1"),
        Switch(name="p2", level="pod"),
        Switch(name="r3", level="rack", parent="p2"),
    ],
    nodes=[
        Node(name="a", gpus=1, parent="r3"),
        Node(name="b", gpus=2, parent="r2", uplink_gbps=25.0),
        Node(name="c", gpus=3, parent="r1"),
        Node(name="d", gpus=4, parent="r2"),
    ],
)


def test_vertices_are_numbered_breadth_first_in_file_order() -> None:
    """Root, pods, racks by pod, nodes by rack; within one parent as in the file."""
    tree, order = build_tree(CLUSTER)
    assert tree.names == ("cluster", "p1", "p2", "r2", "r1", "r3", "b", "d", "c", "a")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 2, 2, 3, 3, 4, 5]
    assert tree.depth.tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    assert tree.start.tolist() == [0, 1, 3, 6, 10]
    assert order == [1, 3, 2, 0]
    assert (tree.n_vertices, tree.n_nodes, tree.max_depth, tree.node_vertex) == (10, 4, 3, 6)


def test_children_and_nodes_are_ranges() -> None:
    """Children of a vertex and the nodes below it are given by first and end."""
    tree, _ = build_tree(CLUSTER)
    assert list(zip(tree.first_child.tolist(), tree.end_child.tolist(), strict=True))[:6] == [
        (1, 3),
        (3, 4),
        (4, 6),
        (6, 8),
        (8, 9),
        (9, 10),
    ]
    assert list(zip(tree.first_node.tolist(), tree.end_node.tolist(), strict=True)) == [
        (0, 4),
        (0, 2),
        (2, 4),
        (0, 2),
        (2, 3),
        (3, 4),
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
    ]


def test_absent_bandwidth_is_infinite() -> None:
    """Uplinks without a bandwidth, and the root, have an infinite one."""
    tree, _ = build_tree(CLUSTER)
    finite = {tree.names[v]: tree.uplink_gbps[v] for v in np.flatnonzero(np.isfinite(tree.uplink_gbps))}
    assert finite == {"p1": 800.0, "r1": 100.0, "b": 25.0}


def test_nodes_may_hang_on_the_root() -> None:
    """With one level there are no switches."""
    tree, order = build_tree(Cluster(levels=["node"], nodes=[Node(name="x", gpus=1), Node(name="y", gpus=1)]))
    assert tree.names == ("cluster", "x", "y")
    assert order == [0, 1]
    assert tree.end_node.tolist() == [2, 1, 2]


def test_switches_without_nodes_keep_their_place() -> None:
    """An empty rack is a vertex with an empty range."""
    cluster = Cluster(
        levels=["rack", "node"],
        switches=[Switch(name="empty", level="rack"), Switch(name="full", level="rack")],
        nodes=[Node(name="n", gpus=1, parent="full")],
    )
    tree, _ = build_tree(cluster)
    assert tree.first_node.tolist() == [0, 0, 0, 0]
    assert tree.end_node.tolist() == [1, 0, 1, 1]


def test_levels_by_name_and_depth() -> None:
    """Depth 0 is "cluster", then come the levels; an unknown name is an error."""
    tree, _ = build_tree(CLUSTER)
    assert [tree.level_name(d) for d in range(4)] == ["cluster", "pod", "rack", "node"]
    assert [tree.depth_of(level) for level in ("pod", "rack", "node")] == [1, 2, 3]
    with pytest.raises(ValueError, match="not in tuple"):
        tree.depth_of("zone")


@given(instance=instances(max_levels=4, max_nodes=6))
@settings(max_examples=60, deadline=None)
def test_sums_and_ancestors_follow_the_parents(instance: Instance) -> None:
    """A node counts in the sums of exactly its ancestors and the root."""
    tree, order = build_tree(instance.cluster)
    assert sorted(order) == list(range(tree.n_nodes))
    for n in range(tree.n_nodes):
        one = np.zeros((2, tree.n_nodes), dtype=np.int64)
        one[1, n] = 7
        sums = tree.sum_below(one)
        chain = tree.ancestors(tree.node_vertex + n)
        assert chain[0] == tree.node_vertex + n
        assert [int(tree.depth[v]) for v in chain] == list(range(tree.max_depth, 0, -1))
        assert np.flatnonzero(sums[1]).tolist() == sorted([0, *chain])
        assert (sums[0] == 0).all()
        assert tree.names[chain[0]] == instance.cluster.nodes[order[n]].name
        assert instance.cluster.nodes[order[n]].parent == (tree.names[chain[1]] if len(chain) > 1 else None)
