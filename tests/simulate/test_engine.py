"""The event loop: the end of a simulation, jobs that cannot run, simultaneous events, failures, memory."""

from __future__ import annotations

import math

import msgspec
import pytest

from crop_cli.errors import InputError
from crop_cli.model.instance import Job, Node
from crop_cli.simulate.engine import STALE, Engine
from crop_cli.simulate.metrics import MOST_SAMPLES
from crop_cli.simulate.records import Figures, Simulation
from crop_cli.simulate.settings import Policy, Settings
from crop_cli.simulate.weather import Change
from tests.simulate.build import (
    STORM,
    change,
    crowded,
    ends,
    flat,
    job,
    records,
    run,
    scripted,
    starts,
    stormy,
    tiny_trace,
)


def _lasting(result: Simulation) -> bytes:
    """All of a simulation but the wall clock."""
    figures = change(result.figures, decision_s=0.0, longest_decision_s=0.0)
    return msgspec.json.encode(change(result, figures=figures))


@pytest.mark.parametrize("solver", ["greedy", "first-fit", "random", "anneal"])
def test_the_same_seed_gives_the_same_simulation(solver: str) -> None:
    """Every record, figure and sample is the same; another seed has another weather."""
    jobs, cluster = crowded(1)
    cluster = stormy(cluster)

    def once(seed: int) -> Simulation:
        settings = Settings(weather=STORM, seed=seed, until_s=15_000.0)
        options = {"steps": "50"} if solver == "anneal" else {}
        return run(jobs, cluster, settings=settings, solver=solver, reaction="aware", options=options)

    first = once(0)
    assert _lasting(first) == _lasting(once(0))
    assert _lasting(first) != _lasting(once(1))


def test_an_empty_trace() -> None:
    """Nothing happens; all figures are there."""
    result = run([], flat([2]))
    assert result.jobs == []
    assert isinstance(result.figures, Figures)
    assert (result.figures.finished, result.figures.makespan_s, result.figures.completion) == (0, 0, None)
    assert run([], flat([2]), settings=Settings(weather=STORM)).figures.makespan_s == 0


def test_a_cluster_without_gpus() -> None:
    """Every job is rejected, no figure is infinite."""
    result = run([job("A", 1, 0.0, 1.0)], flat([0]))
    assert result.jobs[0].state == "rejected"
    assert all(math.isfinite(value) for value in msgspec.structs.astuple(result.figures) if isinstance(value, float))


def test_an_end_cuts_jobs_off() -> None:
    """At 150 s: A is done, B has run for 60 s, C waits, D has not come. Figures are those of 150 s.

    A holds two GPUs to 90, B two from 90: 2·150 in all. C waits from 100 on. n1 (1 GPU) is down from 120.
    """
    jobs = [job("A", 2, 0.0, 90.0), job("B", 2, 10.0, 100.0), job("C", 2, 100.0, 10.0), job("D", 1, 200.0, 5.0)]
    result = run(jobs, flat([2, 1]), faults=[("n1", 120.0, 500.0)], settings=Settings(until_s=150.0))
    found, figures = records(result), result.figures
    assert [found[name].state for name in "ABCD"] == ["finished", "running", "waiting", "waiting"]
    assert (found["B"].done, found["B"].service, found["B"].end) == (60, 120, None)
    assert (figures.finished, figures.running, figures.waiting, figures.makespan_s) == (1, 1, 2, 150)
    assert figures.gpu_s_held == figures.gpu_s_busy == 300
    assert figures.goodput == pytest.approx((2 * 90 + 2 * 60) / 150)
    up = 3 * 150 - 30
    assert figures.utilisation == pytest.approx(300 / up)
    # One GPU of n1 is free while B waits (10 to 90) and while C waits and n1 is up (100 to 120).
    assert figures.fragmentation == pytest.approx((80 + 20) / up)
    assert figures.node_down_share == pytest.approx(30 / 150 / 2)
    assert figures.jobs_in_system == pytest.approx((90 + 140 + 50) / 150)


def test_until_the_end_nodes_fail_even_if_no_job_is_left() -> None:
    """The job ends at 10 s, n0 is down from 40 to 90 s and from 95 s on, the end is at 100 s."""
    settings = Settings(until_s=100.0)
    faults = [("n0", 40.0, 90.0), ("n0", 95.0, 300.0)]
    figures = run([job("A", 1, 0.0, 10.0)], flat([1, 1]), faults=faults, settings=settings).figures
    assert figures.makespan_s == 100
    assert figures.node_down_share == pytest.approx(55 / 100 / 2)
    assert figures.utilisation == pytest.approx(10 / (200 - 55))
    # Without an end it is over with the last job.
    assert run([job("A", 1, 0.0, 10.0)], flat([1, 1]), faults=faults).figures.makespan_s == 10


