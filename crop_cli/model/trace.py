"""The trace file `crop-trace/1`: jobs with arrival and duration, for snapshots and simulation."""

from __future__ import annotations

from typing import Literal

import msgspec

from crop_cli.model.instance import Job, Struct

FORMAT = "crop-trace/1"


class TraceJob(Job, frozen=True, kw_only=True):
    """A job of a trace.

    Attributes
    ----------
    arrival_s
        Seconds after the start of the trace at which it is submitted.
    duration_s
        Seconds that it needs when it runs perfectly: all its workers on the fastest GPU type it knows, nothing lost to
        the network, no failure. Its work is gpus · duration_s GPU-seconds.
    user, group
        Whose it is, where the source tells.
    """

    arrival_s: float
    duration_s: float
    user: str | None = None
    group: str | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """Jobs in order of arrival; `source`, `licence` and `assumptions` are for people."""

    format: Literal["crop-trace/1"]
    jobs: list[TraceJob]
    name: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    assumptions: list[str] = msgspec.field(default_factory=list)


def job_of(job: TraceJob) -> Job:
    """The job without what only a trace knows: as an instance has it."""
    return Job(**{name: getattr(job, name) for name in Job.__struct_fields__})


def trace_bytes(trace: Trace) -> bytes:
    """The file: a line per job."""
    head = msgspec.json.encode(msgspec.structs.replace(trace, jobs=[]))
    rows = b",\n  ".join(msgspec.json.encode(job) for job in trace.jobs)
    return head[:-1].replace(b'"jobs":[]', b'"jobs":[\n  ' + rows + b"\n ]") + b"}\n"
