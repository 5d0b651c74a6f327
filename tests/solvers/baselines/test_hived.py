"""HiveD's cells by hand, and the miss that its code admits."""

from __future__ import annotations

import pytest

from crop_cli.errors import UsageError
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Spread
from crop_cli.solvers.baselines.hived import pods_of
from tests.solvers.baselines.batch import flat, nodes_per_rack, places, racks, whole_nodes


def test_next_fit_misses_what_the_comment_says() -> None:
    """Nodes of 2 and 1 GPUs, pods of 1 and 2: the first pod takes the larger node, the second fits nowhere."""
    nodes = [Node(name="two", gpus=2), Node(name="one", gpus=1)]
    instance = Instance(format=FORMAT, cluster=Cluster(levels=["node"], nodes=nodes), jobs=[Job(name="j", gpus=3)])
    assert pods_of(3, 2) == [1, 2]
    assert places("hived", instance, pods="nodes") == {}


@pytest.mark.parametrize(("k", "node", "pods"), [(8, 8, [8]), (3, 8, [3]), (20, 8, [4, 8, 8]), (8, 2, [2, 2, 2, 2])])
def test_a_gang_is_cut_into_nodes_and_a_rest(k: int, node: int, pods: list[int]) -> None:
    """Pods are ascending, as the scheduler sorts them."""
    assert pods_of(k, node) == pods


@pytest.mark.parametrize(("k", "node"), [(2, "n3"), (3, "n1"), (5, "n0")])
def test_the_most_used_node_that_fits_comes_first(k: int, node: str) -> None:
    """A node in use is preferred to a free one, the more of it is used."""
    assert places("hived", flat([8, 4, 8, 2], [Job(name="j", gpus=k)]), pods="nodes") == {"j": {node: k}}


def test_a_free_node_is_split_off_the_smallest_free_cell() -> None:
    """A whole node comes from the rack that is in use already, so that the free rack stays whole."""
    assert places("hived", racks([[8, 8], [4, 8]], [Job(name="j", gpus=8)]), pods="nodes") == {"j": {"r1n1": 8}}


def test_a_free_rack_is_split_off_the_smallest_free_pod() -> None:
    """A whole rack comes from the pod that is in use already."""
    instance = whole_nodes([2, 2, 1, 2], 2, [Job(name="j", gpus=16)], pods=["a", "a", "b", "b"])
    assert nodes_per_rack(places("hived", instance, pods="nodes")["j"]) == {"r3": 2}


def test_a_rack_in_use_comes_before_a_free_one() -> None:
    """A gang of two nodes packs into the rack in use that has them."""
    instance = whole_nodes([3, 2, 1], 3, [Job(name="j", gpus=16)])
    assert nodes_per_rack(places("hived", instance, pods="nodes")["j"]) == {"r1": 2}


def test_the_level_above_where_no_cell_will_do() -> None:
    """Where no rack has two free nodes, the gang spans racks, the most used nodes first."""
    assert places("hived", racks([[8, 1], [8, 1]], [Job(name="j", gpus=16)]), pods="nodes") == {
        "j": {"r0n0": 8, "r1n0": 8}
    }


def test_within_forbids_the_level_above() -> None:
    """A gang that has to stay in a rack waits where no rack has its nodes."""
    assert places("hived", racks([[8, 1], [8, 1]], [Job(name="j", gpus=16, within="rack")]), pods="nodes") == {}


def test_the_rest_packs_into_a_node_in_use() -> None:
    """The pod with the rest comes first, on the most used node; the whole one follows."""
    assert places("hived", flat([8, 4, 8], [Job(name="j", gpus=12)]), pods="nodes") == {"j": {"n0": 8, "n1": 4}}


def test_spread_is_obeyed() -> None:
    """Where pods of a node's size break the shape, the job is placed in its cell as it wants to be."""
    job = Job(name="j", gpus=8, spread=Spread(level="rack", max_gpus=4))
    assert places("hived", racks([[8], [8]], [job]), pods="nodes") == {"j": {"r0n0": 4, "r1n0": 4}}


def test_pods_of_one_gpu_fit_wherever_gpus_are_free() -> None:
    """As a rule a gang packs onto the most used nodes, and does not wait for whole ones."""
    instance = flat([4, 2, 4], [Job(name="j", gpus=8)])
    assert places("hived", instance, pods="nodes") == {}
    assert places("hived", instance) == {"j": {"n0": 4, "n1": 2, "n2": 2}}


def test_other_pods_are_refused() -> None:
    """`--set pods=` is nodes or gpus."""
    with pytest.raises(UsageError, match="pods=racks"):
        places("hived", flat([8], [Job(name="j", gpus=1)]), pods="racks")
