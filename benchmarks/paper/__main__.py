"""The evaluation of the CROP paper (IWQoS 2025) as far as its abstract describes it, on crop's own model.

Run `python -m benchmarks.paper [--quick] [--only testbed simulation snapshots] [--processes 2] [--fresh] [--tables]`.
Rows are kept as they come, so that the same command goes on where it was. Writes tables and plots to
benchmarks/results/paper/ (with --quick to its folder quick/).
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.paper import simulated, simulation_report, snapshots, snapshots_report, testbed, testbed_report
from benchmarks.paper.journal import Row, read, work_off

RESULTS = Path(__file__).parents[1] / "results" / "paper"
QUICK_MIXES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few configurations of every part")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget the rows of an earlier run")
    parser.add_argument("--tables", action="store_true", help="only make the tables of the rows that are there")
    parser.add_argument("-o", "--output", type=Path, default=None, help="folder of the results")
    options = parser.parse_args()
    folder = options.output or (RESULTS / "quick" if options.quick else RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    for part in options.only:
        rows = folder / f"{part}.jsonl"
        if options.fresh:
            rows.unlink(missing_ok=True)
        found = read(rows) if options.tables else PARTS[part](rows, options.quick, options.processes)
        found.sort(key=lambda row: row["task"])
        write(folder, part, found, *REPORTS[part](found))


def run_testbed(rows: Path, quick: bool, processes: int) -> list[Row]:
    """Part (a)."""
    cases = testbed.cases(QUICK_MIXES if quick else testbed.MIXES)
    return work_off(cases, lambda case: case.name, testbed.run, rows, processes)


def run_simulation(rows: Path, quick: bool, processes: int) -> list[Row]:
    """Part (b)."""
    tasks = [task for what in simulated.configurations(quick=quick) for task in simulated.tasks(what)]
    return work_off(tasks, lambda task: task.name, simulated.run, rows, processes)


def run_snapshots(rows: Path, quick: bool, processes: int) -> list[Row]:
    """Part (b), snapshots."""
    return work_off(snapshots.snapshots(quick=quick), lambda one: one.name, snapshots.run, rows, processes)


PARTS: dict[str, Callable[[Path, bool, int], list[Row]]] = {
    "testbed": run_testbed,
    "simulation": run_simulation,
    "snapshots": run_snapshots,
}
REPORTS = {
    "testbed": testbed_report.report,
    "simulation": simulation_report.report,
    "snapshots": snapshots_report.report,
}


def write(folder: Path, part: str, rows: list[Row], text: str, figures: object, pictures: dict[str, str]) -> None:
    """Rows, table, figures and plots of a part."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{part}-rows.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    (folder / f"{part}.md").write_text(text)
    (folder / f"{part}.json").write_text(json.dumps(figures, indent=1) + "\n")
    for name, svg in pictures.items():
        (folder / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    main()
