"""Slurm's topology/tree and topology/block: answers of a real slurmctld, and cases by hand."""

from __future__ import annotations

import pytest

from crop_cli.errors import UsageError
from crop_cli.model.instance import Job, Segment
from tests.solvers.baselines.batch import nodes_per_rack, places, racks, whole_nodes

FREE = [2, 3, 4, 2]
"""Free nodes per rack in the observed cluster."""

OBSERVED = {
    2: {"r0": 2},
    3: {"r1": 3},
    4: {"r2": 4},
    5: {"r2": 4, "r0": 1},
    7: {"r2": 4, "r1": 3},
    9: {"r2": 4, "r1": 3, "r0": 2},
}
"""Where slurmctld 22.05.8 and 24.11.5 put a job that asks for so many whole nodes."""


@pytest.mark.parametrize("per_node", [8, None], ids=["per-node", "plain"])
@pytest.mark.parametrize("nodes", OBSERVED)
def test_tree_answers_as_observed(nodes: int, per_node: int | None) -> None:
    """Whole nodes go to the racks that slurmctld chose."""
    job = Job(name="j", gpus=8 * nodes, gpus_per_node=per_node)
    assert nodes_per_rack(places("slurm-tree", whole_nodes(FREE, 4, [job]))["j"]) == OBSERVED[nodes]


def test_tree_takes_the_first_node_of_a_leaf() -> None:
    """Inside a leaf it is first fit: one GPU goes to the node with two free, not to the one with exactly one."""
    assert places("slurm-tree", racks([[2, 1]], [Job(name="j", gpus=1)])) == {"j": {"r0n0": 1}}


def test_tree_with_a_number_of_nodes_stays_in_a_rack() -> None:
    """12 GPUs on two nodes stay in the rack that has two."""
    instance = whole_nodes([1, 2], 2, [Job(name="j", gpus=12)])
    assert places("slurm-tree", instance) == {"j": {"r1n0": 8, "r1n1": 4}}


def test_tree_without_a_number_of_nodes_crosses_racks() -> None:
    """12 GPUs without a number of nodes cross racks as 8 + 4, although one rack could hold them."""
    instance = whole_nodes([1, 2], 2, [Job(name="j", gpus=12)])
    assert places("slurm-tree", instance, request="gpus") == {"j": {"r0n0": 8, "r1n0": 4}}


def test_tree_asks_for_gpus_where_nodes_are_not_free() -> None:
    """A job whose whole nodes are not free takes GPUs on more of them."""
    assert places("slurm-tree", racks([[4, 2], [4, 4]], [Job(name="j", gpus=8)])) == {
        "j": {"r0n0": 4, "r0n1": 2, "r1n0": 2}
    }


def test_tree_waits_for_one_switch() -> None:
    """`within` a rack never expires: the job waits although two racks could hold it, and takes one that can."""
    jobs = [Job(name="wide", gpus=40, within="rack"), Job(name="fits", gpus=24, within="rack")]
    found = places("slurm-tree", whole_nodes(FREE, 4, jobs))
    assert {name: nodes_per_rack(place) for name, place in found.items()} == {"fits": {"r1": 3}}


def test_tree_keeps_a_job_in_the_fullest_pod_that_holds_it() -> None:
    """`within` a pod takes the pod with the fewest usable nodes that fits."""
    job = Job(name="j", gpus=32, within="pod")
    instance = whole_nodes([3, 3, 2, 2, 3], 3, [job], pods=["a", "a", "b", "b", "c"])
    assert nodes_per_rack(places("slurm-tree", instance)["j"]) == {"r2": 2, "r3": 2}


def test_tree_asks_the_ancestors_where_no_leaf_fits() -> None:
    """Of leaves that do not fit, the one below the smaller pod that does is taken, although another has more nodes."""
    instance = whole_nodes([3, 2, 2, 2], 3, [Job(name="j", gpus=32)], pods=["a", "a", "b", "b"])
    assert nodes_per_rack(places("slurm-tree", instance)["j"]) == {"r2": 2, "r3": 2}


