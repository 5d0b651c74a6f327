"""Part (b): traces on 512 to 2,048 GPUs, one simulation per configuration and policy."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cache

import msgspec

from benchmarks.paper import large_first
from benchmarks.paper.clusters import cluster_of
from benchmarks.paper.journal import Row
from benchmarks.paper.loads import DATA, prepared
from crop_cli.model.trace import Trace
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.faults import Fault, FaultTrace, load_faults, replay
from crop_cli.simulate.records import Figures
from crop_cli.simulate.run import simulate
from crop_cli.simulate.settings import DAY, Policy, Reaction, Settings, Weather
from crop_cli.solvers import registry
from crop_cli.sources.generate.distributions import FAULTS_PER_DAY

CROP = "greedy"
"""In simulations the greedy with its quick effort, which is what `crop simulate` takes."""

OWN = (CROP, large_first.NAME)

FULL = "greedy-full"
"""The greedy with all it has; it takes part where there are rounds, since it takes a second each."""

ROUND_S = 600.0

WHOLE_QUEUE = ("anneal", "pop", "contiguous")
"""Baselines that see the whole window; too slow for thousands of rounds, they take part in (a) only."""

RULES = tuple(name for name in registry.baselines() if name not in WHOLE_QUEUE)

SOME_RULES = ("best-fit-decreasing", "fgd", "hived", "kueue-best-fit", "slurm-tree", "tiresias")
"""Those that do best where all take part: in health (one seed, up to 1,024 GPUs, a round at every change), and with
lemon nodes. Elsewhere only they do, and only they react to abnormal nodes by excluding them, too."""

FAULTS_IN_SPAN = 30.0
"""Faults are sped up so that so many are expected while jobs arrive; repairs and quarantine are sped up alike, so that
the same share of node time is lost as at the measured rates."""

JOBS = 1000
"""Of a trace, drawn at random; on 2,048 GPUs more."""

WATCHED = 400
"""Servers of the fault trace."""

REPAIR_MEDIAN_H, QUARANTINE_H = 15.0, 24.0

SLOW_SHARE, SLOW_HOURS = 0.05, 6.0
"""Share of nodes that are slow at a time, in the mean, and for how long each."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One workload on one cluster in one weather ("healthy", "lemons", "slow", "replay")."""

    trace: str
    topology: str
    nodes: int
    gbps: int
    load: float
    weather: str = "healthy"
    seed: int = 0
    jobs: int = JOBS
    round_s: float = 0.0

    @property
    def name(self) -> str:
        """For people and files."""
        rounds = f", rounds of {self.round_s / 60:g} min" if self.round_s else ""
        seed = f", seed {self.seed}" if self.seed else ""
        where = f"{self.topology} {8 * self.nodes}, {self.gbps} Gbit/s"
        return f"{self.trace}, {where}, load {self.load:g}, {self.weather}{rounds}{seed}"

    @property
    def workload(self) -> Trace:
        """Its jobs."""
        return prepared(self.trace, 8 * self.nodes, self.load, self.jobs, self.seed)


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation."""

    configuration: Configuration
    policy: str
    reaction: Reaction

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.configuration.name}: {self.policy}, {self.reaction}"


BASE = Configuration("gavel", "lingjun", 64, 100, 1.3)
SEEDS = 5


def configurations(*, quick: bool = False) -> list[Configuration]:
    """All of them, the most telling ones first."""
    if quick:
        small = replace(BASE, jobs=150)
        return [small, replace(small, seed=1), replace(small, weather="lemons")]
    seeds = [replace(BASE, seed=seed) for seed in range(1, SEEDS)]
    abnormal = [replace(what, weather=weather) for weather in ("slow", "replay") for what in lemons()]
    rounds = [replace(BASE, round_s=ROUND_S)]
    large = [replace(BASE, nodes=256, jobs=2500)]
    return [*healthy_configurations(), *lemons(), *abnormal, *seeds, *rounds, *large]


def healthy_configurations() -> list[Configuration]:
    """Those where every rule takes part and nothing fails."""
    philly = replace(BASE, trace="philly")
    return [
        *(replace(trace, load=load) for trace in (BASE, philly) for load in (1.3, 1.0, 0.7)),
        *(replace(trace, gbps=400) for trace in (BASE, philly)),
        *(replace(trace, topology="rail", nodes=128) for trace in (BASE, philly)),
        replace(BASE, trace="elasticflow"),
    ]


def lemons() -> list[Configuration]:
    """Every rule takes part here, too."""
    return [replace(BASE, trace=trace, load=1.0, weather="lemons") for trace in ("gavel", "philly")]


def tasks(configuration: Configuration) -> list[Task]:
    """Every policy with every reaction that makes a difference."""
    healthy = configuration.weather == "healthy"
    own: tuple[Reaction, ...] = ("aware",) if healthy else ("aware", "ignorant")
    policies = (*OWN, FULL) if configuration.round_s else OWN
    everybody = configuration in [*healthy_configurations(), *lemons()]
    rules = RULES if everybody else SOME_RULES
    return [
        *(Task(configuration, policy, reaction) for policy in policies for reaction in own),
        *(Task(configuration, rule, "ignorant") for rule in rules),
        *(Task(configuration, rule, "exclude") for rule in ([] if healthy else SOME_RULES)),
    ]


def speed_up(configuration: Configuration) -> float:
    """By how much faults are sped up."""
    days = configuration.workload.jobs[-1].arrival_s / DAY
    return FAULTS_IN_SPAN / (configuration.nodes * FAULTS_PER_DAY * days)


def settings_of(task: Task) -> tuple[Settings, list[Fault]]:
    """Settings of a simulation, and faults to be replayed."""
    what = task.configuration
    faster = speed_up(what)
    weather, faults = Weather(), []
    if what.weather == "lemons":
        weather = Weather(rates=True, repair_median_h=REPAIR_MEDIAN_H / faster)
    elif what.weather == "slow":
        per_day = SLOW_SHARE / (1.0 - SLOW_SHARE) * 24.0 / SLOW_HOURS
        weather = Weather(slow_per_day=per_day, slow_factor=1.5, slow_hours=SLOW_HOURS)
    elif what.weather == "replay":
        nodes = [node.name for node in cluster_of(what.topology, what.nodes, what.gbps, seed=what.seed).cluster.nodes]
        traced = _faults()
        sped = replace(traced, faults=[(n, start / faster, end / faster) for n, start, end in traced.faults])
        faults = replay(sped, nodes, WATCHED, what.seed).faults
    policy = Policy(
        solver=CROP if task.policy == FULL else task.policy,
        options={"effort": "full"} if task.policy == FULL else {},
        round_s=what.round_s,
        reaction=task.reaction,
        quarantine_hours=QUARANTINE_H / faster,
    )
    return Settings(policy=policy, weather=weather, seed=what.seed), faults


@cache
def _faults() -> FaultTrace:
    return load_faults(DATA / "faults.csv.gz")


@dataclass(slots=True)
class Span:
    """Figures while jobs arrive, taken at the last arrival."""

    end: float
    figures: dict[str, float] = field(default_factory=dict)

    def __call__(self, engine: Engine) -> None:
        """After an event."""
        if self.figures or engine.now < self.end:
            return
        elapsed = engine.now - engine.meter.start
        useful = iterations = held = 0.0
        for job in engine.jobs:
            done, service = job.done, job.service
            if job.phase == "running":
                done += job.rate * max(0.0, engine.now - max(job.at, job.stalled_until))
                service += job.gpus * (engine.now - job.at)
            useful += job.gpus * done
            iterations += job.gpus * done / job.best_s
            held += service
        self.figures = {
            "span_goodput": useful / elapsed,
            "span_throughput": iterations / elapsed,
            "span_efficiency": useful / held,
            "span_held": held / elapsed,
            "span_waiting": len(engine.queue),
        }


def run(task: Task) -> list[Row]:
    """The row of one simulation."""
    large_first.register()
    what = task.configuration
    settings, faults = settings_of(task)
    rate = speed_up(what) if what.weather == "lemons" else 0.0
    cluster = cluster_of(what.topology, what.nodes, what.gbps, rate, what.seed)
    trace = what.workload
    span = Span(trace.jobs[-1].arrival_s)
    figures = simulate(trace, cluster, settings, faults=faults, watch=span).figures
    common = {"configuration": what.name, **asdict(what), "policy": task.policy, "reaction": task.reaction}
    return [{**common, "span_days": span.end / DAY, **span.figures, **_flat(figures)}]


def _flat(figures: Figures) -> Row:
    """What is kept of a simulation's figures."""
    kept = msgspec.structs.asdict(figures)
    for name in ("completion", "queueing", "finish_ratio"):
        distribution = kept.pop(name)
        kept |= {f"{name}_{part}": getattr(distribution, part) for part in ("mean", "median", "p95")}
    return kept
