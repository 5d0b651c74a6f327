"""How tight the bound of column generation is, how long it takes, and what its ingredients are worth.

Synthetic clusters are pods of 16 racks of 8 nodes with 8 GPUs, NVLink, and uplinks of 100, 400 and 1,600 Gbit/s; a
share of all GPUs is taken at random. Jobs have the sizes and models of `greedy_scale`, weights 1 to 3, and ask for 1.2
times what is free. In the family "plain" a fifth of the jobs of 2 to 32 GPUs has to stay in a rack; in the family
"shapes" all of 8 to 48 GPUs have to, and six in ten of those of 16 to 32 want whole nodes.

Run `python -m benchmarks.column_bound [--sizes 64,256,1024] [--no-choices] [-o FILE]`. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.greedy_scale import MODELS, SHARES, SIZES
from crop_cli.model.instance import Cluster, Instance, Job, Node, Switch
from crop_cli.model.io import load_instance
from crop_cli.model.problem import Placement, Problem, compile_problem, utility
from crop_cli.solvers.bounds import EFFORT, Bound, upper_bound
from crop_cli.solvers.columns import bound as bound_module
from crop_cli.solvers.columns import images as images_module
from crop_cli.solvers.columns import rows as rows_module
from crop_cli.solvers.columns.bound import column_bound
from crop_cli.solvers.contract import Budget, Event, Request
from crop_cli.solvers.greedy.solve import solve
from crop_cli.solvers.oracle import best_values

INSTANCES = Path(__file__).parents[1] / "instances"
MOST_EFFORT = 60_000.0
"""Work after which a run that has not converged is cut."""


def make_instance(nodes: int, taken: float, family: str, seed: int = 0) -> Instance:
    """A synthetic instance of a family, with a share of all GPUs taken at random."""
    rng = np.random.default_rng([seed, nodes, int(100 * taken)])
    racks = -(-nodes // 8)
    used = rng.binomial(8, taken, nodes)
    free = 8 * nodes - int(used.sum())
    jobs: list[Job] = []
    demand = 0
    while demand < 1.2 * free:
        gpus = min(int(rng.choice(SIZES, p=SHARES)), max(8, free // 4))
        compute, message, pattern = MODELS[int(rng.integers(len(MODELS)))]
        stay, whole = float(rng.random()), float(rng.random())
        if family == "plain":
            within, per_node = 2 <= gpus <= 32 and stay < 0.2, gpus % 8 == 0 and whole < 0.15
        else:
            within, per_node = 8 <= gpus <= 48, gpus in (16, 24, 32) and whole < 0.6
        demand += gpus
        jobs.append(
            Job(
                name=f"job-{len(jobs)}",
                gpus=gpus,
                weight=float(rng.choice([1, 1, 1, 2, 3])),
                compute_s=compute,
                message_mb=float(message),
                pattern=pattern,
                overlap=0.3,
                restart_minutes=10,
                checkpoint_minutes=30,
                within="rack" if within else None,
                gpus_per_node=8 if per_node else None,
            )
        )
    pods = [Switch(name=f"p{i}", level="pod", uplink_gbps=1600) for i in range(-(-racks // 16))]
    switches = [Switch(name=f"r{i}", level="rack", parent=f"p{i // 16}", uplink_gbps=400) for i in range(racks)]
    return Instance(
        format="crop-instance/1",
        name=f"{family}-{nodes}-{taken:.0%}",
        cluster=Cluster(
            levels=["pod", "rack", "node"],
            switches=pods + switches,
            nodes=[
                Node(
                    name=f"n{n}",
                    parent=f"r{n // 8}",
                    gpus=8,
                    gpu_link_gbps=2400,
                    uplink_gbps=100,
                    failures_per_day=0.0065,
                    used={"gpus": float(used[n])},
                )
                for n in range(nodes)
            ],
        ),
        jobs=jobs,
    )


@dataclass(frozen=True)
class Case:
    """An instance with the greedy's placement, its value, the cheap bound, and the best value known."""

    name: str
    problem: Problem
    placement: Placement
    value: float
    cheap: Bound
    best_known: float

    def gap(self, bound: float) -> float:
        """In percent of the best value known."""
        return 100 * (bound - self.best_known) / self.best_known


def prepare(name: str, instance: Instance, best_known: float = 0.0) -> Case:
    """Greedy and cheap bound."""
    problem = compile_problem(instance)
    placement = solve(problem, Request(), Budget(), lambda _event: None).placement
    assert placement is not None
    value = problem.pinned_value + sum(utility(problem, j, counts) for j, counts in placement.items())
    cheap = upper_bound(problem, Budget(), effort=0)
    return Case(name, problem, placement, value, cheap, max(value, best_known))


def cases(sizes: list[int]) -> Iterator[Case]:
    """Real instances, then synthetic ones."""
    known = json.loads((INSTANCES / "best-known.json").read_text(encoding="utf-8"))
    for file in sorted((INSTANCES / "real").glob("*.json")):
        yield prepare(file.stem, load_instance(file).instance, known[f"real/{file.name}"]["value"])
    for nodes in sizes:
        for family, taken in (("plain", 0.0), ("plain", 0.3), ("shapes", 0.3)):
            instance = make_instance(nodes, taken, family)
            yield prepare(f"{family}, {nodes:,} nodes, {taken:.0%} taken", instance)