@pytest.mark.parametrize(
    ("free", "pods", "expected"),
    [
        ([3, 2, 1], ["a", "a", "b"], {"r0": 3, "r1": 1}),
        ([1, 3, 2], ["b", "a", "a"], {"r1": 3, "r2": 1}),
    ],
    ids=["near-first", "far-first"],
)
def test_tree_prefers_a_near_leaf_for_the_rest(free: list[int], pods: list[str], expected: dict[str, int]) -> None:
    """A leaf near those in use that fits the rest wins over a tighter one farther away, whatever their order."""
    instance = whole_nodes(free, 3, [Job(name="j", gpus=32)], pods=pods)
    assert nodes_per_rack(places("slurm-tree", instance)["j"]) == expected


def test_tree_obeys_segments() -> None:
    """Where the leaves would split a segment, the job goes where its shape fits."""
    job = Job(name="j", gpus=32, segment=Segment(gpus=16, level="rack"))
    assert nodes_per_rack(places("slurm-tree", whole_nodes([3, 3], 3, [job]))["j"]) == {"r0": 2, "r1": 2}


def test_tree_refuses_an_unknown_request() -> None:
    """`--set request=` is nodes or gpus."""
    with pytest.raises(UsageError, match="request=cores"):
        places("slurm-tree", whole_nodes(FREE, 4, [Job(name="j", gpus=8)]), request="cores")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (2, {"r3": 2}),
        (3, {"r1": 3}),
        (4, {"r2": 4}),
        (5, {"r1": 3, "r0": 2}),
        (9, {"r2": 4, "r1": 3, "r3": 2}),
    ],
)
def test_block_takes_the_least_sufficient_block(nodes: int, expected: dict[str, int]) -> None:
    """The block of the job's size with the fewest nodes that suffice, ties to the last; few base blocks in it."""
    job = Job(name="j", gpus=8 * nodes)
    assert nodes_per_rack(places("slurm-block", whole_nodes(FREE, 4, [job]))["j"]) == expected


def test_block_does_not_spill() -> None:
    """Seven nodes ask for a block of two racks; none has them, so the job waits although the cluster has eleven."""
    assert places("slurm-block", whole_nodes(FREE, 4, [Job(name="j", gpus=56)])) == {}


@pytest.mark.parametrize(
    ("nodes", "expected"), [(8, ["r2", "r3"]), (12, ["r2", "r3", "r4"]), (16, ["r1", "r2", "r3", "r4"])]
)
def test_blocks_are_cut_inside_pods(nodes: int, expected: list[str]) -> None:
    """Two racks are neighbours in a pod, three are the pod that has as many, and what no pod holds may span pods."""
    instance = whole_nodes([4] * 5, 4, [Job(name="j", gpus=8 * nodes)], pods=["a", "a", "b", "b", "b"])
    assert sorted(nodes_per_rack(places("slurm-block", instance)["j"])) == expected


def test_block_places_segments_one_by_one() -> None:
    """Each segment goes to the fullest base block that holds it."""
    job = Job(name="j", gpus=32, segment=Segment(gpus=16, level="rack"))
    assert nodes_per_rack(places("slurm-block", whole_nodes(FREE, 4, [job]))["j"]) == {"r3": 2, "r0": 2}


def test_block_takes_small_segments_together() -> None:
    """Segments of less than a node's worth are none to Slurm; the job's nodes hold several of them."""
    job = Job(name="j", gpus=16, segment=Segment(gpus=4, level="rack"))
    assert places("slurm-block", racks([[8, 8], [8]], [job])) == {"j": {"r0n0": 8, "r0n1": 8}}


def test_block_keeps_within_a_rack() -> None:
    """A job `within` a rack takes one base block whatever its nominal size."""
    instance = racks([[8], [8], [8, 8]], [Job(name="j", gpus=16, within="rack")])
    assert places("slurm-block", instance) == {"j": {"r2n0": 8, "r2n1": 8}}


def test_block_counts_gpus_where_nodes_are_not_free() -> None:
    """A job whose whole node is not free anywhere takes the free GPUs of one base block."""
    instance = racks([[4, 2], [4, 4]], [Job(name="j", gpus=8)])
    assert places("slurm-block", instance) == {"j": {"r1n0": 4, "r1n1": 4}}
