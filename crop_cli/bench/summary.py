"""From runs to the summary of a bench."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import msgspec

from crop_cli._version import __version__
from crop_cli.bench.best_known import Known
from crop_cli.bench.records import Machine, Run, Settings, Summary
from crop_cli.bench.reference import reference_of
from crop_cli.bench.rows import rows_of
from crop_cli.bench.statistics import aggregates_of, profiles_of
from crop_cli.bench.suite import Member
from crop_cli.errors import Defect, InputError
from crop_cli.model.files import read_bytes, unpack

LIBRARIES = ("numpy", "scipy", "ortools", "highspy", "pulp")


def summarise(
    suite: list[Member],
    known: Mapping[str, Known | None],
    runs: list[Run],
    *,
    solvers: list[str],
    settings: Settings,
    parallel: int,
    started: str,
    seconds: float,
    complete: bool,
) -> Summary:
    """All figures of a bench, in the order of the suite, the seeds and the solvers, however the runs came in.

    Parameters
    ----------
    suite, known, runs
        Instances, what `best-known.json` says of each, and the records.
    started
        Date and time, ISO 8601.
    complete
        Whether every run that was asked for is there.
    """
    position = {member.name: i for i, member in enumerate(suite)}
    rank = {solver: i for i, solver in enumerate(solvers)}
    ordered = sorted(runs, key=lambda run: (position[run.instance], run.seed, rank[run.solver]))
    by_instance: dict[str, list[Run]] = defaultdict(list)
    for run in ordered:
        by_instance[run.instance].append(run)
    references = {
        member.name: reference_of(member, known.get(member.name), by_instance[member.name]) for member in suite
    }
    rows = rows_of(ordered, references)
    return Summary(
        format="crop-bench/1",
        crop_version=__version__,
        started=started,
        seconds=round(seconds, 3),
        settings=settings,
        parallel=parallel,
        machine=machine(),
        solvers=solvers,
        references=list(references.values()),
        rows=rows,
        aggregates=aggregates_of(rows, references, settings.time_limit),
        profiles=profiles_of(rows, references),
        complete=complete,
    )


def machine() -> Machine:
    """This machine and the libraries in use."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        libraries=found,
    )


def dump_summary(summary: Summary) -> bytes:
    """The summary file: one line per row, so that version control shows what changed."""
    lines = []
    for name in Summary.__struct_fields__:
        value = getattr(summary, name)
        if isinstance(value, list) and value and not isinstance(value[0], str):
            items = ",\n".join("  " + msgspec.json.encode(item).decode() for item in value)
            lines.append(f' "{name}": [\n{items}\n ]')
        else:
            lines.append(f' "{name}": {msgspec.json.encode(value).decode()}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def load_summary(path: str | Path) -> Summary:
    """Read a summary file, plain or gzip.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return msgspec.json.decode(unpack(path, read_bytes(path)), type=Summary)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(str(path), [Defect("$", str(error), 'a summary of "crop-bench/1"')]) from None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "") or "unknown"
