"""Part (b), snapshots: moments of a simulated cluster, each solved by every policy and held against a proven bound.

The cluster is simulated with CROP and a scheduling round every half hour, so that much is free and many jobs wait when
one is due. At such a moment the running jobs stay where they are, and the waiting window, which asks for more than is
free, is to be placed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from benchmarks.paper import large_first
from benchmarks.paper.clusters import cluster_of
from benchmarks.paper.journal import Row
from benchmarks.paper.simulated import BASE, CROP, RULES, Configuration
from benchmarks.paper.testbed import placed
from crop_cli import api
from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import Problem, named
from crop_cli.model.trace import TraceJob, job_of
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.run import simulate
from crop_cli.simulate.settings import Policy, Settings
from crop_cli.solvers import registry
from crop_cli.solvers.contract import Answer, Budget, Listener, Request, Solver

ROUND_S = 1800.0
WINDOW = 32
LEAST_JOBS, LEAST_GPUS = 12, 24
"""That wait, and that are free, at a moment that is kept; and the waiting jobs ask for more than is free."""

EVERY = 4
"""Of such moments every fourth is kept: neighbours are much alike."""

PER_TRACE = 5
LIMIT_S = 60.0
QUICK = f"{CROP}, quick"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Number of a moment of a configuration."""

    configuration: Configuration
    number: int

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.configuration.name}, moment {self.number}"


def snapshots(*, quick: bool = False) -> list[Snapshot]:
    """All of them."""
    if quick:
        return [Snapshot(replace(BASE, jobs=300), 0)]
    return [Snapshot(what, n) for what in (BASE, replace(BASE, trace="philly")) for n in range(PER_TRACE)]


@dataclass(slots=True)
class Camera:
    """A solver that keeps what it is asked, up to a moment, and then ends the simulation."""

    base: Instance
    solver: Solver
    number: int
    budget: Budget
    jobs: list[TraceJob]
    engine: Engine | None = None
    seen: int = 0
    picture: Instance | None = None

    def watch(self, engine: Engine) -> None:
        """Take the place of the policy's solver."""
        if self.engine is None:
            self.engine, engine.scheduler.solver = engine, self

    def __call__(self, problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
        """Look, and solve."""
        free = float(problem.free[problem.up, 0].sum())
        asked = sum(problem.kind(j).k for j in problem.open_jobs.tolist())
        if self.picture is None and len(problem.open_jobs) >= LEAST_JOBS and LEAST_GPUS <= free < asked:
            if self.seen == EVERY * self.number:
                self.picture = self._taken(problem)
                self.budget.interrupt()
            self.seen += 1
        return self.solver(problem, request, budget, listen)

    def _taken(self, problem: Problem) -> Instance:
        assert self.engine is not None
        running = self.engine.cluster.running
        places = named(problem, {j: job.counts for j, job in running.items()})
        waiting = {problem.job_names[j] for j in problem.open_jobs.tolist()}
        jobs: list[Job] = []
        for job in self.jobs:
            if job.name in places:
                jobs.append(msgspec.structs.replace(job_of(job), placement=dict(places[job.name])))
            elif job.name in waiting:
                jobs.append(job_of(job))
        return msgspec.structs.replace(self.base, jobs=jobs)


def picture_of(snapshot: Snapshot) -> Instance:
    """The instance of a moment.

    Raises
    ------
    ValueError
        If the simulation ends before.
    """
    what = snapshot.configuration
    base = cluster_of(what.topology, what.nodes, what.gbps, 0.0, what.seed)
    trace, budget = what.workload, Budget()
    engine = registry.find(CROP)
    camera = Camera(base, engine.load(), snapshot.number, budget, trace.jobs)
    settings = Settings(policy=Policy(solver=CROP, round_s=ROUND_S, window=WINDOW, reaction="aware"))
    simulate(trace, base, settings, watch=camera.watch, budget=budget)
    if camera.picture is None:
        raise ValueError(f"{snapshot.name}: the simulation ended after {camera.seen} such moments")
    return camera.picture


def run(snapshot: Snapshot) -> list[Row]:
    """A row per policy; the bound is the least that any run proved, of what placing the window can add."""
    large_first.register()
    instance = picture_of(snapshot)
    fixed = {job.name: job.placement for job in instance.jobs if job.placement is not None}
    already = evaluate(instance, fixed).objective
    new = {job.name: job.gpus for job in instance.jobs if job.name not in fixed}
    common = {
        "jobs": len(new),
        "free": sum(n.gpus for n in instance.cluster.nodes) - sum(j.gpus for j in instance.jobs if j.placement),
    }
    rows, bounds = [], []
    for solver, name, options in (
        (CROP, QUICK, {"effort": "quick"}),
        (CROP, CROP, {}),
        ("search", "search", {}),
        ("exact", "exact", {}),
    ):
        solution = api.solve(instance, solver=solver, time_limit=LIMIT_S, gap=0.0, options=options)
        evaluation = evaluate(instance, {row.job: row.nodes for row in solution.placements})
        bounds.append(solution.bound)
        rows.append({**common, "policy": name, "overbooked": False, **figures(evaluation, new, already)})
    for rule in (large_first.NAME, *RULES):
        evaluation, overbooked = placed(instance, registry.find(rule))
        rows.append({**common, "policy": rule, "overbooked": overbooked, **figures(evaluation, new, already)})
    bound = min(value for value in bounds if value is not None) - already
    return [{**row, "bound": bound} for row in rows]


def figures(evaluation: Evaluation, new: Mapping[str, int], already: float) -> Row:
    """What a placement of the window adds to F, and the overhead of its jobs."""
    mine = {name: out for name, out in evaluation.jobs.items() if name in new}
    gpus = sum(new[name] for name in mine)
    lost = sum(new[name] * (1.0 - out.compute_s / out.iteration_s) for name, out in mine.items())
    return {
        "objective": evaluation.objective - already,
        "gpus": gpus,
        "placed": len(mine),
        "overhead": lost / gpus if gpus else 0.0,
    }
