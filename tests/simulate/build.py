"""Small traces and clusters for the simulation's tests, and the state of a simulation recomputed from scratch."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import numpy as np

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.load import uplink_traffic
from crop_cli.model.rules import UPLINK
from crop_cli.model.sharing import Shared, evaluate_shared
from crop_cli.model.topology import Topology, Vertex
from crop_cli.model.trace import Trace, TraceJob, job_of
from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.engine import Engine, Watch, reject_hopeless
from crop_cli.simulate.policy import Scheduler
from crop_cli.simulate.queue import Queue
from crop_cli.simulate.records import JobRecord, Simulation
from crop_cli.simulate.run import Fault, _sim_job, problem_of, simulate
from crop_cli.simulate.settings import Policy, Settings, Weather
from crop_cli.simulate.weather import Change, drawn
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


@dataclass
class Skies:
    """The weather of a simulation, replayed apart from it."""

    changes: Iterable[Change]
    down: Counter[int] = field(default_factory=Counter)
    slow: set[int] = field(default_factory=set)
    last_failure: dict[int, float] = field(default_factory=lambda: defaultdict(lambda: -math.inf))

    def __post_init__(self) -> None:
        self._rest = iter(self.changes)
        self._next = next(self._rest, None)

    def until(self, now: float) -> None:
        """Everything that happens up to a moment."""
        while self._next is not None and self._next.time <= now:
            for n in self._next.nodes:
                if self._next.kind == "fail":
                    if not self.down[n]:
                        self.last_failure[n] = self._next.time
                    self.down[n] += 1
                elif self._next.kind == "repair":
                    self.down[n] -= 1
                elif self._next.kind == "slow":
                    self.slow.add(n)
                else:
                    self.slow.discard(n)
            self._next = next(self._rest, None)


class Auditor:
    """A `watch` that recomputes the state after every event from the running jobs' places and the definitions."""

    def __init__(self, jobs: list[TraceJob], cluster: Instance, settings: Settings, *, rates: bool = True) -> None:
        self.jobs, self.cluster, self.settings, self.rates = jobs, cluster, settings, rates
        self.problem = problem_of(trace(jobs), cluster, settings)
        self.skies = Skies(drawn(self.problem, settings.weather, settings.seed, settings.until_s or math.inf))
        residents = [j for j in cluster.jobs if j.placement is not None and not j.movable]
        self.pinned = [change(j, name=f"{j.name} that stays") for j in residents]
        self.topology = Topology.of(cluster.cluster)
        self.events = self.overbooked = self.slowed = 0
        self.held = 0.0
        self._last: tuple[float, int] | None = None

    def __call__(self, engine: Engine) -> None:
        self.skies.until(engine.now)
        self.events += 1
        shared = self._shared(engine)
        allowed = {UPLINK, "required job missing"}
        assert [v.message for v in shared.evaluation.violations if v.kind not in allowed] == []
        self._check_nodes(engine)
        self._check_phases(engine)
        self._check_uplinks(engine, shared)
        if self.rates:
            self._check_rates(engine, shared)
        self._integrate(engine)

    def _shared(self, engine: Engine) -> Shared:
        """The running placement as the model's definitions see it, slow nodes slowed down."""
        names = self.problem.node_names
        slow = {names[n] for n in self.skies.slow}
        factor = self.settings.weather.slow_factor
        nodes = [change(n, slowdown=n.slowdown * factor) if n.name in slow else n for n in self.cluster.cluster.nodes]
        everyone = [*map(job_of, self.jobs), *self.pinned]
        instance = change(self.cluster, cluster=change(self.cluster.cluster, nodes=nodes), jobs=everyone)
        placement = {j.name: {names[n]: x for n, x in j.counts.items()} for j in engine.cluster.running.values()}
        placement |= {j.name: {n: x for n, x in (j.placement or {}).items() if x > 0} for j in self.pinned}
        self.instance = instance
        shared = evaluate_shared(instance, placement)
        self.overbooked += bool(shared.loads)
        return shared

    def _check_nodes(self, engine: Engine) -> None:
        """No GPU twice (the evaluator has looked at that), none on a node that is down; what is free adds up."""
        free = self.problem.free.copy()
        for member in engine.cluster.running.values():
            assert sum(member.counts.values()) == member.gpus
            for n, x in member.counts.items():
                assert x > 0
                assert not self.skies.down[n]
                free[n] -= x * self.problem.kind(member.index).demand
        assert (free >= -1e-9 - 1e-6 * np.maximum(1, self.problem.capacity)).all()
        np.testing.assert_allclose(engine.cluster.free, free, atol=1e-9)
        down = np.array([self.skies.down[n] > 0 for n in range(self.problem.n_nodes)])
        np.testing.assert_array_equal(engine.cluster.up, self.problem.up & ~down)

    def _check_phases(self, engine: Engine) -> None:
        """Every job is in exactly one place."""
        waiting, running = {j.index for j in engine.queue}, set(engine.cluster.running)
        coming = {j.index for j in engine.arrivals}
        done = {j.index for j in engine.jobs if j.phase in ("finished", "rejected")}
        assert sum(map(len, (waiting, running, coming, done))) == len(engine.jobs)
        assert waiting | running | coming | done == set(range(len(engine.jobs)))
        assert all(engine.jobs[j].phase == "running" for j in running)

    def _check_uplinks(self, engine: Engine, shared: Shared) -> None:
        """What is reserved is the sum over the jobs that run, those that stay for good included."""
        tree = self.problem.tree
        traffic = uplink_traffic(self.instance, self.topology, shared.evaluation.jobs)
        for v in range(1, tree.n_vertices):
            vertex = Vertex(self.topology.levels[int(tree.depth[v]) - 1], tree.names[v])
            if self.topology.uplink_gbps[vertex] is not None:
                gbps = traffic[vertex].gbps if vertex in traffic else 0.0
                assert math.isclose(engine.cluster.reserved[v], gbps, rel_tol=1e-9, abs_tol=1e-9)

    def _check_rates(self, engine: Engine, shared: Shared) -> None:
        """Work per second is the efficiency under sharing, by the fastest type the job knows."""
        types = {node.gpu_type for node in self.cluster.cluster.nodes}
        for member in engine.cluster.running.values():
            seconds = self.jobs[member.index].compute_s
            known = seconds if isinstance(seconds, dict) else {"": seconds}
            here = {t: s for t, s in known.items() if t in types or t == ""}
            efficiency = shared.evaluation.jobs[member.name].efficiency
            expected = efficiency * min(known.values()) / min(here.values())
            assert math.isclose(member.rate, expected, rel_tol=5e-6)
            self.slowed += any(n in self.skies.slow for n in member.counts)

    def _integrate(self, engine: Engine) -> None:
        if self._last is not None:
            self.held += self._last[1] * (engine.now - self._last[0])
        self._last = (engine.now, sum(sum(j.counts.values()) for j in engine.cluster.running.values()))

    def end(self, now: float) -> None:
        """The time from the last event to the end."""
        if self._last is not None:
            self.held += self._last[1] * (now - self._last[0])


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


def pairs(values: Iterable[float]) -> list[tuple[float, float]]:
    """Neighbours."""
    return list(itertools.pairwise(values))
