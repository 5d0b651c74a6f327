"""What policies do: orders, backfill, window, rounds, migrations, reactions to failures, each by hand."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.instance import Node
from crop_cli.model.problem import Counts, Problem
from crop_cli.simulate.settings import Order, Settings
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from tests.simulate.audit import Places
from tests.simulate.build import STORM, change, crowded, ends, flat, job, records, run, scripted, split, starts, stormy

# One GPU, held by L until 100 s; X, Y and Z wait.
QUEUED = [
    job("L", 1, 0.0, 100.0),
    job("X", 1, 10.0, 50.0, weight=1.0),
    job("Y", 1, 20.0, 20.0, weight=2.0),
    job("Z", 1, 30.0, 30.0, weight=3.0),
]


@pytest.mark.parametrize("backfill", [True, False])
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("fifo", {"X": 100, "Y": 150, "Z": 170}),
        ("sjf", {"Y": 100, "Z": 120, "X": 150}),
        ("weight", {"Z": 100, "Y": 130, "X": 150}),
        ("las", {"X": 100, "Y": 150, "Z": 170}),
    ],
)
def test_orders_by_hand(order: Order, expected: dict[str, float], backfill: bool) -> None:
    """Who starts when, with and without backfill: solvers get the queue in the policy's order."""
    found = starts(run(QUEUED, flat([1]), order=order, backfill=backfill))
    assert found == {"L": 0, **expected}


def test_the_greedy_keeps_the_order_among_equals() -> None:
    """Of jobs that are worth the same the quick greedy takes the first of the queue."""
    jobs = [change(member, weight=1.0) for member in QUEUED]
    assert starts(run(jobs, flat([1]), order="sjf", solver="greedy")) == {"L": 0, "Y": 100, "Z": 120, "X": 150}


@pytest.mark.parametrize(("order", "first"), [("fifo", "L"), ("las", "X"), ("sjf", "X")])
def test_an_interrupted_job_takes_its_place_in_the_order(order: Order, first: str) -> None:
    """At 70 s, when n0 is up again, L has held a GPU for 60 s and has 40 s left; X came at 10 s and needs 30."""
    jobs = [job("L", 1, 0.0, 100.0), job("X", 1, 10.0, 30.0)]
    found = ends(run(jobs, flat([1]), faults=[("n0", 60.0, 70.0)], order=order))
    assert found == ({"L": 110, "X": 140} if first == "L" else {"X": 100, "L": 140})


def test_backfill_by_hand() -> None:
    """The small job slips past the one that does not fit only if it may."""
    jobs = [job("A", 1, 0.0, 100.0), job("B", 2, 10.0, 10.0), job("C", 1, 20.0, 30.0)]
    assert starts(run(jobs, flat([2]))) == {"A": 0, "B": 100, "C": 20}
    assert starts(run(jobs, flat([2]), backfill=False)) == {"A": 0, "B": 100, "C": 110}


@pytest.mark.parametrize("solver", ["first-fit", "greedy", "kai"])
@pytest.mark.parametrize("seed", range(4))
def test_strict_fifo_never_overtakes(seed: int, solver: str) -> None:
    """Without backfill no job starts before one that came earlier, whatever their sizes."""
    rng = np.random.default_rng(seed)
    jobs = [
        job(f"j{i}", int(rng.integers(1, 9)), float(at), float(rng.exponential(60.0)) + 1.0)
        for i, at in enumerate(np.cumsum(rng.exponential(20.0, 80)))
    ]
    result = run(jobs, flat([4, 4]), backfill=False, solver=solver)
    begun = [record.first_start for record in result.jobs]
    assert None not in begun
    assert begun == sorted(begun)  # type: ignore[type-var]
    assert result.figures.queueing is not None
    assert result.figures.queueing.mean > 10.0


def test_strict_fifo_minds_what_the_same_round_took() -> None:
    """Two gangs that come together do not overbook an uplink under a solver that keeps to its limit.

    Each is on both nodes and reserves 0.5 of 0.9 Gbit/s (125 MB, 1 s of computation and 125·8/900 s on the link: 0.47).
    """
    nodes = [Node(name=f"n{i}", gpus=2, uplink_gbps=0.9) for i in range(2)]
    gang = {"message_mb": 125.0, "gpus_per_node": 1}
    jobs = [job("A", 2, 0.0, 100.0, **gang), job("B", 2, 0.0, 100.0, **gang)]
    end = ends(run(jobs, flat(nodes), backfill=False, solver="greedy"))["A"]
    assert end is not None
    assert starts(run(jobs, flat(nodes), backfill=False, solver="greedy")) == {"A": 0, "B": end}
    assert starts(run(jobs, flat(nodes), backfill=False, solver="first-fit")) == {"A": 0, "B": 0}


def test_the_window_hides_what_is_behind_it() -> None:
    """With a window of one, nobody passes the first of the queue; with two, the second may."""
    jobs = [job("A", 1, 0.0, 100.0), job("B", 2, 10.0, 10.0), job("C", 1, 20.0, 30.0)]
    assert starts(run(jobs, flat([2]), window=1)) == {"A": 0, "B": 100, "C": 110}
    assert starts(run(jobs, flat([2]), window=2)) == {"A": 0, "B": 100, "C": 20}


