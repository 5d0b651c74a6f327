"""Worked examples of Kueue's topology-aware scheduling, from its enhancement proposal and the tables of its tests."""

from __future__ import annotations

import pytest

from crop_cli.solvers.baselines.kueue_balanced import place as balanced
from crop_cli.solvers.baselines.kueue_best_fit import place as best_fit
from crop_cli.solvers.baselines.kueue_least_free import place as least_free
from crop_cli.solvers.queueing.balance import fewest
from tests.solvers.baselines.kubernetes import Racks, Segment, Spread, counts, in_pods, in_racks

BALANCED: list[tuple[Racks, int, list[int]]] = [
    ([[15], [15]], 25, [13, 12]),
    ([[15, 13, 10]], 23, [12, 11, 0]),
    ([[20, 10], [15, 15]], 22, [0, 0, 11, 11]),
    ([[20, 10], [15, 15]], 20, [20, 0, 0, 0]),
    ([[10, 5], [5, 5, 5]], 15, [0, 0, 5, 5, 5]),
    ([[15, 10]], 25, [15, 10]),
]


def test_best_fit_ends_on_the_tightest_domain() -> None:
    """Capacities 3, 3, 2, 1 and 7 pods: two full domains, then the one that holds exactly the last pod."""
    assert counts(best_fit, in_racks([[3, 3, 2, 1]]), 7) == [3, 3, 0, 1]


def test_least_free_starts_with_the_smallest_domain() -> None:
    """Capacities 3, 3, 2, 1 and 7 pods: smallest first, the last domain is taken in part."""
    assert counts(least_free, in_racks([[3, 3, 2, 1]]), 7) == [3, 1, 2, 1]


def test_least_free_takes_the_smallest_node_that_holds_the_gang() -> None:
    """One node is enough, so smaller ones are left alone."""
    assert counts(least_free, in_racks([[1, 8], [5, 4]]), 4) == [0, 0, 0, 4]


def test_racks_before_nodes() -> None:
    """The tight rack is taken although the loose one would need a single node (Kueue states this trade-off)."""
    assert counts(best_fit, in_racks([[7, 2], [2, 2]]), 4) == [0, 0, 2, 2]


def test_the_last_rack_is_the_tightest_and_its_nodes_are_pooled_with_the_others() -> None:
    """13 pods on racks [4], [8, 3], [6, 2]: two racks and three nodes, where two nodes would do."""
    assert counts(best_fit, in_racks([[4], [8, 3], [6, 2]]), 13) == [4, 8, 1, 0, 0]


def test_ties_go_to_fewest_free_pods_then_the_first() -> None:
    """Racks of two slices each: the one with fewer pods to spare wins, and the first of equals."""
    slices = Segment(gpus=4, level="node")
    assert counts(best_fit, in_racks([[7, 7], [5, 4], [4, 5]]), 8, segment=slices) == [0, 0, 4, 4, 0, 0]


def test_required_topology_waits_where_a_preferred_one_spills() -> None:
    """No rack is large enough: others take nodes of two, a job that has to stay inside one waits."""
    cluster = in_racks([[3, 3], [4, 1]])
    assert counts(best_fit, cluster, 8) == [3, 0, 4, 1]
    assert counts(best_fit, cluster, 8, within="rack") == []


def test_preferred_topology_climbs_to_the_tightest_pod() -> None:
    """No rack holds the gang: the pod with least room that does."""
    cluster = in_pods([[[4], [4], [4]], [[4], [3]]])
    assert counts(best_fit, cluster, 7) == [0, 0, 0, 4, 3]


def test_required_pod_pools_the_nodes_of_its_racks() -> None:
    """Inside the required pod few racks are taken first, then few nodes over all of them."""
    cluster = in_pods([[[3, 3], [5, 2]], [[9]]])
    assert counts(best_fit, cluster, 12, within="pod") == [3, 3, 5, 1, 0]


def test_slices_stay_whole_on_their_level() -> None:
    """Slices of 4 per rack: no rack's nodes are pooled with another's, and counts per rack are multiples of 4."""
    assert counts(best_fit, in_racks([[5, 2], [3, 3]]), 8, segment=Segment(gpus=4, level="rack")) == [4, 0, 3, 1]


@pytest.mark.parametrize("rule", [best_fit, least_free, balanced], ids=["best-fit", "least-free", "balanced"])
def test_pooling_does_not_break_a_spread(rule: object) -> None:
    """Pooled nodes would put 6 workers into the first rack, which may hold 4."""
    placed = counts(rule, in_racks([[3, 3], [2, 2]]), 8, spread=Spread(level="rack", max_gpus=4))
    assert (sum(placed[:2]), sum(placed[2:])) == (4, 4)


@pytest.mark.parametrize(("racks", "gpus", "expected"), BALANCED, ids=[f"{r}-{k}" for r, k, _ in BALANCED])
def test_balanced_table(racks: Racks, gpus: int, expected: list[int]) -> None:
    """Kueue's own table: fewest nodes, the largest least share, what is left on the largest."""
    assert counts(balanced, in_racks(racks), gpus) == expected


def test_balanced_slices() -> None:
    """Five slices of 5 on nodes [20, 15, 10]: the pair with least room is 15 and 10."""
    cluster = in_racks([[20, 15, 10]])
    assert counts(balanced, cluster, 25, segment=Segment(gpus=5, level="node")) == [0, 15, 10]


def test_balanced_slices_on_racks() -> None:
    """Slices of a rack are balanced over racks; inside a rack BestFit decides."""
    placed = counts(balanced, in_racks([[5, 3], [8], [1]]), 12, segment=Segment(gpus=2, level="rack"))
    assert placed == [5, 1, 6, 0]


def test_balanced_takes_the_pod_with_the_largest_threshold() -> None:
    """Pods that allow least shares of 2 and 4: the second one, although the first holds the gang too."""
    assert counts(balanced, in_pods([[[6], [2]], [[4, 4]]]), 8) == [0, 0, 4, 4]


def test_balanced_falls_back_to_best_fit() -> None:
    """No pod holds the gang, or the job has to stay inside a rack: the answers of BestFit."""
    pods, racks = in_pods([[[4, 2]], [[3, 3]]]), in_racks([[3, 3], [6, 2]])
    assert counts(balanced, pods, 10) == counts(best_fit, pods, 10) == [4, 0, 3, 3]
    assert counts(balanced, racks, 6, within="rack") == counts(best_fit, racks, 6, within="rack") == [3, 3, 0, 0]


@pytest.mark.parametrize(
    ("slices", "need", "expected"),
    [([9, 6, 4], 9, ["a"]), ([9, 6, 4], 10, ["b", "c"]), ([4, 6, 4], 10, ["a", "b"]), ([3, 3], 7, [])],
)
def test_fewest_domains_of_least_capacity(slices: list[int], need: int, expected: list[str]) -> None:
    """As few domains as possible, of these the least total, of these the first."""
    names = ["a", "b", "c"]
    assert [names[i] for i in fewest(list(range(len(slices))), slices, need)] == expected
