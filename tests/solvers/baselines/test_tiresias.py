"""Tiresias's "yarn" placement by hand."""

from __future__ import annotations

from crop_cli.model.instance import Job, Segment
from tests.solvers.baselines.batch import flat, places, racks


def test_a_small_job_takes_the_first_node_that_fits() -> None:
    """Nodes are asked in order, switch by switch."""
    assert places("tiresias", racks([[2, 6], [4, 4]], [Job(name="j", gpus=4)])) == {"j": {"r0n1": 4}}


def test_a_small_job_is_never_split() -> None:
    """A job that a node could hold waits for one node, although two have room together."""
    assert places("tiresias", racks([[4, 4], [4, 4]], [Job(name="j", gpus=8)])) == {}


def test_a_large_job_takes_idle_nodes_and_a_rest() -> None:
    """12 GPUs are one idle node and the first other node with 4 free, which may stand before it."""
    assert places("tiresias", racks([[4, 8, 8]], [Job(name="j", gpus=12)])) == {"j": {"r0n0": 4, "r0n1": 8}}


def test_the_rest_may_take_an_idle_node() -> None:
    """The rest goes to the first node with room that is not one of the whole ones, idle or not."""
    assert places("tiresias", racks([[8, 8, 4]], [Job(name="j", gpus=12)])) == {"j": {"r0n0": 8, "r0n1": 4}}


def test_the_first_switch_that_works() -> None:
    """A switch with room enough but too few idle nodes is passed over."""
    instance = racks([[8, 6, 6], [8, 8], [8, 8]], [Job(name="j", gpus=16)])
    assert places("tiresias", instance) == {"j": {"r1n0": 8, "r1n1": 8}}


def test_all_or_nothing_below_one_switch() -> None:
    """Idle nodes of two switches do not make a place."""
    assert places("tiresias", racks([[8, 4], [8, 4]], [Job(name="j", gpus=16)])) == {}


def test_without_switches_the_cluster_is_one() -> None:
    """Where there are only nodes, all of them are below one switch."""
    assert places("tiresias", flat([8, 1, 8], [Job(name="j", gpus=16)])) == {"j": {"n0": 8, "n2": 8}}


def test_whole_nodes_are_what_the_job_may_hold() -> None:
    """With `gpus_per_node` a node counts as whole when it holds that many; it has to be idle all the same."""
    job = Job(name="j", gpus=8, gpus_per_node=4)
    assert places("tiresias", flat([4, 8, 8], [job])) == {"j": {"n1": 4, "n2": 4}}


def test_segments_are_obeyed_below_the_switch() -> None:
    """Where idle nodes are no multiples of the segment, the job is placed below the switch as it wants to be."""
    job = Job(name="j", gpus=12, segment=Segment(gpus=6, level="node"))
    assert places("tiresias", flat([8, 7], [job])) == {"j": {"n0": 6, "n1": 6}}
