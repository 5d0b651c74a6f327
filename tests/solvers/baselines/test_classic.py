"""Random, first fit, best fit decreasing and spread, on examples computed by hand."""

from __future__ import annotations

import msgspec
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.instance import Segment, Spread
from tests.solvers.baselines.racks import instance, jobs, racks, run

CLASSIC = ("random", "first-fit", "best-fit-decreasing", "spread")


def test_first_fit_takes_what_it_finds_on_the_way() -> None:
    """Nodes are filled in their order, whatever rack they are in."""
    given = instance(racks([[2, 2], [4]]), jobs(3, 3))
    assert run("first-fit", given) == {"j0": {"n0": 2, "n1": 1}, "j1": {"n1": 1, "n2": 2}}


def test_random_order_reaches_every_node() -> None:
    """Over some seeds a single worker lands on every node."""
    given = instance(racks([[1, 1], [1, 1]]), jobs(1))
    nodes = {node for seed in range(40) for node in run("random", given, seed=seed)["j0"]}
    assert nodes == {"n0", "n1", "n2", "n3"}


def test_random_depends_on_the_seed_only() -> None:
    """The same seed gives the same placement, another one a different one."""
    given = instance(racks([[4, 4, 4], [4, 4, 4]]), jobs(3, 5, 2, 6))
    runs = [run("random", given, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_best_fit_decreasing_takes_large_gangs_first() -> None:
    """The gang of four comes before the pair in front of it, and goes to the node that it fills."""
    given = instance(racks([[8], [4]]), jobs(2, 4))
    assert run("best-fit-decreasing", given) == {"j0": {"n0": 2}, "j1": {"n1": 4}}


def test_best_fit_decreasing_takes_the_tightest_domain_of_the_lowest_level() -> None:
    """No node holds seven, both racks do, the second has fewer free slots."""
    given = instance(racks([[4, 4, 4], [4, 3]]), jobs(7))
    assert run("best-fit-decreasing", given) == {"j0": {"n3": 4, "n4": 3}}


def test_best_fit_decreasing_fills_the_fullest_nodes_first() -> None:
    """Inside the domain the node with two free GPUs is filled before those with four."""
    given = instance(racks([[4, 2, 4]]), jobs(6))
    assert run("best-fit-decreasing", given) == {"j0": {"n0": 4, "n1": 2}}


def test_best_fit_decreasing_places_required_jobs_first() -> None:
    """A small job that must run comes before a large one that need not."""
    large, small = jobs(4, 1)
    given = instance(racks([[4]]), [large, msgspec.structs.replace(small, required=True)])
    assert run("best-fit-decreasing", given) == {"j1": {"n0": 1}}


def test_spread_takes_the_emptiest_node_for_every_worker() -> None:
    """Four workers on three equal nodes: one each, and the fourth on the first."""
    given = instance(racks([[4, 4], [4]]), jobs(4))
    assert run("spread", given) == {"j0": {"n0": 2, "n1": 1, "n2": 1}}


def test_spread_compares_shares_and_not_numbers() -> None:
    """7/8 beats 3/4; 6/8 equals 3/4 and comes first; 3/4 beats 5/8."""
    given = instance(racks([[8, 4]]), jobs(3))
    assert run("spread", given) == {"j0": {"n0": 2, "n1": 1}}


def test_spread_averages_over_resources() -> None:
    """With 2 cpu per worker n1 scores (3/4 + 14/16)/2, n0 (3/4 + 2/4)/2; then both 5/8, and the first wins."""
    cluster = racks([[4, 4]], changes={"n0": {"resources": {"cpu": 4.0}}, "n1": {"resources": {"cpu": 16.0}}})
    assert run("spread", instance(cluster, jobs(1, resources_per_gpu={"cpu": 2.0}))) == {"j0": {"n1": 1}}
    assert run("spread", instance(cluster, jobs(2, resources_per_gpu={"cpu": 2.0}))) == {"j0": {"n0": 1, "n1": 1}}


def test_worker_by_worker_stays_within_a_rack() -> None:
    """The first worker goes to the emptiest node, and the gang has to follow it into its rack."""
    given = instance(racks([[2, 2], [4]]), jobs(3, within="rack"))
    assert run("spread", given) == {"j0": {"n2": 3}}


def test_worker_by_worker_avoids_a_rack_that_the_gang_cannot_end_in() -> None:
    """The emptiest node is in a rack with room for two of three workers only."""
    given = instance(racks([[2], [1, 1, 1]], changes={"n0": {"gpus": 8, "used": {"gpus": 6}}}), jobs(3, within="rack"))
    assert run("spread", given) == {"j0": {"n1": 1, "n2": 1, "n3": 1}}


def test_worker_by_worker_keeps_segments_spreads_and_exact_counts() -> None:
    """Pairs per node, at most two per rack, exactly two on each node used."""
    cluster = racks([[4, 4], [4, 4]])
    segment = run("spread", instance(cluster, jobs(4, segment=Segment(gpus=2, level="node"))))
    assert segment == {"j0": {"n0": 2, "n1": 2}}
    spread = run("spread", instance(cluster, jobs(4, spread=Spread(level="rack", max_gpus=2))))
    assert spread == {"j0": {"n0": 1, "n1": 1, "n2": 1, "n3": 1}}
    exact = run("spread", instance(cluster, jobs(6, gpus_per_node=2)))
    assert exact == {"j0": {"n0": 2, "n1": 2, "n2": 2}}


@pytest.mark.parametrize("name", CLASSIC)
def test_a_gang_without_room_waits_and_the_next_does_not(name: str) -> None:
    """All or nothing, and no job holds up those behind it."""
    given = instance(racks([[2, 2], [2]]), jobs(7, 6))
    assert run(name, given) == {"j1": {"n0": 2, "n1": 2, "n2": 2}}


@pytest.mark.parametrize("name", CLASSIC)
def test_only_the_order_is_an_option(name: str) -> None:
    """`order` is known to all, anything else to none of these."""
    given = instance(racks([[2]]), jobs(1))
    assert run(name, given, order="priority") == {"j0": {"n0": 1}}
    with pytest.raises(UsageError, match="no option 'steps'"):
        run(name, given, steps="3")
