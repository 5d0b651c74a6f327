"""Records, rows and instances for the tests of benches, with plain values for all that a test does not name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from crop_cli.bench.records import Machine, Reference, Row, Run, Settings, Size, Summary
from crop_cli.bench.rows import rows_of
from crop_cli.bench.statistics import aggregates_of, profiles_of
from crop_cli.bench.suite import Member, load_suite
from crop_cli.bench.task import Task

LIMIT = 10.0
SETTINGS = Settings(time_limit=LIMIT, gap=None, threads=1)
SIZE = Size(nodes=2, gpus=8, jobs=3)


def document(jobs: int = 3, gpus: int = 4, **cluster: Any) -> dict[str, Any]:
    """Two nodes of 4 GPUs whose uplinks are unlimited, and equal jobs without communication: F is the GPUs in use."""
    return {
        "format": "crop-instance/1",
        "cluster": {
            "levels": ["node"],
            "nodes": [{"name": "a", "gpus": 4}, {"name": "b", "gpus": 4}],
            **cluster,
        },
        "objective": {"cut_penalty": 0},
        "jobs": [{"name": f"j{i}", "gpus": gpus, "message_mb": 0} for i in range(jobs)],
    }


def write(path: Path, data: dict[str, Any] | None = None) -> Path:
    """Write an instance file, packed if its name ends with .gz, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = json.dumps(document() if data is None else data).encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if path.name.endswith(".gz") else raw)
    return path


def member(path: Path, data: dict[str, Any] | None = None) -> Member:
    """The member of a suite that is written there."""
    return load_suite([str(write(path, data))])[0]


def task(of: Member, solver: str = "greedy", settings: Settings = SETTINGS, **fields: Any) -> Task:
    """A run of a solver on a member."""
    given: dict[str, Any] = {"seed": 0, **fields}
    return Task(instance=of.name, document=of.data, sha256=of.sha256, solver=solver, settings=settings, **given)


def run(**fields: Any) -> Run:
    """A verified run of the greedy on s/i with F = 4 in 1 s."""
    plain: dict[str, Any] = {
        "format": "crop-run/1",
        "crop_version": "1",
        "instance": "s/i",
        "sha256": "0",
        "size": SIZE,
        "solver": "greedy",
        "role": "heuristic",
        "seed": 0,
        "settings": SETTINGS,
        "verdict": "feasible",
        "stop_reason": "completed",
        "verified": True,
        "objective": 4.0,
        "seconds": {"total": 1.0},
    }
    return Run(**{**plain, **fields})


def failed(**fields: Any) -> Run:
    """A run without an answer."""
    plain = {"verdict": "failed", "stop_reason": "error", "verified": False, "objective": None, "error": "broken"}
    return run(**{**plain, **fields})


def reference(**fields: Any) -> Reference:
    """Of s/i: F = 8 is proven."""
    plain: dict[str, Any] = {"instance": "s/i", "sha256": "0", "size": SIZE}
    return Reference(**{**plain, "value": 8.0, "bound": 8.0, "optimal": True, **fields})


def rows(runs: list[Run], references: list[Reference] | None = None) -> list[Row]:
    """Rows of runs; every instance has the proven F = 8 unless references are given."""
    return rows_of(runs, by_name(runs, references))


def by_name(runs: list[Run], references: list[Reference] | None = None) -> dict[str, Reference]:
    """References by instance."""
    given = {one.instance: one for one in references or []}
    return {one.instance: given.get(one.instance) or reference(instance=one.instance) for one in runs}


def summary(runs: list[Run], references: list[Reference] | None = None, settings: Settings = SETTINGS) -> Summary:
    """The summary of runs."""
    known = by_name(runs, references)
    made = rows_of(runs, known)
    return Summary(
        format="crop-bench/1",
        crop_version="1",
        started="2026-03-01T12:00:00+00:00",
        seconds=1.0,
        settings=settings,
        parallel=1,
        machine=Machine(system="s", processor="p", cores=1, python="3", libraries={}),
        solvers=list(dict.fromkeys(one.solver for one in runs)),
        references=list(known.values()),
        rows=made,
        aggregates=aggregates_of(made, known, settings.time_limit),
        profiles=profiles_of(made, known),
    )
