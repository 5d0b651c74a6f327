"""How fast the greedy is, how much memory it takes, and how near the bound it comes, from 8 to 1,000 nodes.

Clusters are racks of 8 nodes with 8 GPUs: 200 Gbit/s per node, 800 Gbit/s per rack, NVLink at 2,400 Gbit/s. Job sizes
follow the shape of production traces, stretched to fill the cluster: mostly 1 to 8 GPUs by number, mostly 8 to 64 by
demand. Models are ten (seconds per iteration, megabytes) pairs in the range of published profiles. The variants make
the cluster's nodes differ: failure rates, GPUs in use, three GPU types, CPU and memory that bind.

Times are processor time (the machine may be busy with other things) and wall-clock time of the whole solver.

Run `python -m benchmarks.greedy_scale [-o FILE]`. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from pathlib import Path

import msgspec
import numpy as np

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.contract import Budget, Event, Request
from crop_cli.solvers.greedy.solve import solve

change = msgspec.structs.replace

MODELS = [  # seconds of computation per iteration, megabytes exchanged, pattern
    (0.18, 47, "allreduce"),
    (0.62, 102, "allreduce"),
    (0.52, 241, "allreduce"),
    (0.82, 553, "allreduce"),
    (0.28, 32, "allreduce"),
    (0.49, 346, "allreduce"),
    (0.54, 1217, "allreduce"),
    (0.45, 1340, "allreduce"),
    (0.35, 300, "alltoall"),
    (1.10, 2600, "allreduce"),
]
SIZES = [1, 2, 4, 8, 16, 24, 32, 48, 64]
SHARES = [0.36, 0.10, 0.16, 0.22, 0.09, 0.02, 0.03, 0.005, 0.015]


def make_instance(nodes: int, load: float, seed: int, jobs: int | None = None, rack: int = 8) -> Instance:
    """A cluster of racks and enough jobs for a load (demanded GPUs over GPUs), or exactly `jobs` of them."""
    rng = np.random.default_rng(seed)
    racks = -(-nodes // rack)
    gpus = 8 * nodes
    biggest = max(s for s in SIZES if s <= max(8, gpus // 2))
    chosen: list[Job] = []
    demand = 0
    while (demand < load * gpus) if jobs is None else (len(chosen) < jobs):
        size = min(biggest, int(rng.choice(SIZES, p=SHARES)))
        compute, message, pattern = MODELS[int(rng.integers(len(MODELS)))]
        demand += size
        chosen.append(
            Job(
                name=f"job-{len(chosen)}",
                gpus=size,
                weight=float(rng.choice([1.0, 1.0, 1.0, 2.0])),
                compute_s=compute,
                message_mb=float(message),
                pattern=pattern,
                overlap=0.3,
                restart_minutes=10,
                checkpoint_minutes=30,
            )
        )
    return Instance(
        format=FORMAT,
        name=f"scale-{nodes}-{seed}",
        cluster=Cluster(
            levels=["rack", "node"],
            switches=[Switch(name=f"r{r}", level="rack", uplink_gbps=800) for r in range(racks)],
            nodes=[
                Node(
                    name=f"n{n}",
                    parent=f"r{n // rack}",
                    gpus=8,
                    gpu_link_gbps=2400,
                    uplink_gbps=200,
                    failures_per_day=0.0065,
                )
                for n in range(nodes)
            ],
        ),
        jobs=chosen,
    )


def vary(instance: Instance, variant: str, seed: int) -> Instance:
    """The instance with nodes that differ, or jobs that need more than GPUs."""
    rng = np.random.default_rng(seed)
    nodes, jobs = list(instance.cluster.nodes), list(instance.jobs)
    if variant == "failure rates":
        nodes = [change(node, failures_per_day=float(rng.uniform(0, 0.02))) for node in nodes]
    if variant == "GPUs in use":
        nodes = [change(node, used={"gpus": float(rng.integers(0, 8))} if rng.random() < 0.4 else {}) for node in nodes]
    if variant == "GPU types":
        nodes = [change(node, gpu_type=str(rng.choice(["a", "b", "c"]))) for node in nodes]
        jobs = [change(job, compute_s=_by_type(job.compute_s, rng.random() < 0.6)) for job in jobs]
    if variant == "CPU and memory":
        nodes = [change(node, resources={"cpu": 96.0, "memory_gib": 768.0}) for node in nodes]
        jobs = [change(job, resources_per_gpu=_needs(rng)) for job in jobs]
    return change(instance, cluster=change(instance.cluster, nodes=nodes), jobs=jobs)


def _by_type(seconds: object, everywhere: bool) -> dict[str, float]:
    assert isinstance(seconds, float)
    return {"a": seconds, "b": 1.7 * seconds, "c": 2.6 * seconds} if everywhere else {"a": seconds}


def _needs(rng: np.random.Generator) -> dict[str, float]:
    return {"cpu": float(rng.choice([4, 8, 12, 16])), "memory_gib": float(rng.choice([32, 64, 96]))}


def row(label: str, instance: Instance) -> str:
    """Measure one run."""
    problem, events = compile_problem(instance), list[Event]()
    wall, cpu = time.perf_counter(), time.process_time()
    answer = solve(problem, Request(), Budget(), events.append)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert answer.placement is not None
    evaluation = evaluate(instance, named(problem, answer.placement))
    assert evaluation.feasible
    bound = upper_bound(problem, Budget(), target=evaluation.objective).value
    claim = answer.guarantee
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    demand = sum(job.gpus for job in instance.jobs) / problem.free_gpus.sum()
    what = "" if claim.relative_to is None else claim.relative_to.removeprefix("best placement that keeps each job ")
    return (
        f"| {problem.n_nodes:,} | {len(instance.jobs):,} | {demand:.2f} | {label} | {cpu:.2f} | {wall:.2f} "
        f"| {memory:.0f} | {evaluation.objective:.1f} | {evaluation.objective / bound:.4f} "
        f"| {claim.a_priori} | {what} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="also write the table to this file")
    output: Path | None = parser.parse_args().output
    row("warm-up", make_instance(8, 1.0, 0))
    head = (
        "# The greedy at scale\n\n"
        "What is placed, and how it is measured, is said in the script. Peak memory is that of the process so far. The "
        "bound is the closed-form\ndual bound; the factor is the a-priori guarantee and what it is relative to. "
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}.\n"
        "Made by `python -m benchmarks.greedy_scale`.\n\n"
        "| nodes | jobs | load | nodes are | CPU, s | wall, s | peak, MB | F | F/bound | factor | relative to |\n"
        "|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---|\n"
    )
    print(head, end="", flush=True)
    lines = []
    for label, instance in cases():
        lines.append(row(label, instance))
        print(lines[-1], flush=True)
    if output is not None:
        output.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def cases() -> list[tuple[str, Instance]]:
    """What is measured."""
    found = [("alike", make_instance(nodes, 1.1, seed)) for nodes, seed in ((8, 1), (8, 2), (64, 1), (256, 1))]
    found.append(("alike", make_instance(1000, 1.0, 0, jobs=1000)))
    found.append(("alike", make_instance(1000, 1.3, 2)))
    variants = ("failure rates", "GPUs in use", "GPU types", "CPU and memory")
    return found + [(f"differ: {variant}", vary(make_instance(1000, 1.0, 3), variant, 0)) for variant in variants]


if __name__ == "__main__":
    main()
