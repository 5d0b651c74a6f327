"""What the greedy's parts ought to find, by enumeration of tiny instances."""

from __future__ import annotations

from collections.abc import Iterable

from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import Problem
from tests.bruteforce import NameCounts, World, enumerate_job, job_utility

Option = tuple[float, NameCounts]


def domain_of(world: World, level: str, counts: NameCounts) -> str | None:
    """The one vertex of a level that holds the whole placement, if there is one; "cluster" is the root's level."""
    if level == "cluster":
        return "cluster"
    depth = world.instance.cluster.levels.index(level)
    vertices = {list(reversed(world.paths[node]))[depth] for node in counts}
    return vertices.pop() if len(vertices) == 1 else None


def options(world: World, job: Job, level: str, domain: str | None = None) -> list[Option]:
    """Utility and counts of every placement inside one domain of a level; inside a certain one if it is given."""
    found = []
    for counts in enumerate_job(world, job):
        inside = domain_of(world, level, counts)
        if inside is not None and domain in (None, inside):
            found.append((job_utility(world, job, counts), counts))
    return found


def best_total(world: World, choices: list[tuple[Job, list[Option]]]) -> float:
    """Largest sum of values over choices of at most one option per job that fit together; options of value ≤ 0 never
    help. Depth first over the jobs."""
    ranked = [(job, sorted((o for o in found if o[0] > 0), key=lambda o: -o[0])) for job, found in choices]
    rest = [0.0] * (len(ranked) + 1)
    for i in reversed(range(len(ranked))):
        rest[i] = rest[i + 1] + (ranked[i][1][0][0] if ranked[i][1] else 0.0)
    best = 0.0

    def search(i: int, value: float) -> None:
        nonlocal best
        best = max(best, value)
        if i == len(ranked) or value + rest[i] <= best:
            return
        job, found = ranked[i]
        for gain, counts in found:
            if value + gain + rest[i + 1] <= best:
                break
            if world.fits(job, counts):
                world.take(job, counts)
                search(i + 1, value + gain)
                world.take(job, counts, -1)
        search(i + 1, value)

    search(0, 0.0)
    return best


def open_jobs(instance: Instance) -> Iterable[Job]:
    """Jobs to decide: all that do not run, or may be moved."""
    return (job for job in instance.jobs if job.placement is None or job.movable)


def confined_optimum(instance: Instance, level: str) -> float:
    """Largest Σ U_j over placements of any open jobs that keep each inside one domain of a level."""
    world = World(instance)
    return best_total(world, [(job, options(world, job, level)) for job in open_jobs(instance)])


def best_gain(problem: Problem, level: str, domain: str, current: dict[str, float]) -> float:
    """Largest Σ_j max(0, U_j − current_j) over arrangements of one domain."""
    world = World(problem.instance)
    choices = []
    for job in open_jobs(problem.instance):
        found = [(value - current.get(job.name, 0.0), counts) for value, counts in options(world, job, level, domain)]
        choices.append((job, found))
    return best_total(world, choices)
