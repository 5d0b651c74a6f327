"""All solvers and baselines over all sets: the runs behind benchmarks/results/solvers.md.

Three benches with `crop bench`, two runs at a time, one thread each: cases and small (107 instances) with 60 s per run,
real and medium (30) with 10 s, and large (12) with 30 s. The exact back ends start from the greedy's placement; on
large they are left out, because they hand it back as it is. Run `python -m benchmarks.solvers`; with `--resume` it goes
on where it was. Records are kept in the folder of `--runs`; summaries and tables go to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
from pathlib import Path

from crop_cli.bench.records import Aggregate, Row, Summary
from crop_cli.bench.statistics import ALL
from crop_cli.bench.summary import load_summary
from crop_cli.cli.render_bench import aggregate_table
from crop_cli.cli.render_text import markdown
from crop_cli.cli.report import Report
from crop_cli.solvers.registry import ENGINES, baselines

RESULTS = Path(__file__).parent / "results"

OWN = [name for name in ENGINES if name != "exact"]
"""crop's own solvers; `exact` is the first installed back end, which runs under its own name."""

BENCHES = {"small": ["cases", "small"], "medium": ["real", "medium"], "large": ["large"]}
LIMITS = {"small": 60.0, "medium": 10.0, "large": 30.0}
"""Seconds per run."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path())
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--only", choices=list(BENCHES))
    options = parser.parse_args()
    for name, sets in BENCHES.items():
        if options.only in (None, name):
            _bench(name, sets, LIMITS[name], options.runs, resume=options.resume)
    summaries = {name: load_summary(_file(name)) for name in BENCHES if _file(name).exists()}
    (RESULTS / "solvers.md").write_text(report(summaries))


def report(summaries: dict[str, Summary]) -> str:
    """The page of results."""
    parts = [f"# All solvers over all sets\n\n{_protocol(summaries)}"]
    for summary in summaries.values():
        sets = [a.instances for a in summary.aggregates if a.instances != ALL]
        for name in dict.fromkeys(sets):
            count = len({row.instance for row in summary.rows if row.instance.startswith(f"{name}/")})
            table = markdown(Report(tables=[aggregate_table(summary.aggregates, name)]))
            parts.append(f"{table}\n\n{count} instances, {summary.settings.time_limit:g} s per run.")
            parts.append(against_baselines(summary, name))
    return "\n\n".join(part for part in parts if part) + "\n"


def against_baselines(summary: Summary, name: str) -> str:
    """The search against the set's best baseline, and against the best baseline of every single instance."""
    rows = [row for row in summary.rows if row.instance.startswith(f"{name}/")]
    best = best_baseline(summary.aggregates, name)
    search = {row.instance: row for row in rows if row.solver == "search" and row.objective is not None}
    if best is None or not search:
        return ""
    rivals = {row.instance: row for row in rows if row.solver == best.solver}
    lines = [
        f"Search against {best.solver}, the best baseline of the set (F; throughput; communication overhead): "
        + _against(search, rivals)
    ]
    feasible = [row for row in rows if row.role == "baseline" and row.verified and not row.overbooked_uplinks]
    strongest: dict[str, Row] = {}
    for row in feasible:
        known = strongest.get(row.instance)
        if known is None or (row.objective or 0.0) > (known.objective or 0.0):
            strongest[row.instance] = row
    lines.append(f"Against the best feasible baseline of each instance: {_against(search, strongest)}")
    return "\n\n".join(lines)


def best_baseline(aggregates: list[Aggregate], name: str) -> Aggregate | None:
    """The baseline with the highest mean ratio over a set."""
    own = [a for a in aggregates if a.instances == name and a.role == "baseline" and a.mean_ratio is not None]
    return max(own, key=lambda a: a.mean_ratio or 0.0, default=None)


def _against(search: dict[str, Row], rivals: dict[str, Row]) -> str:
    """Wins, ties and losses, and by how much in the mean."""
    won = tied = 0
    lost, gain, throughput, overhead = [], [], [], []
    for instance, mine in search.items():
        other = rivals.get(instance)
        if other is None or other.objective is None or other.overbooked_uplinks or mine.objective is None:
            won += 1
            continue
        step = mine.objective - other.objective
        if abs(step) <= 1e-6 * abs(mine.objective):
            tied += 1
        elif step > 0:
            won += 1
        else:
            lost.append(f"{instance} by {-step / abs(mine.objective):.2g}")
        if other.objective > 0:
            gain.append(mine.objective / other.objective - 1)
        if other.throughput and mine.throughput:
            throughput.append(mine.throughput / other.throughput - 1)
        if other.overhead is not None and mine.overhead is not None:
            overhead.append(mine.overhead - other.overhead)
    text = f"{won} won, {tied} tied, {len(lost)} lost{' (' + ', '.join(lost) + ')' if lost else ''}"
    if not gain:
        return f"{text}."
    return (
        f"{text}; F {_mean(gain):+.1%} in the mean and {max(gain):+.1%} at most, throughput {_mean(throughput):+.1%}, "
        f"overhead {100 * _mean(overhead):+.1f} percentage points."
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _protocol(summaries: dict[str, Summary]) -> str:
    summary = next(iter(summaries.values()))
    machine = summary.machine
    libraries = ", ".join(f"{name} {version}" for name, version in machine.libraries.items())
    return (
        f"`python -m benchmarks.solvers`: crop {summary.crop_version}, {machine.processor}, {machine.cores} cores, "
        f"{summary.parallel} runs at a time, Python {machine.python}, {libraries}. Every answer is verified; ratio: F "
        "over the proven optimum, else over the least bound that any run or `instances/best-known.json` gives. Time is "
        "the shifted geometric mean (shift 1 s), PAR-2 the mean with runs that a limit ended counted twice the limit. "
        "Baselines place in queue order and know no gap; where they overbook uplinks they are scored under fair "
        "sharing, and their ratio counts at most 1 ([definitions](../../docs/bench.md)). Every run: "
        "`solvers-*.json.gz`, which `crop bench --baseline` and `crop compare` read."
    )


def _bench(name: str, sets: list[str], limit: float, runs: Path, *, resume: bool) -> None:
    plain = RESULTS / f"solvers-{name}.json"
    command = [sys.executable, "-m", "crop_cli", "bench", *sets, "--time-limit", f"{limit:g}", "-o", str(plain)]
    own = [solver for solver in OWN if name != "large" or ENGINES[solver].role != "exact"]
    for solver in [*own, *baselines()]:
        command += ["--solver", solver]
    command += ["--runs", str(runs / f"solvers-{name}.jsonl"), "--format", "csv"]
    done = subprocess.run([*command, *(["--resume"] if resume else [])], stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the bench ended with exit code {done.returncode}")
    _file(name).write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()


def _file(name: str) -> Path:
    return RESULTS / f"solvers-{name}.json.gz"


if __name__ == "__main__":
    main()
