"""Nothing gets lost: jobs, GPU-seconds, GPUs and bandwidth, recomputed after every event of random simulations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from crop_cli.model.instance import Instance
from crop_cli.model.trace import TraceJob
from crop_cli.simulate.run import simulate
from crop_cli.simulate.settings import Policy, Settings
from tests.simulate.audit import Auditor
from tests.simulate.build import STORM, change, crowded, flat, job, run, stormy, tiny_trace, trace

SOLVERS = ("greedy", "first-fit", "spread", "best-fit-decreasing", "kai")


World = Callable[[int], tuple[list[TraceJob], Instance]]


def _audited(world: World, seed: int, solver: str, until: float = 60_000.0, **policy: object) -> Auditor:
    jobs, cluster = world(seed)
    cluster = stormy(cluster)
    settings = Settings(
        policy=Policy(solver=solver, **policy),  # type: ignore[arg-type]
        weather=STORM,
        seed=seed,
        until_s=until,
    )
    auditor = Auditor(jobs, cluster, settings)
    result = simulate(trace(jobs), cluster, settings, watch=auditor)
    auditor.end(until)
    figures = result.figures
    assert len(result.jobs) == len(jobs)
    assert figures.finished + figures.running + figures.waiting + figures.rejected == len(jobs)
    assert all((record.reason is not None) == (record.state == "rejected") for record in result.jobs)
    service = sum(record.service for record in result.jobs)
    assert math.isclose(figures.gpu_s_held, service, rel_tol=1e-9)
    assert math.isclose(figures.gpu_s_busy, service, rel_tol=1e-9, abs_tol=1e-6)
    assert math.isclose(auditor.held, service, rel_tol=1e-9, abs_tol=1e-6)
    for record in result.jobs:
        assert -1e-6 <= record.done <= record.duration * (1 + 1e-9)
        assert record.state != "finished" or math.isclose(record.done, record.duration)
        # Work is at most one second per second held, and what was lost was done once more.
        assert record.gpus * (record.done + record.lost) <= record.service * (1 + 1e-9) + 1e-6
        assert record.starts >= record.interruptions
    return auditor


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(8))
def test_every_event_keeps_the_books(seed: int, solver: str) -> None:
    """Places, free room, uplinks and rates agree with the definitions after every event, in all weathers."""
    assert _audited(tiny_trace, seed, solver).events > 0


@pytest.mark.parametrize("solver", ["first-fit", "spread"])
def test_overbooked_uplinks_keep_the_books(solver: str) -> None:
    """Rules that ignore bandwidth are slowed down as the model says, next to a job that stays for good."""
    seen = [_audited(crowded, seed, solver) for seed in range(4)]
    assert sum(auditor.overbooked for auditor in seen) > 100
    assert sum(auditor.slowed for auditor in seen) > 20


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reaction", ["exclude", "aware"])
def test_moves_keep_the_books(seed: int, reaction: str) -> None:
    """The same with migrations, rounds and reactions to failures."""
    options = {"migrations": 2, "migration_minutes": 1.0, "quarantine_hours": 1.0, "round_s": 50.0}
    _audited(tiny_trace, seed, "greedy", 20_000.0, reaction=reaction, **options)


@pytest.mark.parametrize("solver", ["greedy", "first-fit"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_littles_law(seed: int, solver: str) -> None:
    """Mean jobs in system is the arrival rate times the mean time in system, exactly when all jobs finish."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(40.0, 600))
    jobs = [
        job(f"j{i}", int(rng.choice([1, 2, 4])), float(at), float(rng.exponential(150.0)) + 1.0)
        for i, at in enumerate(arrivals)
    ]
    result = run(jobs, flat([4, 4]), solver=solver)
    figures = result.figures
    assert figures.finished == 600
    assert figures.queueing is not None
    assert figures.queueing.mean > 1.0
    assert figures.completion is not None
    rate = 600 / figures.makespan_s
    assert math.isclose(figures.jobs_in_system, rate * figures.completion.mean, rel_tol=1e-9)


def test_littles_law_with_failures() -> None:
    """The identity holds with interruptions and restarts too: they only make times in the system longer."""
    rng = np.random.default_rng(5)
    jobs = [job(f"j{i}", 2, 300.0 * i, float(rng.exponential(600.0)) + 1.0, restart_minutes=1.0) for i in range(200)]
    result = run(jobs, stormy(flat([4, 4]), 10.0), settings=Settings(weather=STORM))
    figures = result.figures
    assert figures.finished == 200
    assert figures.interruptions > 10
    assert figures.completion is not None
    assert math.isclose(figures.jobs_in_system, 200 / figures.makespan_s * figures.completion.mean, rel_tol=1e-9)


@pytest.mark.parametrize("solver", ["config-lp", "columns", "highs"])
def test_engines_keep_the_books(solver: str) -> None:
    """Solvers that do more than follow a queue get it in the policy's order, and give places that are right."""
    jobs, cluster = crowded(1)
    jobs = [change(member, arrival_s=member.arrival_s / 8) for member in jobs[:9]]
    settings = Settings(policy=Policy(solver=solver, order="sjf"), until_s=9000.0)
    auditor = Auditor(jobs, cluster, settings)
    assert simulate(trace(jobs), cluster, settings, watch=auditor).figures.finished > 3
