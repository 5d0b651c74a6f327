"""When a simulation gives up, and jobs that nothing but the policy keeps from running."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Node
from crop_cli.simulate import engine as engine_module
from crop_cli.simulate.settings import Policy, Settings, Weather
from tests.simulate.build import change, flat, job, records, run


def test_a_simulation_that_gets_nowhere_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that fails more often than it checkpoints never finishes: after some time without progress it is over."""
    monkeypatch.setattr(engine_module, "PATIENCE", (20 * 86_400.0, 2.0))
    cluster = flat([Node(name="n0", gpus=1, failures_per_day=4.0)])
    weather = Weather(rates=True, repair_median_h=0.1, repair_sigma=0.1)
    jobs = [job("short", 1, 0.0, 60.0), job("A", 1, 60.0, 3 * 86_400.0, checkpoint_minutes=1e5)]
    result = run(jobs, cluster, settings=Settings(weather=weather))
    found = records(result)
    assert found["short"].state == "finished"
    assert found["A"].state in ("running", "waiting")
    assert found["A"].interruptions > 20
    assert 19 * 86_400 < result.figures.makespan_s <= 20 * 86_400 + 60


def test_patience_lasts_for_long_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that needs longer than the shortest patience is waited for."""
    monkeypatch.setattr(engine_module, "PATIENCE", (100.0, 20.0))
    assert run([job("A", 1, 0.0, 5000.0)], flat([1]), faults=[("n0", 4000.0, 4100.0)]).jobs[0].end == 5100


def test_patience_lasts_for_slow_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gang whose network makes it take 1,001 times its duration is waited for, in bad weather, too."""
    monkeypatch.setattr(engine_module, "PATIENCE", (100.0, 20.0))
    cluster = flat([Node(name=f"n{i}", gpus=1, uplink_gbps=8.0) for i in range(2)])
    gang = job("A", 2, 0.0, 100.0, message_mb=1e6)
    after = job("B", 1, 1.0, 10.0)
    for faults in ([], [("n0", 50_000.0, 50_010.0)], [("n1", 90_000.0, 90_050.0)]):
        result = run([gang, after], cluster, faults=faults)
        assert [found.state for found in result.jobs] == ["finished", "finished"]
        assert result.jobs[0].end >= 100_100


@pytest.mark.parametrize("backfill", [True, False])
@pytest.mark.parametrize("solver", ["greedy", "exact"])
def test_an_idle_cluster_starts_whatever_fits(solver: str, backfill: bool) -> None:
    """Where cuts cost more than gangs are worth each has to wait until nothing runs, but not for ever."""
    cluster = flat([1, 1])
    cluster = change(cluster, objective=change(cluster.objective, cut_penalty=5.0))
    policy = Policy(solver=solver, backfill=backfill)
    jobs = [job("big", 3, 0.0, 10.0), *(job(name, 2, 0.0, 10.0) for name in "AB")]
    result = run(jobs, cluster, settings=Settings(policy=policy))
    assert [(found.state, found.end) for found in result.jobs] == [
        ("rejected", None),
        ("finished", 10),
        ("finished", 20),
    ]


def test_a_gang_starts_before_anything_is_known_about_failures() -> None:
    """At the start of a trace failures are estimated high: a gang over all nodes runs all the same."""
    cluster = flat([1] * 16)
    gang = job("A", 16, 0.0, 100.0, checkpoint_minutes=10_000.0)
    result = run([gang], cluster, settings=Settings(policy=Policy(solver="greedy", reaction="aware")))
    assert result.jobs[0].end == 100


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_job_that_does_nothing() -> None:
    """Where a node is slower than any number the job on it waits for the recovery."""
    cluster = flat([Node(name="n0", gpus=1)])
    weather = Weather(slow_per_day=1e9, slow_factor=1e308, slow_hours=1e-3)
    result = run([job("A", 1, 0.0, 10.0, compute_s=10.0)], cluster, settings=Settings(weather=weather, until_s=1000.0))
    assert (result.jobs[0].state, result.jobs[0].service) == ("running", 1000.0)
