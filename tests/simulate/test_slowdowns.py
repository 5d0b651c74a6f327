"""Hardware compiled twice, as it is and slow: the same as compiling a cluster whose nodes are slow."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from crop_cli.model.problem import compile_problem, utility
from crop_cli.model.trace import TraceJob, job_of
from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.run import problem_of
from crop_cli.simulate.settings import Settings, Weather
from tests.bruteforce import World, enumerate_job
from tests.simulate.build import change, flat, job, trace
from tests.tiny import random_instance


@pytest.mark.parametrize("seed", range(12))
def test_slow_classes_are_those_of_a_slow_cluster(seed: int) -> None:
    """Every place of every job is worth what it is worth where the file says that these nodes are slower."""
    instance = random_instance(seed, running=False)
    rng = np.random.default_rng(seed)
    problem = compile_problem(instance, [1.5, 3.0])
    third = len(problem.hardware.gpu_type) // 3
    names = problem.node_names
    level = dict(zip(names, rng.integers(0, 3, len(names)).tolist(), strict=True))
    factor = [1.0, 1.5, 3.0]
    now = replace(problem, hardware_of=problem.hardware_of + third * np.array([level[name] for name in names]))
    nodes = [change(n, slowdown=n.slowdown * factor[level[n.name]]) for n in instance.cluster.nodes]
    slow = change(instance, cluster=change(instance.cluster, nodes=nodes))
    expected = compile_problem(slow)
    world = World(instance)
    for j, member in enumerate(instance.jobs):
        for place in list(enumerate_job(world, member))[:20]:
            counts = {problem.node_index[name]: x for name, x in place.items()}
            assert utility(now, j, counts) == pytest.approx(utility(expected, j, counts))


def test_the_plain_problem_does_not_change() -> None:
    """With slowdowns nodes are of the same classes, free room and kinds' best times stay what they are."""
    instance = random_instance(4)
    plain, twice = compile_problem(instance), compile_problem(instance, [2.0])
    assert (plain.hardware_of == twice.hardware_of).all()
    half = len(plain.hardware.gpu_type)
    assert twice.hardware.gpu_type == 2 * plain.hardware.gpu_type
    assert twice.hardware.slowdown == pytest.approx(
        np.concatenate([plain.hardware.slowdown, 2 * plain.hardware.slowdown])
    )
    assert (plain.free == twice.free).all()
    assert plain.pinned_value == pytest.approx(twice.pinned_value)
    for one, two in zip(plain.kinds, twice.kinds, strict=True):
        assert (one.best, one.k) == (two.best, two.k)
        assert two.compute_s[:half] == pytest.approx(one.compute_s)


def test_a_node_becomes_slow_and_recovers() -> None:
    """Its class is the slow one of its own hardware, and its own again."""
    problem = problem_of(trace([job("A", 1, 0.0, 1.0)]), flat([1, 2]), Settings(weather=Weather(slow_factor=1.7)))
    cluster = SimCluster.of(problem, "load")
    half = len(problem.hardware.gpu_type) // 2
    cluster.set_slow(1, True)
    assert (cluster.hardware_of - problem.hardware_of).tolist() == [0, half]
    assert problem.hardware.slowdown[cluster.hardware_of].tolist() == [1.0, 1.7]
    cluster.set_slow(1, False)
    assert (cluster.hardware_of == problem.hardware_of).all()


def test_a_job_of_a_trace_as_an_instance_has_it() -> None:
    """Everything but arrival, duration and owner."""
    member = job("A", 4, 5.0, 6.0, weight=2.0, within="node", user="u", group="g", checkpoint_minutes=3.0)
    plain = job_of(member)
    assert type(plain) is not TraceJob
    assert {**msgspec.structs.asdict(plain), "arrival_s": 5.0, "duration_s": 6.0, "user": "u", "group": "g"} == (
        msgspec.structs.asdict(member)
    )
