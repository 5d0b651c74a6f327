"""What `crop repair` and `crop drill` say, as plain structs: the JSON documents, and what the tables are made from."""

from __future__ import annotations

from typing import Literal

import msgspec

from crop_cli.model.solution import Status

Way = Literal["nothing", "pinned", "moves"]


class Struct(msgspec.Struct, kw_only=True, frozen=True):
    """Base of every struct of the documents."""


class HitJob(Struct, frozen=True):
    """A job with a worker on a node that is down: where it ran, and where it runs now, or why it waits.

    `goodput_before` and `goodput_after` are in GPUs' worth of perfect work, not weighted; `after` is None if it waits.
    """

    job: str
    gpus: int
    weight: float
    before: dict[str, int]
    goodput_before: float
    after: dict[str, int] | None
    goodput_after: float | None
    reason: str | None


class MovedJob(Struct, frozen=True):
    """A job that was not hit and gives way to one that was. `cost` is what the move takes off F."""

    job: str
    gpus: int
    weight: float
    before: dict[str, int]
    after: dict[str, int]
    goodput_before: float
    goodput_after: float
    cost: float


class StartedJob(Struct, frozen=True):
    """A job that waited before the failure and starts in what the repaired jobs leave."""

    job: str
    gpus: int
    weight: float
    nodes: dict[str, int]
    goodput: float


class RepairReport(Struct, frozen=True):
    """One failure and its repair (docs/robustness.md defines every figure).

    Attributes
    ----------
    down, nodes_down
        The names that were given, and how many nodes that were up are down by them.
    way
        "nothing": no job is hit; "pinned": nobody else moved; "moves": others had to.
    pinned_proved
        No placement of the hit jobs in which nobody else moves has a higher F: proved by an exact back end or a bound.
    solver
        What found the placement: "oracle" (one job after the other), or the name of an engine.
    objective_before, objective_idle, objective_after
        F of the running jobs, F with the hit jobs gone and nothing done, F of the repaired placement, moves paid.
    goodput_before, goodput_lost, goodput_after
        Weighted goodput of the jobs that ran: before, of those hit, and after the repair.
    goodput_kept
        `goodput_after` over `goodput_before`; None where that is not positive.
    status, bound, gap
        Of the repaired placement in the degraded instance, in which every job may move at its cost.
    waiting_before
        Jobs that waited before and wait still.
    """

    format: Literal["crop-repair/1"]
    instance: str
    crop_version: str
    down: list[str]
    nodes_down: int
    way: Way
    pinned_proved: bool
    solver: str
    objective_before: float
    objective_idle: float
    objective_after: float
    goodput_before: float
    goodput_lost: float
    goodput_after: float
    goodput_kept: float | None
    status: Status
    bound: float | None
    gap: float | None
    hit: list[HitJob]
    moved: list[MovedJob]
    started: list[StartedJob]
    waiting_before: int
    notes: list[str]
    total_s: float


class FailureRow(Struct, frozen=True):
    """One node or switch fails, alone, and the hit jobs are placed anew with nobody else moved.

    Attributes
    ----------
    nodes_down
        Nodes below that were up.
    failures_per_day
        Of a node; None for a switch, which has no rate of its own.
    jobs_hit, jobs_waiting
        Jobs with a worker below, and those of them without a place after the repair.
    goodput_lost
        Weighted goodput of the jobs hit: the blast radius.
    goodput_after, goodput_kept
        Weighted goodput of all jobs after the repair, and its share of that before (None where that is not positive).
    restart_loss
        Weighted GPU-days that the hit jobs lose once: restart and half a checkpoint interval of all their GPUs.
    """

    level: str
    name: str
    nodes_down: int
    failures_per_day: float | None
    jobs_hit: int
    jobs_waiting: int
    goodput_lost: float
    goodput_after: float
    goodput_kept: float | None
    restart_loss: float


class NodeMean(Struct, frozen=True):
    """Node failures weighted by their rates; harmless nodes count with nothing lost.

    Attributes
    ----------
    failures_per_day
        Of all nodes that are up.
    goodput_lost, goodput_kept
        Means over node failures of the goodput lost at once, and of the share kept after the repair.
    restart_loss_per_day, outage_loss_per_day, loss_per_day
        Expected weighted GPU-days of perfect work lost per day: to restarts, to outages of `outage_hours` after the
        repair, and both.
    """

    failures_per_day: float
    goodput_lost: float
    goodput_kept: float | None
    restart_loss_per_day: float
    outage_loss_per_day: float
    loss_per_day: float


class Drill(Struct, frozen=True):
    """Every failure of one node or switch.

    Attributes
    ----------
    failures
        Those that hit a job, the least goodput after the repair first, then the most lost at once.
    harmless
        Vertices by level that no job uses.
    left
        Failures that were not looked at, for lack of time.
    computed
        Repairs that were computed; the others are those of interchangeable nodes.
    worst_node, worst_switch
        First of `failures` of their kind.
    mean
        None where no node that is up has a failure rate, or not every node's failure was looked at.
    """

    format: Literal["crop-drill/1"]
    instance: str
    crop_version: str
    solver: str
    outage_hours: float
    goodput_before: float
    failures: list[FailureRow]
    harmless: dict[str, int]
    left: int
    computed: int
    worst_node: str | None
    worst_switch: str | None
    mean: NodeMean | None
    total_s: float