def test_an_end_at_a_completion_and_before_the_first_job() -> None:
    """What happens at the end still happens; an end before the first arrival leaves all jobs waiting."""
    assert run([job("A", 1, 5.0, 10.0)], flat([1]), settings=Settings(until_s=15.0)).jobs[0].end == 15
    early = run([job("A", 1, 5.0, 10.0)], flat([1]), settings=Settings(until_s=2.0))
    assert (early.jobs[0].state, early.figures.makespan_s, early.figures.gpu_s_held) == ("waiting", 0, 0)


def test_time_begins_with_the_first_job() -> None:
    """What happened before it counts for what is up, not for the figures: n1 fails at 10 and is up at 1,050."""
    result = run([job("A", 2, 1000.0, 100.0)], flat([1, 1]), faults=[("n1", 10.0, 1050.0)])
    assert (result.jobs[0].first_start, result.figures.makespan_s) == (1050, 150)
    assert result.figures.node_down_share == pytest.approx(50 / 150 / 2)


def test_jobs_that_can_never_run_are_rejected_with_a_reason() -> None:
    """No node of a type; a gang too large, for the cluster, or beside a job that stays; the others are not held up."""
    nodes = [Node(name="n0", gpus=4, gpu_type="a"), Node(name="n1", gpus=4, gpu_type="a", used={"gpus": 1.0})]
    resident = Job(name="stays", gpus=2, placement={"n0": 2}, compute_s={"a": 1.0})
    jobs = [
        job("typeless", 1, 0.0, 1.0, compute_s={"b": 1.0}),
        job("large", 9, 1.0, 1.0),
        job("beside", 6, 2.0, 1.0),
        job("fine", 5, 3.0, 1.0),
        job("shaped", 2, 1e9, 1.0, gpus_per_node=1, within="node"),
    ]
    result = run(jobs, flat(nodes, [resident]), backfill=False)
    found = records(result)
    assert {name: r.state for name, r in found.items()} == {
        "typeless": "rejected",
        "large": "rejected",
        "beside": "rejected",
        "fine": "finished",
        "shaped": "rejected",
    }
    assert found["typeless"].reason == "the cluster has no node of a type that it may use"
    assert found["large"].reason is not None
    assert found["large"].reason.startswith("its gang of 9 does not fit")
    # Rejected jobs leave no trace in the figures.
    assert (result.gpus, result.figures.makespan_s, result.figures.rejected) == (5, 1, 4)


def test_jobs_that_stay_may_have_any_names() -> None:
    """Names of the cluster's jobs give way to those of the trace."""
    residents = [Job(name=name, gpus=1, placement={"n0": 1}) for name in ("A", "A'", "A''")]
    result = run([job("A", 1, 0.0, 1.0), job("A'", 1, 0.0, 1.0)], flat([5], residents))
    assert ends(result) == {"A": 1, "A'": 1}
    assert result.gpus == 2


def test_jobs_of_the_cluster_that_do_not_stay_are_left_aside() -> None:
    """Waiting jobs and running ones that may be moved do not hold a GPU."""
    others = [Job(name="waits", gpus=1), Job(name="moves", gpus=2, placement={"n0": 2}, movable=True)]
    assert run([job("A", 2, 0.0, 1.0)], flat([2], others)).jobs[0].end == 1


def test_a_trace_that_does_not_go_with_the_cluster_is_refused() -> None:
    """A level that the cluster does not have is a defect of the input."""
    with pytest.raises(InputError, match="rack"):
        run([job("A", 1, 0.0, 1.0, within="rack")], flat([1]))


def test_everything_at_once() -> None:
    """At 100 s A ends, n1 is up again, n2 fails under B, C comes: completion, repair, failure, arrival, then the round.

    B, first by arrival, and C find n0 and n1 free. Had the round come before the repair, one of them would wait.
    """
    jobs = [job("A", 1, 0.0, 100.0), job("B", 1, 0.0, 150.0), job("C", 1, 100.0, 10.0)]
    faults = [("n1", 0.0, 100.0), ("n2", 100.0, 1000.0)]
    result = run(jobs, flat([1, 1, 1]), faults=faults)
    found = records(result)
    assert (found["A"].end, found["A"].interruptions) == (100, 0)
    assert (found["B"].end, found["B"].interruptions, found["B"].starts) == (150, 1, 2)
    assert (found["C"].first_start, found["C"].end) == (100, 110)