def tightness(case: Case) -> str:
    """One row of the first table."""
    problem, jobs = case.problem, case.problem.open_jobs
    began = time.process_time()
    best_values(problem, jobs, problem.free, problem.uplink_free, case.cheap.prices)
    one_pass = time.process_time() - began
    runs = []
    for effort in (EFFORT, MOST_EFFORT):
        began = time.process_time()
        found = column_bound(problem, Budget(), bound=case.cheap, start=case.placement, effort=effort)
        runs.append((found, time.process_time() - began))
    (short, short_s), (long, long_s) = runs
    rows = len(rows_module.resolutions(problem)[-1])
    return (
        f"| {case.name} | {len(jobs):,} | {len(long.groups):,} | {rows:,} | {1000 * one_pass:.0f} "
        f"| {-case.gap(case.value):.2f} | {case.gap(case.cheap.value):.3f} "
        f"| {case.gap(short.value):.3f} | {short_s:.1f} "
        f"| {case.gap(long.value):.3f} | {long.ended} | {long.passes} | {long_s:.1f} |"
    )


@contextmanager
def changed(smoothing: float, images: int, classes: str) -> Iterator[None]:
    """Column generation with other ingredients."""
    picked = {"all": slice(None), "first and last": slice(None, None, 2), "last": slice(-1, None)}[classes]
    with (
        patch.object(bound_module, "SMOOTHING", smoothing),
        patch.object(images_module, "MOST", images),
        patch.object(bound_module, "resolutions", lambda problem: rows_module.resolutions(problem)[picked]),
    ):
        yield


CHOICES = [
    (0.5, 8, "all"),
    (0.0, 8, "all"),
    (0.3, 8, "all"),
    (0.8, 8, "all"),
    (0.95, 8, "all"),
    (0.5, 0, "all"),
    (0.5, 2, "all"),
    (0.5, 32, "all"),
    (0.5, 8, "first and last"),
    (0.5, 8, "last"),
    (0.5, 0, "last"),
    (0.0, 0, "last"),
]


def choices(case: Case, least: float) -> Iterator[str]:
    """Rows of the second table: passes and seconds until the bound is within 0.1 % and 0.01 % of the best one found."""
    for choice in CHOICES:
        events: list[tuple[float, float]] = []
        with changed(*choice):
            began = time.process_time()

            def heard(event: Event, began: float = began, events: list[tuple[float, float]] = events) -> None:
                events.append((event.value or 0.0, time.process_time() - began))

            found = column_bound(
                case.problem, Budget(), bound=case.cheap, start=case.placement, effort=MOST_EFFORT, listen=heard
            )
            total = time.process_time() - began
        near = [next((f"{s:.1f}" for v, s in events if v <= least * (1 + share)), "–") for share in (1e-3, 1e-4)]
        smoothing, images, classes = choice
        yield (
            f"| {case.name} | {smoothing} | {images} | {classes} | {near[0]} | {near[1]} "
            f"| {found.ended} | {found.passes} | {total:.1f} |"
        )


HEAD = """\
Gaps are in percent of the best value known, of `instances/best-known.json` or the greedy's; "greedy" is how far below
that the greedy is. The cheap bound is one price per GPU; "short" is the work that every run does; "long" ends when the
bound has converged, or after a fixed amount of work. One pass asks the oracle for all jobs. Times are of one processor,
without loading and greedy. The script says what the synthetic instances are. Python {python}, numpy {numpy}, {machine}.
Made by `python -m benchmarks.column_bound`.

| instance | jobs | groups | rows | pass, ms | greedy | cheap | short | s | long | ended | passes | s |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|"""

CHOICES_HEAD = """
## What the ingredients are worth

Seconds until the bound is within 0.1 % and 0.01 % of the best one found, passes and seconds to the end. Smoothing is
the share of the best known prices in those at which the oracle is asked. Images are placements of the same pattern in
other racks, at most so many for each. Classes are the resolutions of the LP's rows that are gone through.

| instance | smoothing | images | classes | to 0.1 %, s | to 0.01 %, s | ended | passes | s |
|---|---:|---:|---|---:|---:|---|---:|---:|"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="64,256,1024", help="nodes of the synthetic instances")
    parser.add_argument("--no-choices", action="store_true", help="leave out the second table")
    parser.add_argument("-o", "--output", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    say("# The bound of column generation\n")
    say(HEAD.format(python=platform.python_version(), numpy=np.__version__, machine=platform.machine()))
    prepared = []
    for case in cases([int(size) for size in options.sizes.split(",")]):
        say(tightness(case))
        prepared.append(case)
    if not options.no_choices:
        say(CHOICES_HEAD)
        for case in prepared:
            if "30% taken" in case.name or case.name == "lingjun-128":
                full = column_bound(case.problem, Budget(), bound=case.cheap, start=case.placement, effort=MOST_EFFORT)
                for line in choices(case, full.value):
                    say(line)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
