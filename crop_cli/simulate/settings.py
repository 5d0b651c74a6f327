"""What a simulation is asked for, and the data that it works on."""

from __future__ import annotations

from typing import Literal

import msgspec

Order = Literal["fifo", "sjf", "las", "weight"]
Reaction = Literal["ignorant", "exclude", "aware"]
Sharing = Literal["load", "max-min"]

DAY = 86_400.0
"""Seconds."""


class Struct(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of every struct of the files."""


class Policy(Struct, frozen=True, kw_only=True):
    """Who is placed next, where, and what is made of abnormal devices.

    Attributes
    ----------
    solver, options
        Places the window on what is free: any solver or baseline of `crop solvers`, with its own options.
    order
        Of the queue: arrival, shortest first, least attained service (GPU-seconds) first, heaviest first; ties by
        arrival.
    backfill
        Whether a job may start although one before it in the queue waits.
    window
        Waiting jobs that the solver sees at a time, with backfill; as those start, the next ones come into it.
    round_s
        Seconds between scheduling rounds; 0: whenever a job arrives or GPUs become free.
    migrations
        Most running jobs that may be moved in a round, those that run least efficiently; with backfill only.
    migration_minutes
        What a move costs a job that states nothing itself.
    reaction
        `ignorant`: failed nodes have no room, else nothing is known. `exclude`: nodes that are slow, or failed within
        the last `quarantine_hours`, are left alone too. `aware`: the solver knows which nodes are slow, and failure
        rates estimated from what happened so far.
    """

    solver: str = "greedy"
    options: dict[str, str] = {}
    order: Order = "fifo"
    backfill: bool = True
    window: int = 32
    round_s: float = 0.0
    migrations: int = 0
    migration_minutes: float = 5.0
    reaction: Reaction = "ignorant"
    quarantine_hours: float = 24.0


class Weather(Struct, frozen=True, kw_only=True):
    """What happens to devices.

    Attributes
    ----------
    rates
        Whether nodes fail at their `failures_per_day`, independently, exponentially.
    repair_median_h, repair_sigma
        Repair times are lognormal: median, hours, and the standard deviation of the logarithm.
    switch_failures_per_day
        Of every switch just above the nodes: all nodes below it fail together.
    slow_per_day, slow_factor, slow_hours
        Rate at which a node becomes slow, by how much, and for how long in the mean (exponential).
    """

    rates: bool = False
    repair_median_h: float = 15.0
    repair_sigma: float = 2.5
    switch_failures_per_day: float = 0.0
    slow_per_day: float = 0.0
    slow_factor: float = 1.5
    slow_hours: float = 24.0


class Settings(Struct, frozen=True, kw_only=True):
    """Everything besides trace, cluster and replayed faults.

    Attributes
    ----------
    sharing
        Where more is reserved on an uplink than it has: `load` stretches each job's time on it by its load; `max-min`
        shares bandwidth max-min fairly.
    until_s
        End of the simulation; None: when nothing runs or waits any more.
    """

    policy: Policy = Policy()
    weather: Weather = Weather()
    sharing: Sharing = "load"
    seed: int = 0
    until_s: float | None = None
