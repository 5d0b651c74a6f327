"""Traces of part (b): sampled, brought to a load, with checkpoints."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import msgspec

from crop_cli.model.trace import Trace, TraceJob
from crop_cli.model.trace_io import load_trace

DATA = Path(__file__).parent / "data"

CHECKPOINT_MINUTES, RESTART_MINUTES = 60.0, 10.0
"""Of every job; no source states them."""


@cache
def trace_of(name: str) -> Trace:
    """A trace of data/."""
    return load_trace(str(DATA / f"{name}.json.gz"))


def sampled(jobs: list[TraceJob], most: int, seed: int) -> list[TraceJob]:
    """At most so many jobs, drawn without replacement, in order of arrival."""
    if len(jobs) <= most:
        return list(jobs)
    kept = sorted(random.Random(f"sample {seed}").sample(range(len(jobs)), most))
    return [jobs[i] for i in kept]


def at_load(jobs: list[TraceJob], gpus: int, load: float) -> list[TraceJob]:
    """Jobs whose arrivals, from 0 on, are stretched so that GPU time asked for over GPUs times the span is the load.

    Raises
    ------
    ValueError
        If all jobs arrive at once: no stretching changes that.
    """
    first, last = jobs[0].arrival_s, jobs[-1].arrival_s
    if last <= first:
        raise ValueError("all jobs arrive at the same time")
    span = sum(job.gpus * job.duration_s for job in jobs) / (gpus * load)
    scale = span / (last - first)
    return [msgspec.structs.replace(job, arrival_s=scale * (job.arrival_s - first)) for job in jobs]


def prepared(name: str, gpus: int, load: float, most: int, seed: int) -> Trace:
    """The trace of a configuration; jobs that ask for more than a quarter of the cluster are left out."""
    trace = trace_of(name)
    jobs = at_load(sampled([job for job in trace.jobs if job.gpus <= gpus // 4], most, seed), gpus, load)
    jobs = [
        msgspec.structs.replace(job, checkpoint_minutes=CHECKPOINT_MINUTES, restart_minutes=RESTART_MINUTES)
        for job in jobs
    ]
    return msgspec.structs.replace(trace, jobs=jobs)
