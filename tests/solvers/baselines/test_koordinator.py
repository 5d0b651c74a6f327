"""Worked examples of Koordinator's network topology solver."""

from __future__ import annotations

from crop_cli.solvers.baselines.koordinator import place
from tests.solvers.baselines.kubernetes import Segment, counts, in_pods, in_racks


def test_the_last_rack_is_not_chosen_to_fit() -> None:
    """Racks [3] and [5, 1], 8 pods: the rack with most slots in full and two of the other, three hosts for two."""
    assert counts(place, in_racks([[3], [5, 1]]), 8) == [2, 5, 1]


def test_a_node_is_the_lowest_layer() -> None:
    """One node holds the gang: the node in the rack with fewest slots, as a node offers no more than the gang."""
    assert counts(place, in_racks([[4, 4], [8], [9, 1]]), 4) == [0, 0, 4, 0, 0]


def test_fewest_slots_of_the_lowest_layer_that_fits() -> None:
    """Racks hold the gang and no node does: the rack with fewest slots."""
    assert counts(place, in_racks([[3, 3], [2, 3], [3, 2]]), 5) == [0, 0, 2, 3, 0, 0]


def test_equal_domains_by_their_parents() -> None:
    """Racks of equal slots: the one in the pod with fewer, then the first."""
    assert counts(place, in_pods([[[3, 2], [3]], [[3, 2], [2]], [[3, 2], [2]]]), 5) == [0, 0, 0, 3, 2, 0, 0, 0, 0]


def test_must_gather_waits() -> None:
    """No rack has the slots, so a job that must gather in one waits; without that it takes the cluster."""
    cluster = in_racks([[3], [4]])
    assert counts(place, cluster, 6, within="rack") == []
    assert counts(place, cluster, 6) == [2, 4]


def test_slots_of_a_layer_in_multiples() -> None:
    """Segments of 4 per rack: slots of a rack are rounded down to multiples before they are compared."""
    assert counts(place, in_racks([[7], [4, 1], [6]]), 8, segment=Segment(gpus=4, level="rack")) == [4, 4, 0, 0]
