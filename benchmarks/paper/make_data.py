"""Make the traces of data/ from the public files: `python -m benchmarks.paper.make_data FOLDER`.

FOLDER holds, anywhere below it, philly.csv.gz and philly_103959.csv (pkusys/ElasticFlow), 2869ce.trace and ee9e8c.trace
(stanford-futuredata/gavel, traces/msr/seed=0) and fault_trace.json (stepfun-ai/InfiniteHBD-Trace); their names may have
something before them. Each trace is made with `crop import trace`; then jobs that run longer than `LONGEST_S` are left
out, of Philly all but the virtual clusters with large jobs, and the two files of Gavel are laid over each other. The
README beside the files says so.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from crop_cli.model.trace import Trace, TraceJob, trace_bytes
from crop_cli.model.trace_io import load_trace
from crop_cli.simulate.faults import load_faults

DATA = Path(__file__).parent / "data"

LONGEST_S = {"philly": 4 * 86_400.0, "gavel": 86_400.0, "elasticflow": 4 * 86_400.0}
"""Longer jobs are left out: a few of them would hold the cluster long after all others have arrived and ended."""

VIRTUAL_CLUSTERS = ("2869ce", "ee9e8c", "7f04ca")
"""Of Philly: those with large jobs (two of them are the ones of Gavel's files)."""

SOURCES = {
    "philly": ["*philly.csv.gz"],
    "gavel": ["*ee9e8c.trace", "*2869ce.trace"],
    "elasticflow": ["*philly_103959.csv"],
}
"""Patterns of the files, by name as of `crop import trace`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    for name, patterns in SOURCES.items():
        trace = laid_over([chosen(imported(name, the_file(folder, pattern)), name) for pattern in patterns])
        (DATA / f"{name}.json.gz").write_bytes(packed(trace_bytes(trace)))
        print(f"{name}: {len(trace.jobs)} jobs")
    faults = load_faults(the_file(folder, "fault_trace.json"))
    rows = [f"{node},{start:.0f},{end:.0f}" for node, start, end in faults.faults]
    (DATA / "faults.csv.gz").write_bytes(packed("\n".join(["node,start_s,end_s", *rows, ""]).encode()))
    print(f"faults: {len(rows)}")


def the_file(folder: Path, pattern: str) -> Path:
    """The file of a pattern, the first in order of names."""
    found = sorted(folder.rglob(pattern))
    if not found:
        sys.exit(f"no {pattern} below {folder}")
    return found[0]


def imported(form: str, file: Path) -> Trace:
    """What `crop import trace` makes of a file."""
    with tempfile.TemporaryDirectory() as scratch:
        target = f"{scratch}/trace.json"
        subprocess.run(
            [sys.executable, "-m", "crop_cli", "import", "trace", form, file, "-q", "-o", target], check=True
        )
        return load_trace(target)


def chosen(trace: Trace, name: str) -> Trace:
    """Jobs that are not too long, of Philly's chosen virtual clusters; the clock starts at the first."""

    def wanted(job: TraceJob) -> bool:
        mine = job.group is None or job.group.startswith(VIRTUAL_CLUSTERS)
        return mine and job.duration_s <= LONGEST_S[name]

    jobs = [job for job in trace.jobs if wanted(job)]
    start = jobs[0].arrival_s
    jobs = [
        msgspec.structs.replace(
            job,
            compute_s=job.compute_s if isinstance(job.compute_s, dict) else float(f"{job.compute_s:.6g}"),
            arrival_s=round(job.arrival_s - start),
            duration_s=max(1, round(job.duration_s)),
        )
        for job in jobs
    ]
    left = f"{len(jobs)} of {len(trace.jobs)} jobs: those of at most {LONGEST_S[name] / 86_400:g} days"
    group = f", in the virtual clusters {', '.join(VIRTUAL_CLUSTERS)}" if any(job.group for job in jobs) else ""
    models = [text for text in trace.assumptions if not text[0].isdigit()]
    return msgspec.structs.replace(trace, name=name, jobs=jobs, assumptions=[f"{left}{group}.", *models])


def laid_over(traces: list[Trace]) -> Trace:
    """Several traces as one, each from its own first arrival on; names get the trace's number if there are several."""
    if len(traces) == 1:
        return traces[0]
    jobs = [
        msgspec.structs.replace(job, name=f"{number}-{job.name}")
        for number, trace in enumerate(traces, start=1)
        for job in trace.jobs
    ]
    jobs.sort(key=lambda job: (job.arrival_s, job.name))
    said = [text for trace in traces for text in trace.assumptions]
    return msgspec.structs.replace(traces[0], jobs=jobs, assumptions=list(dict.fromkeys(said)))


def packed(data: bytes) -> bytes:
    """gzip without a date: the same bytes every time."""
    return gzip.compress(data, 9, mtime=0)


if __name__ == "__main__":
    main()
