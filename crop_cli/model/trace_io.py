"""Trace files: reading with every defect reported. `crop_cli.model.trace.trace_bytes` is what to write."""

from __future__ import annotations

from pathlib import Path

from crop_cli.errors import InputError
from crop_cli.model.files import read_bytes, shown
from crop_cli.model.findings import Findings, named, number
from crop_cli.model.io import parse
from crop_cli.model.trace import Trace
from crop_cli.model.validate_fields import check_name, check_unique
from crop_cli.model.validate_jobs import JOBS, check_job


def load_trace(path: str | Path) -> Trace:
    """Read, decode and check a trace file.

    Whether its levels and GPU types are those of a cluster is for whoever brings both together.

    Parameters
    ----------
    path
        A JSON file, plain or gzip; "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be used, with every defect found.
    """
    return read_trace(read_bytes(path), path)


def read_trace(data: bytes, path: str | Path) -> Trace:
    """Decode and check the bytes of a trace file, plain or gzip; the path is for messages only.

    Raises
    ------
    InputError
        If it cannot be used, with every defect found.
    """
    trace, structural = parse(path, data, Trace)
    findings = Findings(structural)
    if trace.name:
        check_name(findings, "$.name", trace.name)
    check_unique(findings, JOBS, [job.name for job in trace.jobs])
    latest = 0.0
    for i, job in enumerate(trace.jobs):
        at = f"{JOBS}[{i}]"
        check_job(findings, at, job, None)
        if job.placement is not None:
            found = f"a placement{named('job', job.name)}"
            findings.add(f"{at}.placement", found, "none: a job of a trace does not run yet")
        if findings.sound(at, "arrival_s"):
            if job.arrival_s < latest:
                found = f"{number(job.arrival_s)}{named('job', job.name)}"
                findings.add(f"{at}.arrival_s", found, f"at least {number(latest)}, as of a job above: by arrival")
            latest = max(latest, job.arrival_s)
    if findings.defects:
        raise InputError(shown(path), findings.defects)
    return trace
