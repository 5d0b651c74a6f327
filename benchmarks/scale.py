"""Gap, time and memory against the size of the cluster, from 16 to 10,240 nodes.

Every run has a process of its own, one thread, and asks for a gap of 0, so that it goes on until it has a proof, finds
nothing more, or the limit ends it. Instances are the project's own (`instances/medium`, `instances/large`); the widest
cluster is ten copies of the largest instance side by side. Runs are kept as they finish: `--resume` skips those.

Run `python -m benchmarks.scale [--families mix-taken racks-taken] [--sizes 16 64 ...] [--solvers greedy ...]
[--time-limit 60] [--resume]`. Writes benchmarks/results/scale.json, scale.md and scale.svg.
"""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata
from pathlib import Path

from benchmarks.scale_plot import plot
from benchmarks.scale_runs import GAPS, WIDE, Row, run_apart

RESULTS = Path(__file__).parent / "results"
FAMILIES = ("mix-taken", "racks-taken")
SIZES = (16, 64, 256, 512, 1024, WIDE)
SOLVERS = ("greedy", "search", "columns", "exact", "textbook", "auto")
LARGEST = {"columns": 256, "exact": 64, "textbook": 16, "search": 1024}
"""Nodes up to which a solver takes part; the others take part everywhere."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", nargs="+", default=FAMILIES)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=SOLVERS)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--resume", action="store_true", help="skip runs that the results have already")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="folder for scale.json, scale.md, scale.svg")
    options = parser.parse_args()
    kept = options.output / "scale.json"
    rows: list[Row] = json.loads(kept.read_text()) if options.resume and kept.exists() else []
    done = {(row["family"], row["nodes"], row["solver"]) for row in rows}
    for family in options.families:
        for nodes in options.sizes:
            for solver in options.solvers:
                if nodes > LARGEST.get(solver, WIDE) or (family, nodes, solver) in done:
                    continue
                # The greedy ends by itself; the limit is for the bound after it.
                row = run_apart(family, nodes, solver, options.time_limit)
                rows.append({**row, "limit": options.time_limit})
                kept.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
                print(
                    f"{family} {nodes} {solver}: gap {percent(row['gap'])}, {row['seconds']['total']:.1f} s", flush=True
                )
    (options.output / "scale.md").write_text(report(rows))
    (options.output / "scale.svg").write_text(plot(rows))


def report(rows: list[Row]) -> str:
    """The tables as Markdown, with the protocol."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("highspy", "ortools", "pulp", "numpy"))
    protocol = (__doc__ or "").partition("\n\n")[2].partition("\n\nRun ")[0].replace("\n", " ")
    limits = " or ".join(f"{limit:g}" for limit in sorted({row["limit"] for row in rows}))
    lines = [
        "# Gap, time and memory against size",
        "",
        f"{protocol} The limit is {limits} s. {platform.machine()}, Python {platform.python_version()}, {versions}.",
        "",
        "![gap and time against size](scale.svg)",
    ]
    for family in dict.fromkeys(row["family"] for row in rows):
        gaps = " | ".join(f"to {gap:.1%}" for gap in GAPS)
        lines += [
            "",
            f"## {family}",
            "",
            f"| nodes | jobs | solver | status | gap | build s | solve s | bound s | total s | {gaps} | MiB |",
            "|---:|---:|---|---|---:|---:|---:|---:|---:|" + "---:|" * (len(GAPS) + 1),
        ]
        lines += [_line(row) for row in rows if row["family"] == family]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    seconds = row["seconds"]
    phases = " | ".join(f"{seconds[phase]:.1f}" for phase in ("build", "solve", "bound", "total"))
    reached = " | ".join(f"{row['reached'][str(gap)]:.1f}" if str(gap) in row["reached"] else "-" for gap in GAPS)
    return (
        f"| {row['nodes']:,} | {row['jobs']:,} | {row['solver']} | {row['status']} | {percent(row['gap'])} "
        f"| {phases} | {reached} | {row['mib']} |"
    )


def percent(gap: float | None) -> str:
    """A gap for people; "-" where none is known."""
    return "-" if gap is None else f"{100 * gap:.4f} %"


if __name__ == "__main__":
    main()
