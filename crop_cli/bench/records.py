"""What a bench writes down: one record per finished run (a line of `runs.jsonl`), and the summary of a whole bench.

Unknown is `None`. Times are wall-clock seconds, memory is in MiB, F and bounds in GPUs' worth of perfect work.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from crop_cli.model.solution import Guarantee, Metrics, Status, StopReason

Verdict = Literal[Status, "overbooked", "failed"]
"""A solution's status; `overbooked`: feasible but for uplinks, scored under fair sharing; `failed`: no answer that
passed the evaluator, for the reason in `error`."""


class Struct(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of every struct of the files."""


class Settings(Struct, frozen=True, kw_only=True):
    """What every run of a bench was given."""

    time_limit: float | None
    gap: float | None
    threads: int
    options: dict[str, str] = {}


class Size(Struct, frozen=True, kw_only=True):
    """How large an instance is."""

    nodes: int
    gpus: int
    jobs: int


class Point(Struct, frozen=True, kw_only=True):
    """The best F and bound known so many seconds after the start."""

    seconds: float
    objective: float | None
    bound: float | None


class Run(Struct, frozen=True, kw_only=True):
    """One solver on one instance with one seed.

    Attributes
    ----------
    instance, sha256
        "SET/NAME", and the hash of the file: what was solved.
    solver, role
        A name of the registry, and its role there.
    verdict, stop_reason, error
        What is known about the answer, why the solver ended, and what went wrong.
    verified
        Whether a placement is there and the evaluator recomputed it; for an overbooked one, under fair sharing.
    objective, metrics
        By the evaluator.
    loads
        Overbooked uplinks and their load (above 1).
    bound
        Of this run alone; `gap` is against it.
    seconds
        By phase: load, build, solve, bound, total.
    peak_mib
        Largest resident memory of the run's processes.
    trace
        How F and bound moved.
    placement
        Workers per node name of every placed job.
    """

    format: Literal["crop-run/1"]
    crop_version: str
    instance: str
    sha256: str
    size: Size
    solver: str
    role: str
    seed: int
    settings: Settings
    back_end: str | None = None
    back_end_version: str | None = None
    verdict: Verdict
    stop_reason: StopReason
    error: str | None = None
    verified: bool = False
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    guarantee: Guarantee = Guarantee()
    metrics: Metrics | None = None
    loads: dict[str, float] = {}
    seconds: dict[str, float] = {}
    peak_mib: float | None = None
    trace: list[Point] = []
    placement: dict[str, dict[str, int]] = {}


class Reference(Struct, frozen=True, kw_only=True):
    """What is known about an instance, whoever found it.

    Attributes
    ----------
    value, bound, optimal, infeasible
        Best verified F of a feasible placement, least valid bound, whether they meet; or whether it is proven that no
        placement exists.
    by
        Who found the value.
    overhead, throughput
        Of that placement.
    sources
        Where value and bound come from: "runs", "best-known" or both.
    contradiction
        A claimed bound that is below a verified value, in words; it is not used.
    """

    instance: str
    sha256: str
    size: Size
    value: float | None
    bound: float | None
    optimal: bool
    infeasible: bool = False
    by: str | None = None
    overhead: float | None = None
    throughput: float | None = None
    sources: list[str] = []
    contradiction: str | None = None


class Row(Struct, frozen=True, kw_only=True):
    """A run against the reference.

    Attributes
    ----------
    gap
        Of the run's own bound; None without one.
    gap_to_best
        (best value − F)/|best value|: negative where an overbooked placement scores more.
    ratio
        F over the optimum where it is proven, else over the least bound; 1 where both are 0, None where that is not
        positive.
    guarantee, guarantee_holds_for
        A-priori factor, where one held, and relative to what ("optimum", or the best placement of some kind).
    overhead, overhead_ratio
        Communication overhead, and over that of the best known placement (None where that is 0).
    seconds
        Whole run without loading; of a baseline, without bound and check too.
    win
        F as high as anybody's in this bench (within 10⁻⁶ of it), by a feasible placement.
    deterministic
        Ended by itself, so that the same version must give it again.
    """

    instance: str
    sha256: str
    size: Size
    solver: str
    role: str
    seed: int
    verdict: Verdict
    stop_reason: StopReason
    error: str | None
    verified: bool
    deterministic: bool
    objective: float | None
    bound: float | None
    gap: float | None
    gap_to_best: float | None
    ratio: float | None
    guarantee: float | None
    guarantee_holds_for: str | None
    overhead: float | None
    overhead_ratio: float | None
    gpus_used: int | None
    jobs_placed: int | None
    throughput: float | None
    throughput_ratio: float | None
    failures_per_day: float | None
    worst_node_blast: float | None
    worst_switch_blast: float | None
    overbooked_uplinks: int
    worst_load: float | None
    seconds: float
    peak_mib: float | None
    win: bool


class Aggregate(Struct, frozen=True, kw_only=True):
    """All runs of one solver, or those in one set (`instances` is "*" or the set's name).

    Attributes
    ----------
    runs, solved, optimal, overbooked, failed
        Runs; those with a verified feasible placement or a proof that none exists; those proven optimal by themselves;
        those scored under fair sharing; all others.
    mean_ratio, median_ratio, worst_ratio
        Over runs that have one; an overbooked run counts at most 1, and one without an answer 0 where the reference has
        a positive value.
    seconds
        Shifted geometric mean, shift 1 s; a failed run counts as the time limit.
    par2
        Mean seconds; runs that did not end by themselves with an answer count twice the time limit.
    wins
        Runs that no other solver of the bench beats.
    mean_overhead, mean_overhead_ratio, mean_throughput_ratio
        Over runs with a placement; ratios to the best known placement.
    """

    solver: str
    role: str
    instances: str
    runs: int
    solved: int
    optimal: int
    overbooked: int
    failed: int
    mean_ratio: float | None
    median_ratio: float | None
    worst_ratio: float | None
    worst_instance: str | None
    seconds: float | None
    par2: float | None
    wins: int
    mean_overhead: float | None
    mean_overhead_ratio: float | None
    mean_throughput_ratio: float | None
    peak_mib: float | None


class Profile(Struct, frozen=True, kw_only=True):
    """Share of a solver's runs at or below each abscissa.

    `performance`: time over the fastest solver's on the same instance and seed; `quality`: 1 − ratio.
    """

    solver: str
    kind: Literal["performance", "quality"]
    x: list[float]
    share: list[float]


class Machine(Struct, frozen=True, kw_only=True):
    """Where it ran."""

    system: str
    processor: str
    cores: int
    python: str
    libraries: dict[str, str]


class Summary(Struct, frozen=True, kw_only=True):
    """A whole bench: the file that `-o` writes, that `--baseline` and `crop compare` read."""

    format: Literal["crop-bench/1"]
    crop_version: str
    started: str
    seconds: float
    settings: Settings
    parallel: int
    machine: Machine
    solvers: list[str]
    references: list[Reference]
    rows: list[Row]
    aggregates: list[Aggregate]
    profiles: list[Profile]
    complete: bool = True
