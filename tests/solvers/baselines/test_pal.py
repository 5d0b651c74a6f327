"""PAL, on examples computed by hand."""

from __future__ import annotations

import pytest

from crop_cli.errors import UsageError
from tests.solvers.baselines.racks import instance, jobs, racks, run

SLOW_BUT_WHOLE = racks([[4, 2, 2]], changes={"n0": {"slowdown": 1.5}})
"""Four slow GPUs on one node, or four fast ones on two."""


def test_a_slow_node_beats_two_fast_ones_where_locality_costs_more() -> None:
    """1 · 1.5 inside n0 is less than 1.7 · 1 across."""
    assert run("pal", instance(SLOW_BUT_WHOLE, jobs(4))) == {"j0": {"n0": 4}}


def test_two_fast_nodes_beat_a_slow_one_where_locality_costs_less() -> None:
    """1.2 · 1 across is less than 1 · 1.5 inside n0."""
    assert run("pal", instance(SLOW_BUT_WHOLE, jobs(4)), penalty="1.2") == {"j0": {"n1": 2, "n2": 2}}


def test_a_single_gpu_is_the_fastest_and_leaves_no_crumbs() -> None:
    """Of the fast nodes, the one whose number of free GPUs is nearest to one."""
    cluster = racks([[4, 4, 1, 2]], changes={"n0": {"slowdown": 2.0}})
    assert run("pal", instance(cluster, jobs(1))) == {"j0": {"n2": 1}}


def test_a_gang_larger_than_any_node_takes_the_fastest_gpus() -> None:
    """Five of eight GPUs: the slow node gives the last one only."""
    cluster = racks([[4, 4]], changes={"n0": {"slowdown": 1.1}})
    assert run("pal", instance(cluster, jobs(5))) == {"j0": {"n0": 1, "n1": 4}}


def test_gpu_types_are_variability() -> None:
    """A job that computes three times as fast on another type goes there, across two nodes."""
    cluster = racks([[2], [1, 1]], changes={"n0": {"gpu_type": "v100"}})
    given = instance(cluster, jobs(2, compute_s={"v100": 3.0, "gpu": 1.0}))
    assert run("pal", given) == {"j0": {"n1": 1, "n2": 1}}


def test_across_nodes_a_job_keeps_to_its_constraints() -> None:
    """The fastest GPUs are in two racks, and the job may use one only."""
    cluster = racks([[2, 1], [2, 1]], changes={"n1": {"slowdown": 1.2}, "n3": {"slowdown": 1.3}})
    assert run("pal", instance(cluster, jobs(3, within="rack"))) == {"j0": {"n0": 2, "n1": 1}}


@pytest.mark.parametrize("text", ["0.5", "x", "inf", "nan", "-2"])
def test_a_penalty_below_one_is_refused(text: str) -> None:
    """Crossing nodes is never faster by itself."""
    with pytest.raises(UsageError, match=f"penalty={text}: expected a number of at least 1"):
        run("pal", instance(SLOW_BUT_WHOLE, jobs(4)), penalty=text)
