"""Domains: likeness, the jobs that fit, the choice of a level."""

from __future__ import annotations

import msgspec
import pytest

from crop_cli.model.instance import Job
from crop_cli.model.problem import compile_problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.domains import Likeness, choose_depth, deepest_fit, find_domains
from crop_cli.solvers.greedy.finder import Finder
from crop_cli.solvers.greedy.outlook import build_outlook
from tests.bruteforce import World, enumerate_job
from tests.solvers.greedy.build import copied, flat, racks, setting_of
from tests.solvers.greedy.truth import domain_of, open_jobs, options
from tests.tiny import random_instance

change = msgspec.structs.replace


def test_equal_racks_are_alike_whatever_the_order_of_their_nodes() -> None:
    """Racks with the same nodes in another order are one class; one GPU more or less makes another."""
    problem = compile_problem(racks([[4, 2], [2, 4], [4, 3]], [Job(name="a", gpus=2)]))
    like = Likeness.of(problem).subtree
    assert like[1] == like[2] != like[3]


def test_what_makes_nodes_differ() -> None:
    """Type, slowdown, free resources, a node's uplink within a rack, and a movable job with a cost tell racks apart."""
    job = Job(name="a", gpus=2, placement={"r0n0": 2}, movable=True)
    plain = racks([[4], [4]], [job])
    assert _racks_alike(plain)
    assert not _racks_alike(change(plain, jobs=[change(job, migration_minutes=5.0)]))
    for field in (
        {"gpu_type": "x"},
        {"slowdown": 1.5},
        {"used": {"gpus": 1}},
        {"uplink_gbps": 50.0},
        {"state": "down"},
    ):
        first, second = plain.cluster.nodes
        assert not _racks_alike(change(plain, cluster=change(plain.cluster, nodes=[change(first, **field), second])))


def test_failures_matter_only_to_jobs_that_lose_work() -> None:
    """Nodes that fail at different rates are alike unless some open job has restart or checkpoint time."""
    plain = racks([[4], [4]], [Job(name="a", gpus=2)])
    first, second = plain.cluster.nodes
    cluster = change(plain.cluster, nodes=[change(first, failures_per_day=0.1), second])
    assert _racks_alike(change(plain, cluster=cluster))
    assert not _racks_alike(change(plain, cluster=cluster, jobs=[Job(name="a", gpus=2, restart_minutes=9.0)]))


def _racks_alike(instance: object) -> bool:
    like = Likeness.of(compile_problem(instance)).subtree  # type: ignore[arg-type]
    return bool(like[1] == like[2])


def test_like_domains_offer_every_job_the_same() -> None:
    """In all domains of a class every job has the same sorted list of utilities, by enumeration."""
    compared = 0
    for seed in range(60):
        instance = copied(random_instance(seed, max_nodes=3), 2)
        problem, world = compile_problem(instance), World(instance)
        setting = setting_of(problem)
        for depth in range(1, problem.tree.max_depth + 1):
            level = problem.tree.level_name(depth)
            for members in find_domains(problem, setting.outlook, setting.likeness, depth).classes:
                offers = [_offers(world, level, problem.tree.names[v]) for v in members]
                assert all(offer == pytest.approx(offers[0], abs=1e-9) for offer in offers)
                compared += len(members) > 1
    assert compared > 60


def _offers(world: World, level: str, domain: str) -> list[float]:
    jobs = open_jobs(world.instance)
    return [value for job in jobs for value in sorted(value for value, _ in options(world, job, level, domain))]


def test_every_domain_where_something_can_be_gained_is_found() -> None:
    """A domain that is left out has no placement of positive utility of any open job."""
    for seed in range(120):
        instance = random_instance(seed)
        problem, world = compile_problem(instance), World(instance)
        setting = setting_of(problem)
        for depth in range(1, problem.tree.max_depth + 1):
            found = find_domains(problem, setting.outlook, setting.likeness, depth)
            kept = {v for members in found.classes for v in members}
            for v in range(int(problem.tree.start[depth]), int(problem.tree.start[depth + 1])):
                if v not in kept:
                    level, name = problem.tree.level_name(depth), problem.tree.names[v]
                    assert not any(
                        value > 0 for job in open_jobs(instance) for value, _ in options(world, job, level, name)
                    )


def test_deepest_fit_is_that_of_enumeration() -> None:
    """The smallest domain that holds a job, and whether it fits at all, are those of all its placements."""
    for seed in range(150):
        instance = random_instance(seed)
        problem, world = compile_problem(instance), World(instance)
        fit = deepest_fit(problem, Finder(problem, build_outlook(problem), Budget()), Likeness.of(problem), Budget())
        levels = ["cluster", *instance.cluster.levels]
        for j in problem.open_jobs.tolist():
            places = list(enumerate_job(world, instance.jobs[j]))
            depths = [d for d, level in enumerate(levels) if any(domain_of(world, level, p) for p in places)]
            assert fit.get(j) == (max(depths) if depths else None)


def test_the_level_is_the_deepest_that_holds_every_job() -> None:
    """Nodes if all jobs fit into one, racks if one needs two nodes; a job that fits nowhere does not count."""
    small, double, huge = Job(name="s", gpus=2), Job(name="d", gpus=6), Job(name="h", gpus=99)
    assert _level([small, huge]) == "node"
    assert _level([small, double]) == "rack"


def test_a_job_beyond_every_domain_leaves_the_level_that_serves_most() -> None:
    """If a job needs several racks, the level is the deepest of those that serve the most demand of the others."""
    assert _level([Job(name="w", gpus=12), Job(name="d", gpus=6)]) == "rack"
    assert _level([Job(name="w", gpus=12), Job(name="s", gpus=4)]) == "node"
    problem = compile_problem(flat([4, 4], [Job(name="w", gpus=6)]))
    assert choose_depth(problem, {0: 0}) == 1


def _level(jobs: list[Job]) -> str:
    problem = compile_problem(racks([[4, 4], [4, 4]], jobs))
    setting = setting_of(problem)
    return problem.tree.level_name(
        choose_depth(problem, deepest_fit(problem, setting.finder, setting.likeness, Budget()))
    )
