"""Options of `crop simulate`, and from their values to the settings of the simulations."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.simulate.settings import Settings

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
MOST_SLOW = 1e6
_TIME = re.compile(r"(?P<amount>[0-9.eE+-]+?)\s*(?P<unit>ms|s|m|h|d|)")


class OrderName(StrEnum):
    """Orders of the queue."""

    FIFO = "fifo"
    SJF = "sjf"
    LAS = "las"
    WEIGHT = "weight"


class ReactionName(StrEnum):
    """What a policy makes of abnormal nodes."""

    IGNORANT = "ignorant"
    EXCLUDE = "exclude"
    AWARE = "aware"


class FailureName(StrEnum):
    """Where failures of single nodes come from."""

    NONE = "none"
    RATES = "rates"


class SharingName(StrEnum):
    """How overbooked uplinks are shared."""

    LOAD = "load"
    MAX_MIN = "max-min"


Solvers = Annotated[
    list[str] | None,
    typer.Option("--solver", metavar="NAME", help="One of `crop solvers`; may be repeated.  [default: greedy]"),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Option of the solver; of several: SOLVER.KEY=VALUE."),
]
Order = Annotated[
    OrderName,
    typer.Option("--order", help="Of the queue: arrival, shortest first, least GPU time so far, heaviest first."),
]
Backfill = Annotated[
    bool, typer.Option("--backfill/--no-backfill", help="Whether a job may start while one before it waits.")
]
Window = Annotated[int, typer.Option("--window", metavar="W", help="Waiting jobs that the solver sees at a time.")]
Round = Annotated[
    str, typer.Option("--round", metavar="TIME", help="Between scheduling rounds; 0: at every arrival and end.")
]
Migrations = Annotated[
    int, typer.Option("--migrations", metavar="N", help="Running jobs that a round may move, the slowest first.")
]
MigrationMinutes = Annotated[
    float, typer.Option("--migration-minutes", metavar="M", help="What a move costs a job that does not say.")
]
Reaction = Annotated[
    ReactionName,
    typer.Option("--reaction", help="Avoid only failed nodes; also slow and lately failed ones; or weigh estimates."),
]
Quarantine = Annotated[
    str | None,
    typer.Option("--quarantine", metavar="TIME", help="Exclude: how long after a failure.  [default: 1d]"),
]
Failures = Annotated[
    FailureName, typer.Option("--failures", help="Of nodes: none, or at random at their failures_per_day.")
]
Faults = Annotated[
    str | None, typer.Option("--faults", metavar="FILE", help="Fault trace to replay: InfiniteHBD's JSON, or CSV.")
]
FaultNodes = Annotated[
    int | None,
    typer.Option(
        "--fault-nodes", metavar="N", help="Nodes that it watched, with those without a fault: dealt at random."
    ),
]
RepairMedian = Annotated[str, typer.Option("--repair-median", metavar="TIME", help="Median repair time.")]
RepairSigma = Annotated[
    float,
    typer.Option("--repair-sigma", metavar="S", help="Standard deviation of its logarithm; 0: always the median."),
]
SwitchFailures = Annotated[
    float, typer.Option("--switch-failures", metavar="RATE", help="Per day, of each switch just above the nodes.")
]
Slow = Annotated[float, typer.Option("--slow", metavar="RATE", help="Times per day that a node becomes slow.")]
SlowFactor = Annotated[float, typer.Option("--slow-factor", metavar="X", help="What its computation times grow by.")]
SlowHours = Annotated[float, typer.Option("--slow-hours", metavar="H", help="How long it stays slow, mean.")]
Sharing = Annotated[
    SharingName, typer.Option("--sharing", help="Of overbooked uplinks: times stretch by the load, or fair shares.")
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="End of the simulation.  [default: when all jobs ended]")
]


def duration(text: str, option: str, *, zero: bool = False) -> float:
    """Read a time: 45, 30s, 10m, 1h, 2d.

    Raises
    ------
    UsageError
        If it is none, or not positive (with `zero`: negative).
    """
    found = _TIME.fullmatch(text.strip())
    try:
        amount = float(found["amount"]) if found else math.nan
    except ValueError:
        amount = math.nan
    seconds = amount * _UNITS[found["unit"]] if found else math.nan
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and not zero):
        least = "a time of at least 0" if zero else "a positive time"
        raise UsageError(f"{option}: {text!r} is not {least} such as 45, 30s, 10m, 1h or 2d")
    return seconds


@dataclass(frozen=True, slots=True)
class Asked:
    """Values of the options as they were given."""

    solvers: list[str]
    settings: list[str]
    order: OrderName
    backfill: bool
    window: int
    round: str
    migrations: int
    migration_minutes: float
    reaction: ReactionName
    quarantine: str | None
    failures: FailureName
    repair_median: str
    repair_sigma: float
    switch_failures: float
    slow: float
    slow_factor: float
    slow_hours: float
    sharing: SharingName
    until: str | None
    seed: int


def settings_of(asked: Asked) -> list[Settings]:
    """Settings of the simulation of each solver.

    Raises
    ------
    UsageError
        For what cannot be simulated.
    """
    from crop_cli.simulate.settings import Policy, Settings, Weather  # noqa: PLC0415 (--help must not load msgspec)

    _check(asked)
    options = solver_options(asked.solvers, asked.settings)
    weather = Weather(
        rates=asked.failures is FailureName.RATES,
        repair_median_h=duration(asked.repair_median, "--repair-median") / 3600.0,
        repair_sigma=asked.repair_sigma,
        switch_failures_per_day=asked.switch_failures,
        slow_per_day=asked.slow,
        slow_factor=asked.slow_factor,
        slow_hours=asked.slow_hours,
    )
    until = None if asked.until is None else duration(asked.until, "--until")
    return [
        Settings(
            policy=Policy(
                solver=solver,
                options=options[solver],
                order=asked.order.value,
                backfill=asked.backfill,
                window=asked.window,
                round_s=duration(asked.round, "--round", zero=True),
                migrations=asked.migrations,
                migration_minutes=asked.migration_minutes,
                reaction=asked.reaction.value,
                quarantine_hours=duration(asked.quarantine or "1d", "--quarantine", zero=True) / 3600.0,
            ),
            weather=weather,
            sharing=asked.sharing.value,
            seed=asked.seed,
            until_s=until,
        )
        for solver in asked.solvers
    ]


def solver_options(solvers: list[str], settings: list[str]) -> dict[str, dict[str, str]]:
    """Options of each solver. Of one solver they may be written without its name.

    Raises
    ------
    UsageError
        If one is not KEY=VALUE, stands twice, or is not of one of the solvers.
    """
    options: dict[str, dict[str, str]] = {solver: {} for solver in solvers}
    for key, value in opt.pairs(settings).items():
        solver, _, rest = key.partition(".")
        if solver not in options or not rest:
            if len(solvers) > 1:
                known = ", ".join(solvers)
                raise UsageError(f"--set {key}=: expected SOLVER.KEY=VALUE of one of the solvers ({known})")
            solver, rest = solvers[0], key
        if rest in options[solver]:
            raise UsageError(f"--set: {rest!r} is given twice")
        options[solver][rest] = value
    return options


def _check(asked: Asked) -> None:
    least: list[tuple[str, float, float]] = [
        ("--window", asked.window, 1),
        ("--migrations", asked.migrations, 0),
        ("--migration-minutes", asked.migration_minutes, 0),
        ("--repair-sigma", asked.repair_sigma, 0),
        ("--switch-failures", asked.switch_failures, 0),
        ("--slow", asked.slow, 0),
        ("--slow-factor", asked.slow_factor, 1),
        ("--seed", asked.seed, 0),
    ]
    for option, value, low in least:
        if not low <= value < math.inf:
            raise UsageError(f"{option}: {value:g} is not a number of at least {low:g}")
    if asked.slow_factor > MOST_SLOW:
        raise UsageError(
            f"--slow-factor: {asked.slow_factor:g} is more than 1e6, the most that a node's slowdown may be"
        )
    if not 0 < asked.slow_hours < math.inf:
        raise UsageError(f"--slow-hours: {asked.slow_hours:g} is not a positive number")
    if asked.migrations and not asked.backfill:
        raise UsageError("--migrations: without backfill jobs are placed one by one, and none is moved")
    if asked.quarantine is not None and asked.reaction is not ReactionName.EXCLUDE:
        raise UsageError("--quarantine is of --reaction exclude")
