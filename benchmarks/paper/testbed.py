"""Part (a): 8 GPUs, where the optimum can be proven.

Four nodes of 2 or two nodes of 4 A100 on PCIe 4.0, 25 or 100 Gbit/s per node; healthy, with one node that computes 1.5
times slower, or with 2 GPUs taken by others, at random. Jobs of 1, 2, 4 and 8 GPUs with measured models come in a
random order; in the first half of the mixes they ask for exactly 8 GPUs, in the other half for at least 12.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from benchmarks.paper.journal import Row
from crop_cli import api
from crop_cli.model.evaluate import Evaluation
from crop_cli.model.instance import Cluster, Instance, Job, Node
from crop_cli.model.problem import compile_problem, named
from crop_cli.model.sharing import evaluate_shared
from crop_cli.model.validate import validate
from crop_cli.solvers import registry
from crop_cli.solvers.contract import Budget, Event, Request
from crop_cli.sources.profiles import Profile, load_profiles

SHAPES = {"4 × 2": (4, 2), "2 × 4": (2, 4)}
"""Nodes, GPUs of each."""

SPEEDS = (25, 100)
"""Gbit/s of a node's uplink."""

CONDITIONS = ("healthy", "slow node", "2 GPUs taken")
SLOWDOWN = 1.5
TAKEN = 2

PCIE_4_GBPS = 252
"""16 lanes of PCIe 4.0."""

MODELS = ("resnet-50", "vgg16", "bert", "gpt2", "inception3")
SIZES = {1: 0.35, 2: 0.3, 4: 0.25, 8: 0.05}
"""GPUs of a job, and how often."""

GPUS, OVERLOAD = 8, 12
"""GPUs that there are, and that the second half of the mixes asks for at least."""

MIXES = 20
LIMIT_S = 60.0
"""For a proof."""

OWN = ("greedy", "search")
OPTIMUM = "exact"


@dataclass(frozen=True, slots=True)
class Case:
    """One instance of the testbed."""

    shape: str
    gbps: int
    condition: str
    mix: int

    @property
    def name(self) -> str:
        """For people and files."""
        return f"{self.shape}, {self.gbps} Gbit/s, {self.condition}, mix {self.mix}"


def cases(mixes: int = MIXES) -> list[Case]:
    """All of them; with fewer mixes, as many of either half."""
    chosen = [*range(mixes // 2), *range(MIXES // 2, MIXES // 2 + (mixes + 1) // 2)]
    return [Case(*which) for which in product(SHAPES, SPEEDS, CONDITIONS, chosen)]


def jobs_of(mix: int) -> list[Job]:
    """Jobs of a mix in the order in which they come."""
    rng = random.Random(f"testbed {mix}")
    table = load_profiles().table
    jobs: list[Job] = []
    asked, overload = 0, mix >= MIXES // 2
    while asked < (OVERLOAD if overload else GPUS):
        sizes = [size for size in SIZES if overload or size <= GPUS - asked]
        size = rng.choices(sizes, [SIZES[s] for s in sizes])[0]
        model = rng.choice(MODELS)
        batches = sorted(n for n, p in table.items() if n.startswith(f"{model}-b") and "a100" in p.compute_s)
        jobs.append(_job(f"j{len(jobs)}", size, table[rng.choice(batches)]))
        asked += size
    return jobs


def _job(number: str, gpus: int, profile: Profile) -> Job:
    return Job(
        name=f"{number}-{profile.model}",
        gpus=gpus,
        compute_s=profile.compute_s["a100"],
        message_mb=profile.message_mb if gpus > 1 else 0.0,
        pattern=profile.pattern,
        overlap=profile.overlap,
    )


def instance_of(case: Case) -> Instance:
    """The instance of a case."""
    nodes, gpus = SHAPES[case.shape]
    slow = random.Random(f"slow {case.mix}").randrange(nodes) if case.condition == "slow node" else None
    taken = random.Random(f"taken {case.mix}").sample(range(GPUS), TAKEN if case.condition == "2 GPUs taken" else 0)
    cluster = Cluster(
        levels=["node"],
        nodes=[
            Node(
                name=f"n{n}",
                gpus=gpus,
                gpu_type="A100",
                gpu_link_gbps=PCIE_4_GBPS,
                uplink_gbps=case.gbps,
                used={"gpus": sum(gpu // gpus == n for gpu in taken)},
                slowdown=SLOWDOWN if n == slow else 1.0,
            )
            for n in range(nodes)
        ],
    )
    instance = Instance(format="crop-instance/1", name=case.name, cluster=cluster, jobs=jobs_of(case.mix))
    defects, _ = validate(instance)
    assert not defects, defects
    return instance


def run(case: Case) -> list[Row]:
    """A row per policy, the optimum's first."""
    instance = instance_of(case)
    common = {"shape": case.shape, "gbps": case.gbps, "condition": case.condition, "mix": case.mix}
    rows: list[Row] = []
    for solver in (OPTIMUM, *OWN):
        solution = api.solve(instance, solver=solver, time_limit=LIMIT_S, gap=0.0)
        metrics = solution.metrics
        assert metrics is not None and solution.objective is not None
        rows.append({
            **common, "policy": solver, "proven": solution.status == "optimal", "objective": solution.objective,
            "throughput": metrics.throughput, "goodput": metrics.weighted_goodput,
            "overhead": metrics.communication_overhead, "gpus": metrics.gpus_used, "overbooked": False,
        })  # fmt: skip
    for name, engine in registry.baselines().items():
        evaluation, overbooked = placed(instance, engine)
        metrics = evaluation.metrics
        rows.append({
            **common, "policy": name, "proven": False, "objective": evaluation.objective,
            "throughput": metrics.throughput, "goodput": metrics.weighted_goodput,
            "overhead": metrics.communication_overhead, "gpus": metrics.gpus_used, "overbooked": overbooked,
        })  # fmt: skip
    return rows


def placed(instance: Instance, engine: registry.Engine) -> tuple[Evaluation, bool]:
    """A baseline's placement under fair sharing, and whether it overbooks an uplink."""
    problem = compile_problem(instance)
    answer = engine.load()(problem, Request(), Budget(LIMIT_S), _ignore)
    shared = evaluate_shared(instance, named(problem, answer.placement or {}))
    return shared.evaluation, bool(shared.loads)


def _ignore(event: Event) -> None:
    """Nobody listens."""
