"""Attainable counts against enumeration."""

from __future__ import annotations

import random

import msgspec
import pytest

from crop_cli.model.instance import Instance, Job
from crop_cli.model.kinds import allowed_counts
from crop_cli.model.problem import Counts, Problem, compile_problem
from crop_cli.solvers.fits import Fit, Room
from tests.bruteforce import NameCounts, World, enumerate_job
from tests.tiny import random_instance

SEEDS = range(150)


def _partly_placed(seed: int) -> tuple[Problem, World, dict[int, Counts]]:
    """A tiny instance in which some open jobs have been placed at random where they fit."""
    instance = random_instance(seed)
    problem, world = compile_problem(instance), World(instance)
    chosen = random.Random(seed)
    placement: dict[int, Counts] = {}
    for j in problem.open_jobs[::2]:
        job = instance.jobs[int(j)]
        places = list(enumerate_job(world, job))
        if places:
            place = chosen.choice(places)
            world.take(job, place)
            placement[int(j)] = {problem.node_index[n]: x for n, x in place.items()}
    return problem, world, placement


def _without(job: Job, *names: str) -> Job:
    return msgspec.structs.replace(job, **dict.fromkeys(names))


@pytest.mark.parametrize("seed", SEEDS)
def test_fits_exactly_where_enumeration_finds_a_place(seed: int) -> None:
    """In what a placement leaves, a job fits by its sets of counts exactly when some placement of it does."""
    problem, world, placement = _partly_placed(seed)
    room = Room.after(problem, placement)
    for j in problem.open_jobs:
        job, kind = problem.instance.jobs[int(j)], problem.kind(int(j))
        if int(j) not in placement:
            found = Fit(room, kind).attainable(kind.allowed, uplinks=True).fits(job.gpus)
            assert found == any(True for _ in enumerate_job(world, job)), job.name


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_below_each_vertex_are_those_of_enumeration(seed: int) -> None:
    """Without the gang, the counts that a vertex can hold are those of some partial placement inside it."""
    problem, world, placement = _partly_placed(seed)
    room, tree = Room.after(problem, placement), problem.tree
    for j in problem.open_jobs[:2]:
        job, kind = problem.instance.jobs[int(j)], problem.kind(int(j))
        if job.gpus_per_node is not None or job.segment is not None:
            continue
        loose = _without(job, "within", "spread")
        attainable = Fit(room, kind).attainable(allowed_counts(loose, tree), uplinks=False)
        for v in range(1, tree.n_vertices):
            most = _most_inside(world, loose, tree.names[v])
            assert attainable.most([v])[1] == most, (job.name, tree.names[v])


def _most_inside(world: World, job: Job, vertex: str) -> int:
    """Most workers of a job without shape constraints inside a vertex, uplinks aside, by summing over its nodes."""
    total = 0
    unlimited = World(world.instance)
    unlimited.free, unlimited.uplink_free = world.free, dict.fromkeys(world.uplink_free, float("inf"))
    for name, path in world.paths.items():
        if vertex in path:
            sizes = range(job.gpus, 0, -1)
            total += next((x for x in sizes if _holds(unlimited, job, {name: x})), 0)
    return min(total, job.gpus)


def _holds(world: World, job: Job, counts: NameCounts) -> bool:
    """Whether so many workers of a type that is allowed fit there."""
    (name, x), types = next(iter(counts.items())), job.compute_s
    if isinstance(types, dict) and world.nodes[name].gpu_type not in types:
        return False
    return world.fits(job, {name: x})


def test_the_empty_cluster_is_all_that_is_up() -> None:
    """The whole room ignores what is used and pinned, and has nothing on nodes that are not up."""
    instance = msgspec.json.decode(
        b"""{"format": "crop-instance/1", "cluster": {"levels": ["node"], "nodes": [
        {"name": "a", "gpus": 8, "used": {"gpus": 3}, "uplink_gbps": 10},
        {"name": "b", "gpus": 8, "state": "drained"}]},
        "jobs": [{"name": "runs", "gpus": 2, "placement": {"a": 2}}]}""",
        type=Instance,
    )
    problem = compile_problem(instance)
    assert list(Room.whole(problem).gpus) == [8, 0]
    assert list(Room.after(problem, {}).gpus) == [3, 0]


def test_equal_domains_add_by_doubling() -> None:
    """A thousand equal nodes of which each holds 0 or 3 workers hold every multiple of 3 together."""
    nodes = [{"name": f"n{i}", "gpus": 3} for i in range(1000)]
    data = {
        "format": "crop-instance/1",
        "cluster": {"levels": ["node"], "nodes": nodes},
        "jobs": [{"name": "j", "gpus": 3000, "gpus_per_node": 3}],
    }
    problem = compile_problem(msgspec.convert(data, Instance))
    kind = problem.kind(0)
    below = Fit(Room.whole(problem), kind).attainable(kind.allowed, uplinks=True).below[0]
    assert below == sum(1 << x for x in range(0, 3001, 3))
