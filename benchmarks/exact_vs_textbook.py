"""Time to proof: crop's linearisation with every back end against the textbook model, in one run.

Clusters have 4 racks of 4 nodes with 8 GPUs: 200 Gbit/s per node, 400 to 800 Gbit/s per rack, NVLink at 2,400 Gbit/s,
one failure per node in 238 days. 25 jobs ask for 1.2 times the GPUs; their sizes have the shape of Philly's (mostly 1,
2, 4 and 8 by number, mostly 8 to 32 by demand) with some sizes between the powers of two. Computation per iteration and
gradient bytes are those of published profiles; half of the jobs hide communication behind 30 % of their computation.
Everything runs with one thread; crop starts without any placement known, like the textbook model, and the times hold
everything: building, the solver process, the answer.

Run `python -m benchmarks.exact_vs_textbook [--seeds 5] [--textbook-limit 120] [--limit 60]`. The textbook model gets
at least 25 times what crop's default back end took; where it has no proof by then, the ratio is a lower bound. A table
goes to standard output and to benchmarks/results/exact_vs_textbook.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import time
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

from benchmarks.textbook import TextbookRun, solve_textbook
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import Placement, compile_problem, named
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.exact.backends import BACKENDS, RECOMMENDED
from crop_cli.solvers.exact.solve import solve

RESULTS = Path(__file__).parent / "results" / "exact_vs_textbook.md"

MODELS = (  # seconds of computation per iteration, megabytes of gradients
    ("resnet50", 0.146, 102),  # A100, batch 64 (ElasticFlow); FP32
    ("resnet152", 0.381, 241),  # RTX 3090, batch 192 (timm); FP32
    ("vgg16", 0.198, 553),  # A100, batch 64 (ElasticFlow); FP32
    ("inception3", 0.207, 95),  # A100, batch 64 (ElasticFlow); FP32
    ("bert", 0.166, 440),  # A100, batch 64 (ElasticFlow); 110 million parameters, FP32
    ("gpt2", 0.244, 498),  # A100, batch 256 (ElasticFlow); 124 million parameters, FP32
    ("vit-large", 0.545, 1217),  # RTX 3090, batch 64 (timm); FP32
    ("swin-large", 0.414, 786),  # RTX 3090, batch 64 (timm); FP32
    ("gnmt-large", 0.520, 1111),  # batch unknown (PipeDream); FP32
    ("deepspeech2", 0.331, 152),  # A100, batch 32 (ElasticFlow); 38 million parameters, FP32
    ("llama2-7b", 1.431, 13477),  # A100, one of 32 accumulation steps (Zhejiang Lab); bf16
)
OVERLAPS = (0.0, 0.3)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
SHARES = (20, 18, 4, 20, 5, 16, 4, 8, 2, 3)
JOBS, LOAD = 25, 1.2

DEFAULT = RECOMMENDED[0]
"""The back end that `--solver exact` takes."""


@dataclass(frozen=True)
class Row:
    """One solver on one instance."""

    seed: int
    solver: str
    size: str
    seconds: float
    proved: bool
    objective: float | None
    bound: float | None


def make_instance(seed: int, racks: int = 4, nodes: int = 4, gpus: int = 8, jobs: int = JOBS) -> Instance:
    """The cluster of the comparison with jobs that ask for `LOAD` times its GPUs, to within two per cent."""
    rng = random.Random(seed)
    rack_gbps = rng.choice([400.0, 600.0, 800.0])
    total = racks * nodes * gpus
    sizes: list[int] = []
    while not 0.98 * LOAD * total <= sum(sizes) <= 1.02 * LOAD * total:
        sizes = rng.choices(SIZES, SHARES, k=jobs)
    cluster = Cluster(
        levels=["rack", "node"],
        switches=[Switch(name=f"r{r}", level="rack", uplink_gbps=rack_gbps) for r in range(racks)],
        nodes=[
            Node(
                name=f"r{r}n{n}",
                parent=f"r{r}",
                gpus=gpus,
                gpu_link_gbps=2400.0,
                uplink_gbps=200.0,
                failures_per_day=0.0042,
            )
            for r in range(racks)
            for n in range(nodes)
        ],
    )
    return Instance(
        format=FORMAT,
        name=f"exact-vs-textbook-{seed}",
        cluster=cluster,
        jobs=[_job(i, size, rng.choice(OVERLAPS), *rng.choice(MODELS)) for i, size in enumerate(sizes)],
    )


def _job(i: int, size: int, overlap: float, model: str, compute_s: float, message_mb: float) -> Job:
    return Job(
        name=f"{i}-{model}",
        gpus=size,
        compute_s=compute_s,
        message_mb=message_mb,
        overlap=overlap,
        restart_minutes=10.0,
        checkpoint_minutes=30.0,
    )


def run_crop(instance: Instance, back_end: str, seed: int, limit: float) -> Row:
    """crop's linearisation with one back end, from nothing."""
    began = time.monotonic()
    problem = compile_problem(instance)
    size = ""

    def listen(event: object) -> None:
        nonlocal size
        size = size or getattr(event, "text", "")

    answer = solve(problem, Request(), Budget(limit), listen, back_end=back_end)
    seconds = time.monotonic() - began
    objective = _judged(instance, answer.placement)
    name = f"crop, {back_end}"
    return Row(seed, name, size.partition(": ")[2], seconds, answer.stop_reason == "proved", objective, answer.bound)


