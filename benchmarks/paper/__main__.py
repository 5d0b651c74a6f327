"""The evaluation of the CROP paper (IWQoS 2025) as far as its abstract describes it, on crop's own model.

Run `python -m benchmarks.paper [--quick] [--only testbed simulation snapshots] [--processes 2] [--fresh]`. Rows are
kept as they come, so that the same command goes on where it was. Writes tables and plots to benchmarks/results/paper/
(with --quick to its folder quick/).
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from benchmarks.paper import testbed, testbed_report
from benchmarks.paper.journal import Row, work_off

RESULTS = Path(__file__).parents[1] / "results" / "paper"
PARTS = ("testbed",)
QUICK_MIXES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few configurations of every part")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget the rows of an earlier run")
    parser.add_argument("-o", "--output", type=Path, default=None, help="folder of the results")
    options = parser.parse_args()
    folder = options.output or (RESULTS / "quick" if options.quick else RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    for part in options.only:
        rows = folder / f"{part}.jsonl"
        if options.fresh:
            rows.unlink(missing_ok=True)
        if part == "testbed":
            cases = testbed.cases(QUICK_MIXES if options.quick else testbed.MIXES)
            found = work_off(cases, lambda case: case.name, testbed.run, rows, options.processes)
            write(folder, part, found, *testbed_report.report(found))


def write(folder: Path, part: str, rows: list[Row], text: str, figures: object, pictures: dict[str, str]) -> None:
    """Rows, table, figures and plots of a part."""
    lines = "".join(json.dumps(row) + "\n" for row in sorted(rows, key=lambda row: row["task"]))
    (folder / f"{part}-rows.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    (folder / f"{part}.md").write_text(text)
    (folder / f"{part}.json").write_text(json.dumps(figures, indent=1) + "\n")
    for name, svg in pictures.items():
        (folder / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    main()
