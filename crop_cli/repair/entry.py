"""The two entry points: an instance and a solution in, the repair of a failure or the drill of all failures out."""

from __future__ import annotations

import math

from crop_cli.errors import UsageError
from crop_cli.model.instance import Cluster
from crop_cli.model.io import Loaded
from crop_cli.model.solution import Solution
from crop_cli.names import one
from crop_cli.repair import drill as drills
from crop_cli.repair import repair as repairs
from crop_cli.repair.pinned import ORACLE, How
from crop_cli.repair.repair import DEFAULT_MIGRATION_MINUTES, Repaired
from crop_cli.repair.results import Drill
from crop_cli.repair.scene import failure_of, running
from crop_cli.solvers import registry
from crop_cli.solvers.contract import Budget, Listener, Request, ignore

MOST_MINUTES = 1e9
"""What a move may cost: the limit of an instance file, into which it goes."""

DEFAULT_GAP = 1e-3
"""Gap at which the search for a better repair or a lower bound ends."""


def repair(
    loaded: Loaded,
    solution: Solution,
    down: list[str],
    *,
    solver: str = "auto",
    migration_minutes: float = DEFAULT_MIGRATION_MINUTES,
    gap: float = DEFAULT_GAP,
    seed: int = 0,
    threads: int = 1,
    budget: Budget | None = None,
    listen: Listener | None = None,
) -> Repaired:
    """What becomes of a solution when nodes and switches fail: the repair that moves least.

    Parameters
    ----------
    loaded, solution
        The instance, and a solution of it that holds.
    down
        Names of nodes and switches; a text may have several, separated by commas.
    solver
        The name of an engine, or "oracle": one job after the other.
    migration_minutes
        What a move costs a job that says nothing about it.
    gap, seed, threads
        Passed on to the solver. The gap is one of the part of F that is decided.
    budget
        The time for all; None for no limit.
    listen
        Told of the solvers' events.

    Raises
    ------
    UsageError
        For an unknown name, an unknown solver, or a bad value.
    ViolationError
        If the solution does not hold for the instance.
    BackendError
        If a solver failed without any answer.
    """
    if not 0 <= migration_minutes <= MOST_MINUTES:
        raise UsageError(f"the migration minutes must be a number from 0 to 1e9, not {migration_minutes}")
    failure = failure_of(loaded.instance.cluster, down)
    how = _how(solver, Request(gap=gap, seed=seed, threads=threads), budget, listen)
    scene = running(loaded.instance, solution, loaded.sha256 or None)
    return repairs.repair(scene, failure, how, migration_minutes)


def drill(
    loaded: Loaded,
    solution: Solution,
    *,
    level: str | None = None,
    solver: str = ORACLE,
    outage_hours: float = drills.DEFAULT_OUTAGE_HOURS,
    gap: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    budget: Budget | None = None,
    listen: Listener | None = None,
) -> Drill:
    """What every single failure of a node or switch would cost, before and after a repair that moves nobody else.

    Parameters
    ----------
    loaded, solution
        The instance, and a solution of it that holds.
    level
        The level whose vertices fail; None: all.
    solver
        "oracle": the hit jobs one after the other; or the name of an engine.
    outage_hours
        How long a node that failed stays down.
    gap, seed, threads, budget, listen
        As for `repair`. Failures that are not reached in the time are counted.

    Raises
    ------
    UsageError, ViolationError, BackendError
        As for `repair`; also UsageError for an unknown level.
    """
    if not (outage_hours >= 0 and math.isfinite(outage_hours)):
        raise UsageError(f"the outage hours must be a number of at least 0, not {outage_hours}")
    levels = _levels(loaded.instance.cluster, level)
    how = _how(solver, Request(gap=gap, seed=seed, threads=threads), budget, listen)
    scene = running(loaded.instance, solution, loaded.sha256 or None)
    return drills.drill(scene, levels, how, outage_hours)


def _levels(cluster: Cluster, level: str | None) -> list[str]:
    if level is None:
        return list(cluster.levels)
    if level not in cluster.levels:
        raise UsageError(f"--level: the cluster has no level {level!r} (it has {one(list(map(repr, cluster.levels)))})")
    return [level]


def _how(solver: str, request: Request, budget: Budget | None, listen: Listener | None) -> How:
    engine = None if solver == ORACLE else registry.find(solver)
    if engine is not None:
        engine.require()
    return How(engine, request, budget or Budget(), listen or ignore)
