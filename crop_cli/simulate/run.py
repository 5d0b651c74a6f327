"""From a trace and a cluster to a simulation's result."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from crop_cli._version import __version__
from crop_cli.errors import Defect, InputError
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.model.trace import Trace, TraceJob, job_of
from crop_cli.model.validate import validate
from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.engine import Engine, Watch, reject_hopeless
from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.metrics import figures
from crop_cli.simulate.policy import Scheduler
from crop_cli.simulate.queue import Queue
from crop_cli.simulate.records import JobRecord, Simulation
from crop_cli.simulate.settings import Settings
from crop_cli.simulate.weather import drawn, replayed
from crop_cli.solvers.contract import Budget

Fault = tuple[str, float, float]
"""Node name, start and end in seconds."""


def simulate(
    trace: Trace,
    cluster: Instance,
    settings: Settings,
    *,
    faults: Iterable[Fault] = (),
    watch: Watch = lambda _engine: None,
    budget: Budget | None = None,
) -> Simulation:
    """Run a trace on a cluster.

    Parameters
    ----------
    trace
        Jobs with arrival and duration.
    cluster
        An instance; its nodes' `used` and its jobs that run and may not move hold their GPUs for good, its other jobs
        are left aside.
    settings
        Policy, weather, sharing, seed, end.
    faults
        Replayed, besides what is drawn.
    watch
        Told after every event.
    budget
        Interrupting it ends the simulation after the event at hand, with the figures up to then. Its limit is not
        looked at.

    Raises
    ------
    InputError
        If the jobs do not make a valid instance with the cluster, or a fault is on a node that is not there.
    UsageError, BackendError
        An unknown solver, or one that fails.
    """
    problem = problem_of(trace, cluster, settings)
    budget = budget or Budget()
    jobs = [_sim_job(problem, j, job) for j, job in enumerate(trace.jobs)]
    reject_hopeless(problem, jobs)
    until = math.inf if settings.until_s is None else settings.until_s
    weather = drawn(problem, settings.weather, settings.seed, until)
    extra = list(faults)
    if extra:
        import heapq  # noqa: PLC0415 (only where faults are replayed)

        weather = heapq.merge(weather, replayed(_by_index(problem, extra), until))
    engine = Engine(
        problem=problem,
        settings=settings,
        jobs=jobs,
        cluster=SimCluster.of(problem, settings.sharing),
        queue=Queue(settings.policy.order),
        scheduler=Scheduler.of(problem, settings.policy, settings.seed, budget),
        weather=weather,
        after=watch,
        budget=budget,
    )
    engine.run()
    gpus = float(problem.free[:, 0].sum())
    return Simulation(
        format="crop-simulation/1",
        crop_version=__version__,
        trace=trace.name,
        cluster=cluster.name,
        gpus=round(gpus),
        nodes=problem.n_nodes,
        settings=settings,
        interrupted=budget.interrupted,
        figures=figures(jobs, engine.meter, engine.scheduler, gpus, problem.n_nodes),
        series=engine.meter.series,
        jobs=[_record(job) for job in jobs],
    )


def problem_of(trace: Trace, cluster: Instance, settings: Settings) -> Problem:
    """Cluster and jobs compiled; hardware twice, as it is and slow.

    Raises
    ------
    InputError
        If they do not go together.
    """
    pinned = [job for job in cluster.jobs if job.placement is not None and not job.movable]
    taken = {job.name for job in trace.jobs}
    residents = []
    for job in pinned:
        name = _free_name(job, taken)
        taken.add(name)
        residents.append(msgspec.structs.replace(job, name=name))
    instance = msgspec.structs.replace(cluster, jobs=[*map(job_of, trace.jobs), *residents])
    defects, _ = validate(instance)
    if defects:
        raise InputError(f"{trace.name or 'trace'} on {cluster.name or 'cluster'}", defects)
    return compile_problem(instance, [settings.weather.slow_factor])


def _free_name(job: Job, taken: set[str]) -> str:
    name = job.name
    while name in taken:
        name = f"{name}'"
    return name


def _sim_job(problem: Problem, index: int, job: TraceJob) -> SimJob:
    seconds = job.compute_s if isinstance(job.compute_s, dict) else {"": job.compute_s}
    return SimJob(
        index=index,
        name=job.name,
        gpus=job.gpus,
        weight=job.weight,
        arrival=job.arrival_s,
        duration=job.duration_s,
        checkpoint_s=60.0 * job.checkpoint_minutes,
        restart_s=60.0 * job.restart_minutes,
        best_s=min(seconds.values()),
        overlap=job.overlap,
    )


def _by_index(problem: Problem, faults: list[Fault]) -> list[tuple[int, float, float]]:
    unknown = sorted({name for name, _, _ in faults if name not in problem.node_index})
    if unknown:
        raise InputError("fault trace", [Defect("node", repr(name), "a node of the cluster") for name in unknown[:10]])
    return [(problem.node_index[name], start, end) for name, start, end in faults]


def _record(job: SimJob) -> JobRecord:
    return JobRecord(
        name=job.name,
        gpus=job.gpus,
        weight=job.weight,
        arrival=job.arrival,
        duration=job.duration,
        state=job.phase,
        reason=job.reason,
        first_start=job.first_start,
        end=job.end,
        service=job.service,
        done=job.done,
        lost=job.lost,
        starts=job.starts,
        interruptions=job.interruptions,
        moves=job.moves,
    )
