"""Fragmentation gradient descent, on examples computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.problem import compile_problem
from crop_cli.solvers.baselines.fgd import Typical
from tests.solvers.baselines.racks import instance, jobs, racks, run

HALF_TAKEN = {"n1": {"used": {"gpus": 4.0}}}


def test_fragmentation_is_the_idle_gpus_that_typical_jobs_cannot_use() -> None:
    """Half of the jobs want a whole node: four idle GPUs of eight count half, eight do not count."""
    problem = compile_problem(instance(racks([[8, 8]], changes=HALF_TAKEN), jobs(1, 8)))
    typical = Typical.of(problem)
    assert sorted(typical.popularity.tolist()) == [0.5, 0.5]
    assert typical.fragmentation(np.arange(2), problem.free).tolist() == [0.0, 2.0]


def test_a_type_or_a_resource_that_is_missing_fragments_all() -> None:
    """Every idle GPU of a node is a fragment for a job that may not, or cannot, run there."""
    cluster = racks([[4, 4, 4]], changes={"n0": {"gpu_type": "old"}, "n1": {"resources": {"cpu": 1.0}}})
    picky = jobs(1, compute_s={"gpu": 1.0}, resources_per_gpu={"cpu": 1.0})
    problem = compile_problem(instance(cluster, picky))
    assert Typical.of(problem).fragmentation(np.arange(3), problem.free).tolist() == [4.0, 0.0, 4.0]


def test_rare_jobs_are_not_typical() -> None:
    """One job of forty-one is beyond the 95 % that typical ones stand for."""
    problem = compile_problem(instance(racks([[8]]), jobs(*[1] * 40, 8)))
    assert Typical.of(problem).popularity.tolist() == [1.0]


def test_descent_spares_the_whole_node() -> None:
    """On n1 a worker takes F from 2 to 1.5, on n0 from 0 to 3.5: n0 stays whole for the gang of eight."""
    given = instance(racks([[8, 8]], changes=HALF_TAKEN), jobs(1, 8))
    assert run("fgd", given) == {"j0": {"n1": 1}, "j1": {"n0": 8}}


def test_a_gang_that_a_node_holds_is_one_pod() -> None:
    """Four workers fill n1 (F from 2 to 0) although n0 comes first, and are not split."""
    given = instance(racks([[8, 8]], changes=HALF_TAKEN), jobs(4, 8))
    assert run("fgd", given) == {"j0": {"n1": 4}, "j1": {"n0": 8}}


def test_a_gang_larger_than_a_node_goes_worker_by_worker() -> None:
    """The first worker breaks up a whole node either way; the next three then lower F by one each on the same node."""
    given = instance(racks([[4], [4]]), jobs(6))
    assert run("fgd", given) == {"j0": {"n0": 4, "n1": 2}}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_decides_nothing(seed: int) -> None:
    """The rule draws no random numbers."""
    given = instance(racks([[8, 4], [2, 8]]), jobs(3, 6, 2, 5))
    assert run("fgd", given, seed=seed) == run("fgd", given)
