"""Small traces and clusters for the simulation's tests."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.trace import Trace, TraceJob
from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.engine import Engine, Watch, reject_hopeless
from crop_cli.simulate.policy import Scheduler
from crop_cli.simulate.queue import Queue
from crop_cli.simulate.records import JobRecord, Simulation
from crop_cli.simulate.run import Fault, _sim_job, problem_of, simulate
from crop_cli.simulate.settings import Policy, Settings, Weather
from crop_cli.simulate.weather import Change
from tests.tiny import random_instance

change = msgspec.structs.replace


def job(name: str, gpus: int, arrival: float, duration: float, **fields: object) -> TraceJob:
    """A job that computes a second per iteration and sends nothing, unless told otherwise."""
    return TraceJob(name=name, gpus=gpus, arrival_s=arrival, duration_s=duration, **fields)  # type: ignore[arg-type]


def trace(jobs: Iterable[TraceJob]) -> Trace:
    """A trace of these jobs."""
    return Trace(format="crop-trace/1", jobs=list(jobs), name="hand")


def flat(nodes: list[int] | list[Node], jobs: Iterable[Job] = (), **cluster: object) -> Instance:
    """Nodes n0, n1, ... with so many GPUs and no switches."""
    made = [n if isinstance(n, Node) else Node(name=f"n{i}", gpus=n) for i, n in enumerate(nodes)]
    return Instance(
        format=FORMAT,
        cluster=Cluster(levels=["node"], nodes=made, **cluster),  # type: ignore[arg-type]
        jobs=list(jobs),
    )


def racks(count: int, nodes: int, gpus: int, **node: object) -> Instance:
    """Racks r0, r1, ... of nodes r0n0, r0n1, ... with so many GPUs each."""
    return Instance(
        format=FORMAT,
        cluster=Cluster(
            levels=["rack", "node"],
            switches=[Switch(name=f"r{r}", level="rack") for r in range(count)],
            nodes=[
                Node(name=f"r{r}n{i}", parent=f"r{r}", gpus=gpus, **node)  # type: ignore[arg-type]
                for r in range(count)
                for i in range(nodes)
            ],
        ),
        jobs=[],
    )


def run(
    jobs: Iterable[TraceJob],
    cluster: Instance,
    *,
    faults: Iterable[Fault] = (),
    watch: Watch = lambda _engine: None,
    settings: Settings | None = None,
    **policy: object,
) -> Simulation:
    """Simulate; keywords are fields of `Policy`, first fit unless told otherwise."""
    settings = settings or Settings()
    chosen = Policy(**{"solver": "first-fit", **policy})  # type: ignore[arg-type]
    return simulate(trace(jobs), cluster, change(settings, policy=chosen), faults=faults, watch=watch)


def records(simulation: Simulation) -> dict[str, JobRecord]:
    """Records by name."""
    return {record.name: record for record in simulation.jobs}


def starts(simulation: Simulation) -> dict[str, float | None]:
    """First start of every job by name."""
    return {record.name: record.first_start for record in simulation.jobs}


def ends(simulation: Simulation) -> dict[str, float | None]:
    """End of every job by name."""
    return {record.name: record.end for record in simulation.jobs}


def scripted(
    jobs: Iterable[TraceJob],
    cluster: Instance,
    changes: Iterable[Change],
    *,
    watch: Watch = lambda _engine: None,
    settings: Settings | None = None,
) -> Engine:
    """An engine that has run under changes given one by one, slow spells and switches included."""
    settings = settings or Settings(policy=Policy(solver="first-fit"))
    whole = trace(jobs)
    problem = problem_of(whole, cluster, settings)
    members = [_sim_job(problem, j, member) for j, member in enumerate(whole.jobs)]
    reject_hopeless(problem, members)
    engine = Engine(
        problem=problem,
        settings=settings,
        jobs=members,
        cluster=SimCluster.of(problem, settings.sharing),
        queue=Queue(settings.policy.order),
        scheduler=Scheduler.of(problem, settings.policy, settings.seed),
        weather=iter(sorted(changes)),
        after=watch,
    )
    engine.run()
    return engine


def tiny_trace(seed: int, copies: int = 6, mean_s: float = 4000.0) -> tuple[list[TraceJob], Instance]:
    """Jobs of a tiny random instance, several times over, and its cluster with what stays there for good."""
    instance = random_instance(seed)
    pool = random_instance(seed, running=False).jobs
    rng = np.random.default_rng(seed)
    jobs, now = [], 0.0
    for i, member in enumerate(pool * copies):
        now += float(rng.choice([0.0, rng.exponential(mean_s)]))
        fields = {**msgspec.structs.asdict(member), "name": f"t{i}", "required": False}
        jobs.append(TraceJob(**fields, arrival_s=now, duration_s=float(rng.exponential(2 * mean_s)) + 1.0))
    return jobs, instance


def split() -> tuple[list[TraceJob], Instance]:
    """A on n0 until 100 s and B on n1 leave a GPU each, on which C runs at half speed; E comes at 150 s for n1.

    C sends 125 MB over 1 Gbit/s per second of computation: 2 s per iteration on both nodes, 1 s on one.
    """
    nodes = [Node(name="n0", gpus=2, gpu_type="a", uplink_gbps=1.0), Node(name="n1", gpus=2, gpu_type="b")]
    jobs = [
        job("A", 1, 0.0, 100.0, compute_s={"a": 1.0}),
        job("B", 1, 0.0, 1000.0, compute_s={"b": 1.0}),
        job("C", 2, 10.0, 200.0, message_mb=125.0, checkpoint_minutes=60.0, restart_minutes=30.0),
        job("E", 1, 150.0, 100.0, compute_s={"b": 1.0}),
    ]
    return jobs, flat(nodes)


def crowded(seed: int) -> tuple[list[TraceJob], Instance]:
    """Gangs that do not fit into one node and send much, on slow uplinks where one of them stays for good."""
    rng = np.random.default_rng(seed)
    instance = racks(2, 3, 4, uplink_gbps=4.0, gpu_link_gbps=50.0)
    switches = [change(switch, uplink_gbps=5.0) for switch in instance.cluster.switches]
    resident = Job(
        name="t0",
        gpus=2,
        message_mb=300.0,
        placement={"r0n0": 1, "r1n0": 1},
        movable=False,
    )
    jobs = [
        job(
            f"t{i}",
            int(rng.choice([2, 3, 5, 6])),
            float(rng.uniform(0, 20_000)),
            float(rng.exponential(2000.0)) + 1.0,
            message_mb=float(rng.choice([0.0, 100.0, 400.0])),
            pattern=str(rng.choice(["allreduce", "alltoall"])),
            overlap=float(rng.choice([0.0, 0.4])),
            compute_s=[0.5, {"gpu": 0.6, "other": 0.4}][int(rng.integers(2))],
            checkpoint_minutes=10.0,
            restart_minutes=2.0,
        )
        for i in range(40)
    ]
    return jobs, change(instance, cluster=change(instance.cluster, switches=switches), jobs=[resident])


STORM = Weather(
    rates=True,
    repair_median_h=0.5,
    repair_sigma=1.0,
    switch_failures_per_day=1.0,
    slow_per_day=4.0,
    slow_factor=1.75,
    slow_hours=2.0,
)
"""So much that a simulation of hours sees all of it."""


def stormy(cluster: Instance, rate: float = 3.0) -> Instance:
    """The cluster with nodes that fail so often a day."""
    nodes = [change(n, failures_per_day=rate) for n in cluster.cluster.nodes]
    return change(cluster, cluster=change(cluster.cluster, nodes=nodes))