def test_a_job_that_ends_when_its_node_fails_is_done() -> None:
    """Completions come before failures."""
    found = run([job("A", 1, 0.0, 50.0)], flat([1]), faults=[("n0", 50.0, 60.0)]).jobs[0]
    assert (found.state, found.end, found.interruptions) == ("finished", 50, 0)


def test_jobs_that_end_together() -> None:
    """Four jobs end at one moment, and four others start then."""
    jobs = [job(f"j{i}", 1, 0.0, 10.0) for i in range(8)]
    assert sorted(ends(run(jobs, flat([4]))).values()) == [10.0] * 4 + [20.0] * 4  # type: ignore[type-var]


@pytest.mark.parametrize("sharing", ["load", "max-min"])
def test_foreseen_completions_do_not_pile_up(sharing: str) -> None:
    """Rates change thousands of times; the heap keeps to a small multiple of the jobs that run."""
    jobs, cluster = crowded(2)
    changes = [Change(5.0 * i, "slow" if i % 2 else "recover", tuple(range(6))) for i in range(1, 1500)]
    most = versions = 0

    def watch(engine: Engine) -> None:
        nonlocal most, versions
        versions = max(versions, *(member.version for member in engine.jobs))
        most = max(most, len(engine.ends) - STALE[0] * len(engine.cluster.running))

    settings = Settings(policy=Policy(solver="spread"), sharing=sharing)  # type: ignore[arg-type]
    scripted(jobs, cluster, changes, settings=settings, watch=watch)
    assert versions > 300
    # A round may end jobs after the last look at the heap: as many as the cluster has GPUs.
    assert most <= STALE[1] + STALE[0] * 24


def test_the_series_stays_short() -> None:
    """More events than samples: every second one is dropped, again and again; they are in order and add up."""
    jobs = [job(f"j{i}", 1, float(i), 0.5) for i in range(1500)]
    result = run(jobs, flat([2]))
    assert MOST_SAMPLES / 2 - 1 <= len(result.series) <= MOST_SAMPLES + 1
    times = [sample.time for sample in result.series]
    assert times == sorted(times)
    assert all(s.gpus_held + s.gpus_free == s.gpus_up == 2 for s in result.series)
    assert times[-1] == 1499.5


def test_samples_by_hand() -> None:
    """After every event: jobs, GPUs, goodput; a job that restarts has none."""
    result = run(
        [job("A", 2, 0.0, 100.0, restart_minutes=1.0), job("B", 2, 10.0, 5.0)], flat([2]), faults=[("n0", 50.0, 60.0)]
    )
    rows = [(s.time, s.running, s.waiting, s.gpus_held, s.gpus_free, s.gpus_up, s.goodput) for s in result.series]
    assert rows == [
        (0, 1, 0, 2, 0, 2, 2),
        (10, 1, 1, 2, 0, 2, 2),
        (50, 0, 2, 0, 0, 0, 0),
        (60, 1, 1, 2, 0, 2, 0),
        (170, 1, 0, 2, 0, 2, 2),
        (175, 0, 0, 0, 2, 2, 0),
    ]


def test_jobs_may_come_in_any_order() -> None:
    """A trace built by hand need not be sorted; records keep its order."""
    result = run([job("B", 1, 50.0, 10.0), job("A", 1, 0.0, 10.0)], flat([1]))
    assert [record.name for record in result.jobs] == ["B", "A"]
    assert starts(result) == {"B": 50, "A": 0}


def test_required_jobs_of_a_trace_wait_like_all_others() -> None:
    """In a simulation nobody is required: a round without room for such a job is no failure."""
    jobs = [job("A", 2, 0.0, 10.0), job("B", 2, 1.0, 10.0, required=True), job("C", 1, 2.0, 1.0)]
    assert starts(run(jobs, flat([3]), solver="greedy")) == {"A": 0, "B": 10, "C": 2}


def test_tiny_worlds_end_by_themselves() -> None:
    """Without an end and in all weathers, random small traces come to one."""
    for seed in range(10):
        jobs, cluster = tiny_trace(seed, copies=2)
        result = run(jobs, stormy(cluster), settings=Settings(weather=STORM))
        assert result.figures.finished + result.figures.rejected == len(jobs)
