"""Groups of jobs, classes of domains, and arrangements carried from one domain to another."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from crop_cli.model.instance import Job
from crop_cli.model.problem import compile_problem, utility
from crop_cli.solvers.config_lp.assign import assign
from crop_cli.solvers.config_lp.configuration import Groups, widened
from crop_cli.solvers.greedy.board import Board
from tests.solvers.config_lp.parts import classes_without_tolerance, parts
from tests.solvers.greedy.build import copied, flat
from tests.tiny import random_instance

change = msgspec.structs.replace


@pytest.mark.parametrize("times", [2, 3])
def test_a_configuration_fits_every_domain_of_its_class(times: int) -> None:
    """Carried to any member of the class, a configuration is feasible, stays inside, and has the same utilities."""
    carried = 0
    for seed in range(60):
        instance = copied(random_instance(seed, max_nodes=3), times)
        for depth in range(1, len(instance.cluster.levels) + 1):
            problem, classes, groups, pricer = parts(instance, depth)
            for c, members in enumerate(classes.members):
                _, found = pricer.best(c, np.zeros(problem.n_jobs), 1)
                for configuration in found:
                    for position, vertex in enumerate(members):
                        kept = assign(((c, position, configuration),), classes, groups)
                        board = Board.empty(problem)
                        below = range(int(problem.tree.first_node[vertex]), int(problem.tree.end_node[vertex]))
                        for job, (at, place) in kept.places.items():
                            assert at == vertex
                            assert set(place.counts) <= set(below)
                            assert board.fits(job, place.counts)
                            board.take(job, place.counts)
                            assert utility(problem, job, place.counts) == pytest.approx(place.utility, abs=1e-12)
                        assert kept.value == pytest.approx(configuration.value)
                        carried += position > 0
    assert carried > 50


def test_jobs_of_a_group_have_equal_utilities() -> None:
    """Equal jobs are a group; running ones whose move costs something are alone; those that must run come first."""
    moving = Job(name="m", gpus=2, placement={"n0": 2}, movable=True, migration_minutes=5.0)
    jobs = [Job(name="a", gpus=2), moving, Job(name="b", gpus=2, required=True), Job(name="c", gpus=1)]
    groups = Groups.of_problem(compile_problem(flat([4, 4], jobs)))
    assert groups.members == ((2, 0), (1,), (3,))
    assert groups.of.tolist() == [0, 1, 0, 2]
    assert groups.size.tolist() == [2, 1, 1]


def test_classes_hold_every_domain_of_the_greedy() -> None:
    """No domain in which the greedy could gain something is left out, and none is twice in a class."""
    for seed in range(60):
        instance = random_instance(seed)
        for depth in range(1, len(instance.cluster.levels) + 1):
            _, classes, _, _ = parts(instance, depth)
            assert classes.count >= classes_without_tolerance(instance, depth)
            every = [vertex for members in classes.members for vertex in members]
            assert len(set(every)) == len(every) == classes.size.sum()


def test_nodes_of_other_capacity_are_another_class() -> None:
    """Equal free memory of unequal capacities is not the same: the tolerance is a share of the capacity."""
    jobs = [Job(name="a", gpus=1, resources_per_gpu={"memory_gb": 1.0})]
    instance = flat([4, 4], jobs)
    first, second = instance.cluster.nodes
    nodes = [
        change(first, resources={"memory_gb": 8.0}),
        change(second, resources={"memory_gb": 16.0}, used={"memory_gb": 8.0}),
    ]
    _, classes, _, _ = parts(change(instance, cluster=change(instance.cluster, nodes=nodes)), 1)
    assert len(classes.members) == 2


def test_widened_capacities_are_those_of_the_check() -> None:
    """Other resources and uplinks are raised by the tolerance of the evaluator, GPUs are not."""
    jobs = [Job(name="a", gpus=1, resources_per_gpu={"memory_gb": 1.0})]
    instance = flat([4], jobs)
    node = change(instance.cluster.nodes[0], resources={"memory_gb": 1000.0})
    problem = compile_problem(change(instance, cluster=change(instance.cluster, nodes=[node])))
    wide = widened(problem)
    assert wide.free[0, 0] == 4.0
    assert wide.free[0, 1] == pytest.approx(1000.001, rel=1e-12)
    assert wide.uplink_free[1] == pytest.approx(100.0 * (1 + 1e-6), rel=1e-12)