def run_textbook(instance: Instance, seed: int, limit: float) -> Row:
    """The textbook model in a process of its own; CBC looks at the clock only now and then, so it may run over."""
    with get_context("spawn").Pool(1) as pool:
        run: TextbookRun = pool.apply(solve_textbook, (instance, limit))
    size = f"{run.variables} variables, {run.rows} rows"
    objective = _judged(instance, run.placement)
    return Row(seed, "textbook, CBC", size, run.build_s + run.solve_s, run.proved, objective, run.bound)


def _judged(instance: Instance, placement: Placement | None) -> float | None:
    """F by the evaluator."""
    if placement is None:
        return None
    evaluation = evaluate(instance, named(compile_problem(instance), placement))
    if not evaluation.feasible:
        raise RuntimeError(f"infeasible: {evaluation.violations[0].message}")
    return evaluation.objective


def table(rows: list[Row]) -> str:
    """Markdown: every run, then the ratios."""
    lines = [
        "| seed | solver | model | seconds | proved | F | bound | gap |",
        "|---:|---|---|---:|---|---:|---:|---:|",
    ]
    for row in rows:
        objective = "none" if row.objective is None else f"{row.objective:.4f}"
        bound = "none" if row.bound is None else f"{row.bound:.4f}"
        known = row.objective is not None and row.bound is not None
        gap = f"{max(0.0, row.bound - row.objective) / row.objective:.2e}" if known else "none"
        proved = "yes" if row.proved else "no"
        lines.append(
            f"| {row.seed} | {row.solver} | {row.size} | {row.seconds:.2f} | {proved} | {objective} | {bound} | {gap} |"
        )
    lines += ["", f"| seed | crop, {DEFAULT}: seconds | textbook: seconds | ratio |", "|---:|---:|---:|---:|"]
    for seed in dict.fromkeys(row.seed for row in rows):
        mine = next((row for row in rows if row.seed == seed and row.solver == f"crop, {DEFAULT}"), None)
        textbook = next((row for row in rows if row.seed == seed and row.solver.startswith("textbook")), None)
        if mine and textbook:
            more = "" if textbook.proved else "> "
            ratio = f"{more}{textbook.seconds / mine.seconds:.0f}" if mine.proved else "none: no proof"
            lines.append(f"| {seed} | {mine.seconds:.2f} | {more}{textbook.seconds:.0f} | {ratio} |")
    return "\n".join(lines) + "\n"


def _header(arguments: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("highspy", "ortools", "pulp"))
    return (
        "# Time to proof against the textbook model\n\n"
        f"`python -m benchmarks.exact_vs_textbook --seeds {arguments.seeds} --textbook-limit "
        f"{arguments.textbook_limit:g} --limit {arguments.limit:g}`; one thread each, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {versions}.\nWhat is compared, and on what, is said in the script. "
        "A proof is a gap of at most 1e-6; `>` marks a run without one.\n\n"
    )


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--textbook-limit", type=float, default=120.0)
    parser.add_argument("--back-ends", default=",".join(BACKENDS))
    arguments = parser.parse_args()
    rows: list[Row] = []
    for seed in range(arguments.seeds):
        instance = make_instance(seed)
        mine = [run_crop(instance, name, seed, arguments.limit) for name in arguments.back_ends.split(",")]
        ours = max((row.seconds for row in mine if row.solver == f"crop, {DEFAULT}"), default=0.0)
        rows += mine
        if arguments.textbook_limit > 0:
            rows.append(run_textbook(instance, seed, max(arguments.textbook_limit, 25 * ours)))
        print(f"seed {seed} done", flush=True)
    text = _header(arguments) + table(rows)
    print(text)
    if arguments.textbook_limit > 0:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
