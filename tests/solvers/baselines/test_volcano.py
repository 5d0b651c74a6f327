"""Worked examples of Volcano's HyperNodes."""

from __future__ import annotations

import pytest

from crop_cli.solvers.baselines.volcano import place
from tests.solvers.baselines.kubernetes import Segment, counts, in_pods, in_racks


def test_lowest_tier_with_a_place() -> None:
    """Up to a pod is allowed, and a rack holds the gang: the rack, though a pod would be fuller."""
    cluster = in_pods([[[2], [2]], [[8]]])
    assert counts(place, cluster, 4, within="pod") == [0, 0, 4]
    assert counts(place, cluster, 9, within="pod") == []


def test_next_tier_where_the_lowest_has_none() -> None:
    """No rack holds the gang: the pod that does."""
    assert counts(place, in_pods([[[2], [2]], [[3], [3]]]), 5, within="pod") == [0, 0, 3, 2]


def test_the_fullest_hyper_node_of_a_tier() -> None:
    """Bin packing: the rack whose GPUs would be in use to the largest part, the first of equals."""
    cluster = in_racks([[4, 4], [3, 2], [2, 3]], used=[[0, 0], [3, 0], [0, 3]])
    assert counts(place, cluster, 4, within="rack") == [0, 0, 3, 1, 0, 0]


@pytest.mark.parametrize(("first", "expected"), [(1, [1, 3, 4, 0, 0]), (0, [0, 3, 4, 1, 0])])
def test_soft_mode_stays_near_the_first_worker(first: int, expected: list[int]) -> None:
    """The first node with room decides; its rack is filled, then its pod, then the rest."""
    assert counts(place, in_pods([[[first, 3], [4]], [[8], [8]]]), 8) == expected


def test_soft_mode_depends_on_where_the_first_worker_lands() -> None:
    """A rack holds the whole gang, but the first node is in another one (reported as an issue of Volcano)."""
    assert counts(place, in_racks([[1], [8]]), 8) == [1, 7]


def test_within_a_node() -> None:
    """The fullest node that holds the gang."""
    assert counts(place, in_racks([[8, 4], [3, 5]]), 4, within="node") == [0, 4, 0, 0]


def test_sub_jobs_take_the_fullest_rack_one_after_another() -> None:
    """Segments of 2 fill the rack that is fullest, then the next; no rack holds part of one."""
    cluster = in_racks([[8], [3], [5]], used=[[0], [5], [3]])
    assert counts(place, cluster, 8, segment=Segment(gpus=2, level="rack")) == [2, 2, 4]