@pytest.mark.parametrize("solver", ["first-fit", "greedy"])
def test_the_window_fills_up_again_at_once(solver: str) -> None:
    """Ten jobs that come together on an empty cluster all start then, though the solver sees three at a time."""
    jobs = [job(f"j{i}", 1, 5.0, 100.0) for i in range(10)]
    result = run(jobs, flat([4, 4]), window=3, solver=solver)
    assert sorted(starts(result).values()) == [5.0] * 8 + [105.0] * 2  # type: ignore[type-var]


def test_rounds_by_hand() -> None:
    """Starts wait for the next minute; a job that comes on the minute does not."""
    jobs = [job("A", 1, 10.0, 100.0), job("B", 1, 120.0, 30.0), job("C", 2, 121.0, 10.0)]
    found = run(jobs, flat([2]), round_s=60.0)
    assert starts(found) == {"A": 60, "B": 120, "C": 180}
    assert ends(found) == {"A": 160, "B": 150, "C": 190}


def test_rounds_start_jobs_at_multiples_only() -> None:
    """Every start, also after failures, is at a multiple of the round."""
    jobs, cluster = crowded(5)
    places = Places()
    settings = Settings(weather=STORM, until_s=60_000.0)
    run(jobs, stormy(cluster), settings=settings, round_s=37.0, watch=places)
    assert len(places.seen) > 20
    assert all(abs(now / 37.0 - round(now / 37.0)) < 1e-6 for now, _, _ in places.seen)


@pytest.mark.parametrize(("stated", "minutes"), [(0.0, 5.0), (2.0, 2.0)])
def test_a_move_by_hand(stated: float, minutes: float) -> None:
    """C moves to n0 at 150 s with the 70 s it has done, and pays its minutes, or the policy's; E takes its GPU on n1.

    C goes on at 150 + 60·minutes and needs 130 s more. No restart is paid, no work is lost.
    """
    jobs, cluster = split()
    jobs[2] = change(jobs[2], migration_minutes=stated)
    places = Places()
    result = run(jobs, cluster, solver="greedy", migrations=1, watch=places)
    found = records(result)
    assert places.of("C") == [(10, {"n0": 1, "n1": 1}), (150, {"n0": 2})]
    assert found["E"].first_start == 150
    assert found["C"].end == pytest.approx(150 + 60 * minutes + 130)
    assert (found["C"].moves, found["C"].starts, found["C"].lost, found["C"].interruptions) == (1, 1, 0, 0)
    assert found["C"].service == pytest.approx(2 * (found["C"].end or 0.0) - 20)


def test_without_migrations_nobody_moves() -> None:
    """C stays on both nodes until it is done, at 10 + 400; E waits for it."""
    jobs, cluster = split()
    found = records(run(jobs, cluster, solver="greedy"))
    assert (found["C"].end, found["E"].first_start, found["C"].moves) == (410, 410, 0)


def test_a_moved_job_that_fails_has_its_work_from_the_move() -> None:
    """A move saves: n0 fails at 160 s, while C still moves; of its 70 s nothing is lost."""
    jobs, cluster = split()
    found = records(run(jobs, cluster, solver="greedy", migrations=1, faults=[("n0", 160.0, 170.0)]))["C"]
    assert (found.lost, found.interruptions) == (0, 1)
    # Half an hour of restart, then 130 s.
    assert found.end == pytest.approx(170 + 1800 + 130)


def test_a_job_that_moves_or_restarts_is_not_moved() -> None:
    """Jobs in a restart stay: a move would cut it short. C is interrupted at 120 s and restarts until 1,925."""
    jobs, cluster = split()
    result = run(jobs, cluster, solver="greedy", migrations=4, faults=[("n0", 120.0, 125.0)])
    found = records(result)["C"]
    assert found.interruptions == 1
    assert found.end is not None
    assert found.end >= 125 + 1800


def test_an_unknown_solver_or_option_is_refused() -> None:
    """Before anything is simulated, or with the first round."""
    with pytest.raises(UsageError):
        run([job("A", 1, 0.0, 1.0)], flat([1]), solver="nobody")
    with pytest.raises(UsageError):
        run([job("A", 1, 0.0, 1.0)], flat([1]), options={"nothing": "1"})


@pytest.mark.parametrize(
    ("counts", "message"), [({0: 1}, "a part of job 'A'"), ({0: 3}, "a part of job 'A'"), ({1: 2}, "more on node 'n1'")]
)
def test_what_a_solver_must_not_answer(counts: Counts, message: str) -> None:
    """Gangs in part and places without room are defects of the solver, said with names."""

    def wrong(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
        return Answer({0: counts}, "completed")

    engine = scripted([job("A", 2, 0.0, 1.0)], flat([2, 1]), [])
    scheduler = engine.scheduler
    scheduler.solver = wrong
    engine.jobs[0].phase = "waiting"
    engine.queue.add(engine.jobs[0])
    with pytest.raises(BackendError, match=message):
        scheduler.decide(5.0, engine.queue, engine.cluster)
