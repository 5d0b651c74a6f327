"""How long the oracle takes: one job, all jobs, free and at prices, from 1,000 to 10,000 nodes.

Nodes have 8 GPUs; half of the nodes are partly taken; two GPU types, a few slow nodes, two bandwidths of nodes, NVLink
and PCIe. Every measurement is the least processor time of a few runs, so that other work on the machine counts little.

Run `python benchmarks/oracle.py [-o FILE]`. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.oracle import Prices, best_placement, best_values

SIZES = [1, 1, 2, 4, 8, 8, 16, 32, 64]
KINDS = 150


def make_cluster(racks: int, per_rack: int, pods: int) -> Cluster:
    """Racks of 8-GPU nodes, under pods if there are any."""
    rng = np.random.default_rng(1)
    nodes = [
        Node(
            name=f"n{r}-{i}",
            parent=f"r{r}",
            gpus=8,
            gpu_type="a100" if r % 4 else "h100",
            gpu_link_gbps=2400.0 if r % 3 else 256.0,
            fabric_gbps=None if r % 3 else 512.0,
            uplink_gbps=200.0 if r % 2 else 400.0,
            resources={"cpu": 96.0, "memory_gib": 1000.0},
            used={"gpus": int(rng.integers(0, 9))} if rng.random() < 0.5 else {},
            slowdown=float(rng.choice([1.0, 1.1, 1.5], p=[0.95, 0.03, 0.02])),
            failures_per_day=[0.0065, 0.01][i % 2],
        )
        for r in range(racks)
        for i in range(per_rack)
    ]
    switches = [Switch(name=f"p{p}", level="pod", uplink_gbps=6400.0) for p in range(pods)]
    switches += [
        Switch(name=f"r{r}", level="rack", parent=f"p{r % pods}" if pods else None, uplink_gbps=1600.0)
        for r in range(racks)
    ]
    return Cluster(levels=["pod", "rack", "node"] if pods else ["rack", "node"], nodes=nodes, switches=switches)


def make_job(i: int, gpus: int, pattern: str, rng: np.random.Generator) -> Job:
    """A training job with times and messages in the range of published profiles."""
    return Job(
        name=f"j{i}",
        gpus=gpus,
        weight=float(rng.choice([1.0, 2.0])),
        compute_s={"a100": float(rng.choice([0.2, 0.45, 0.8])), "h100": 0.15},
        message_mb=float(rng.choice([100.0, 520.0, 1340.0, 5000.0])),
        pattern=pattern,
        overlap=float(rng.choice([0.0, 0.3, 0.5])),
        resources_per_gpu={"cpu": float(rng.choice([4.0, 8.0]))},
        restart_minutes=10.0,
        checkpoint_minutes=30.0,
    )


def make_problem(cluster: Cluster, jobs: list[Job]) -> Problem:
    """Compiled, with the performance levels of every kind at hand."""
    problem = compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=jobs))
    for kind in problem.kinds:
        assert len(kind.levels) > 0
    return problem


def make_prices(problem: Problem) -> Prices:
    """A different price on every node and uplink, up to 0.6 of a GPU's worth."""
    rng = np.random.default_rng(0)
    scale = np.array([0.6, *[0.01] * (len(problem.resources) - 1)])
    return Prices(
        rng.random((problem.n_nodes, len(problem.resources))) * scale, rng.random(problem.tree.n_vertices) * 5e-4
    )


def least_ms(run: Callable[[], object], repeats: int) -> float:
    """Least processor time of a few runs, milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def rows_of_one_job(shape: str, cluster: Cluster, sizes: list[int], repeats: int) -> list[str]:
    """A row per size and pattern."""
    rows = []
    for gpus in sizes:
        for pattern in ("allreduce", "alltoall"):
            problem = make_problem(cluster, [make_job(0, gpus, pattern, np.random.default_rng(7))])
            prices = make_prices(problem)
            free, priced = (
                least_ms(partial(best_placement, problem, 0, problem.free, problem.uplink_free, at), repeats)
                for at in (None, prices)
            )
            rows.append(f"| {shape} | 1 × {gpus} GPUs, {pattern} | {free:.1f} | {priced:.1f} |")
    return rows


def row_of_a_rack(shape: str, cluster: Cluster) -> str:
    """The best placement below one rack."""
    problem = make_problem(cluster, [make_job(0, 8, "allreduce", np.random.default_rng(7))])
    rack = int(problem.tree.parent[problem.tree.node_vertex])
    free, priced = (
        least_ms(partial(best_placement, problem, 0, problem.free, problem.uplink_free, at, below=rack), 50)
        for at in (None, make_prices(problem))
    )
    return f"| {shape} | 1 × 8 GPUs, allreduce, below one rack | {free:.1f} | {priced:.1f} |"


def row_of_all_jobs(shape: str, cluster: Cluster, count: int) -> str:
    """Values of many jobs of few kinds."""
    jobs = []
    for i in range(count):
        rng = np.random.default_rng(i % KINDS)
        jobs.append(make_job(i, int(rng.choice(SIZES)), str(rng.choice(["allreduce", "alltoall"], p=[0.8, 0.2])), rng))
    problem = make_problem(cluster, jobs)
    every, prices = np.arange(count), make_prices(problem)
    free, priced = (
        least_ms(partial(best_values, problem, every, problem.free, problem.uplink_free, at), 5)
        for at in (None, prices)
    )
    name = f"{count:,} jobs of {len(problem.kinds)} kinds, 1 to 64 GPUs"
    return f"| {shape} | {name} | {free:.0f} | {priced:.0f} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="also write the table to this file")
    output: Path | None = parser.parse_args().output
    small, flat, deep = make_cluster(125, 8, 0), make_cluster(1250, 8, 0), make_cluster(320, 32, 20)
    names = "1,000 nodes, 125 racks", "10,000 nodes, 1,250 racks", "10,240 nodes, 320 racks, 20 pods"
    rows = [
        "| cluster | work | free, ms | at prices, ms |",
        "|---|---|---:|---:|",
        *rows_of_one_job(names[0], small, [1, 8, 64], 50),
        row_of_a_rack(names[0], small),
        row_of_all_jobs(names[0], small, 1000),
        *rows_of_one_job(names[1], flat, [8, 128, 1024], 3),
        *rows_of_one_job(names[2], deep, [8, 128, 1024], 3),
    ]
    head = (
        "# The oracle's time\n\n"
        "Processor time of the exact best placement of a job (`best_placement`) and of the values of many jobs "
        "(`best_values`),\nleast of a few runs. "
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}. "
        "Made by `python benchmarks/oracle.py`.\n"
    )
    text = head + "\n" + "\n".join(rows) + "\n"
    print(text, end="")
    if output is not None:
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
