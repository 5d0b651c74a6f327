"""How fast simulations are, and how much memory they take: 10,000 jobs on 512 GPUs.

The cluster and the kinds of jobs are those of the instance mix-64. Jobs come in a Poisson stream with a load (demanded
over all GPUs) of 0.9; durations are lognormal with a median of e^8 s, 50 minutes, and a deviation of 1.5 of the
logarithm. Every policy places them as they come, with backfill and a window of 32. With failures, nodes fail 0.05 times
a day and become slow 0.01 times a day, jobs save every 30 minutes and restart within 10.

Every run is a process of its own, for its peak memory. Times are wall clock and processor time, as the machine may be
busy with other things.

Run `python -m benchmarks.simulate_speed [--jobs N] [-o FILE]`. Prints a Markdown table, and writes it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from crop_cli.api import load
from crop_cli.model.instance import Instance
from crop_cli.model.trace import Trace, TraceJob
from crop_cli.simulate.run import simulate
from crop_cli.simulate.settings import Policy, Reaction, Settings, Weather

HERE = Path(__file__).parent
INSTANCE = HERE.parent / "instances" / "medium" / "mix-64.json"
RESULT = HERE / "results" / "simulate_speed.md"

LOAD, MEDIAN_LOG_S, SPREAD = 0.9, 8.0, 1.5

HEAD = (
    "| policy | failures | seconds | processor seconds | rounds | rounds per second | solver's share | jobs per second "
    "| peak memory, MB |\n|---|---|---:|---:|---:|---:|---:|---:|---:|"
)


@dataclass(frozen=True, slots=True)
class Case:
    """One simulation: who places, and whether nodes fail."""

    solver: str
    failures: bool = False
    reaction: Reaction = "ignorant"

    @property
    def words(self) -> str:
        """What the failures column says."""
        return f"yes, {self.reaction}" if self.failures else "no"


CASES = [
    Case("greedy"),
    Case("first-fit"),
    Case("kai"),
    Case("slurm-tree"),
    Case("greedy", True),
    Case("greedy", True, "aware"),
    Case("first-fit", True),
]


def make_trace(instance: Instance, jobs: int, seed: int = 0) -> Trace:
    """So many jobs, each of a kind drawn from the instance's."""
    rng = np.random.default_rng(seed)
    durations = np.exp(rng.normal(MEDIAN_LOG_S, SPREAD, jobs))
    gpus = sum(node.gpus for node in instance.cluster.nodes)
    rate = LOAD * gpus / (np.mean([job.gpus for job in instance.jobs]) * durations.mean())
    return Trace(format="crop-trace/1", name="mix-64 stream", jobs=list(_jobs(instance, durations, rate, rng)))


def _jobs(
    instance: Instance, durations: np.typing.NDArray[np.float64], rate: float, rng: np.random.Generator
) -> Iterator[TraceJob]:
    now = 0.0
    for i, duration in enumerate(durations.tolist()):
        now += rng.exponential(1.0 / rate)
        fields = msgspec.structs.asdict(instance.jobs[rng.integers(len(instance.jobs))])
        fields |= {"name": f"j{i}", "required": False, "placement": None, "movable": False}
        fields |= {"checkpoint_minutes": 30.0, "restart_minutes": 10.0}
        yield TraceJob(**fields, arrival_s=now, duration_s=duration)


def measure(case: Case, jobs: int) -> str:
    """A row of the table. Meant for a process of its own: memory is the process's peak."""
    instance = load(INSTANCE).instance
    nodes = [msgspec.structs.replace(n, failures_per_day=0.05 * case.failures) for n in instance.cluster.nodes]
    instance = msgspec.structs.replace(instance, cluster=msgspec.structs.replace(instance.cluster, nodes=nodes))
    settings = Settings(
        policy=Policy(solver=case.solver, reaction=case.reaction),
        weather=Weather(rates=case.failures, slow_per_day=0.01 * case.failures),
    )
    trace = make_trace(instance, jobs)
    wall, processor = time.perf_counter(), time.process_time()
    figures = simulate(trace, instance, settings).figures
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    assert figures.finished == jobs
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return (
        f"| {case.solver} | {case.words} | {wall:.1f} | {processor:.1f} | {figures.decisions:,} "
        f"| {figures.decisions / wall:.0f} | {figures.decision_s / wall:.0%} | {jobs / wall:.0f} | {megabytes:.0f} |"
    )


def main() -> None:
    """Measure every case and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs of the trace [%(default)s]")
    parser.add_argument("-o", "--output", type=Path, default=RESULT, help="Markdown file to write [%(default)s]")
    options = parser.parse_args()
    begun, busy = datetime.now(UTC), os.getloadavg()[0]
    rows = []
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for row in pool.imap(_measured, [(case, options.jobs) for case in CASES], chunksize=1):
            rows.append(row)
            print(row, flush=True)
    text = "\n".join(
        [
            "# Speed of simulations",
            "",
            (__doc__ or "").split("\n\n")[1],
            "",
            f"{options.jobs:,} jobs on 512 GPUs, seed 0. Measured {begun:%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, "
            f"load average {busy:.1f} at the start and {os.getloadavg()[0]:.1f} at the end,",
            f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}.",
            "Where the load is above the number of cores, processor seconds are what a simulation needs: wall clock",
            "says how busy the machine was. Rounds are those that asked the solver; its share is that of wall clock.",
            "Made by `python -m benchmarks.simulate_speed`.",
            "",
            HEAD,
            *rows,
            "",
        ]
    )
    options.output.write_text(text)
    print(text)


def _measured(case_and_jobs: tuple[Case, int]) -> str:
    return measure(*case_and_jobs)


if __name__ == "__main__":
    main()
