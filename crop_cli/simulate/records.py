"""What a simulation ends with: a record per job, figures over all, and how they moved."""

from __future__ import annotations

from typing import Literal

from crop_cli.simulate.settings import Settings, Struct


class JobRecord(Struct, frozen=True, kw_only=True):
    """One job of the trace, seconds.

    Attributes
    ----------
    state, reason
        How it ended: `finished`, still `running` or `waiting` at the end, or `rejected` and why.
    service
        GPU-seconds that it held.
    done, lost
        Perfect work done and kept, and done again because of failures, seconds.
    """

    name: str
    gpus: int
    weight: float
    arrival: float
    duration: float
    state: Literal["finished", "running", "waiting", "rejected"]
    reason: str | None
    first_start: float | None
    end: float | None
    service: float
    done: float
    lost: float
    starts: int
    interruptions: int
    moves: int


class Distribution(Struct, frozen=True, kw_only=True):
    """Of a figure over finished jobs."""

    mean: float
    median: float
    p95: float
    p99: float
    highest: float


class Figures(Struct, frozen=True, kw_only=True):
    """Figures over the whole simulation.

    Attributes
    ----------
    finished, running, waiting, rejected
        Jobs by their state at the end; they add up to the trace.
    coming
        Of those that wait, jobs that had not arrived by the end.
    makespan_s
        From the first arrival to the last completion (or the end of the simulation).
    goodput
        GPUs' worth of perfect work, mean over the makespan: Σ gpus·done / makespan.
    throughput
        GPU iterations per second, mean over the makespan.
    utilisation
        GPU-seconds held over those of nodes that were up.
    efficiency
        Useful work over GPU-seconds held.
    communication_overhead
        Share of the GPU time of active jobs that waited for the network.
    fragmentation
        Mean share of GPUs (of nodes that are up) that stood free while a job waited: no waiting job could, or was
        allowed to, use them.
    lost_gpu_s, interruptions
        GPU-seconds of work done again, and jobs interrupted by failures.
    completion, queueing, finish_ratio
        Seconds from arrival to end and to first start; completion over duration (1 is perfect).
    jobs_in_system
        Mean number of jobs that ran or waited.
    node_down_share
        Mean share of nodes that were down.
    decisions, decision_s, longest_decision_s
        Rounds that asked the solver, and their wall clock: not the same from run to run.
    """

    finished: int
    running: int
    waiting: int
    coming: int
    rejected: int
    makespan_s: float
    goodput: float
    throughput: float
    utilisation: float
    efficiency: float
    communication_overhead: float
    fragmentation: float
    lost_gpu_s: float
    interruptions: int
    completion: Distribution | None
    queueing: Distribution | None
    finish_ratio: Distribution | None
    jobs_in_system: float
    node_down_share: float
    gpu_s_held: float
    gpu_s_busy: float
    decisions: int
    decision_s: float
    longest_decision_s: float


class Sample(Struct, frozen=True, kw_only=True, array_like=True):
    """The state at one moment: jobs that run and wait, GPUs held, free and up, and goodput (GPUs' worth)."""

    time: float
    running: int
    waiting: int
    gpus_held: int
    gpus_free: int
    gpus_up: int
    goodput: float


class Simulation(Struct, frozen=True, kw_only=True):
    """The file that `crop simulate -o` writes; figures of an interrupted simulation are those up to then."""

    format: Literal["crop-simulation/1"]
    crop_version: str
    trace: str
    cluster: str
    gpus: int
    nodes: int
    settings: Settings
    interrupted: bool
    figures: Figures
    series: list[Sample]
    jobs: list[JobRecord]
