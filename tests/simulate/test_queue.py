"""The waiting jobs: orders by hand, and against sorting from scratch."""

from __future__ import annotations

import random

import pytest

from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.queue import RANK, Queue
from crop_cli.simulate.settings import Order


def _job(index: int, arrival: float, **fields: float) -> SimJob:
    data = {"duration": 100.0, "weight": 1.0, **fields}
    return SimJob(
        index=index,
        name=f"j{index}",
        gpus=1,
        arrival=arrival,
        checkpoint_s=0.0,
        restart_s=0.0,
        best_s=1.0,
        overlap=0.0,
        **data,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("order", "expected"),
    [("fifo", [0, 1, 2, 3]), ("sjf", [2, 0, 1, 3]), ("las", [3, 0, 1, 2]), ("weight", [1, 3, 0, 2])],
)
def test_orders_by_hand(order: Order, expected: list[int]) -> None:
    """Arrival; work left; GPU-seconds so far; weight, each with ties by arrival."""
    jobs = [
        _job(0, 0.0, duration=50.0, service=20.0),
        _job(1, 1.0, duration=90.0, done=40.0, service=20.0, weight=3.0),
        _job(2, 2.0, duration=30.0, service=70.0),
        _job(3, 3.0, duration=200.0, service=0.0, weight=2.0),
    ]
    queue = Queue(order)
    for job in reversed(jobs):
        queue.add(job)
    assert [job.index for job in queue] == expected
    assert [job.index for job in queue.first(2)] == expected[:2]
    assert len(queue) == 4


def test_same_arrival_goes_by_the_trace() -> None:
    """Jobs that come at the same time keep the order of the trace."""
    queue = Queue("fifo")
    for index in (2, 0, 1):
        queue.add(_job(index, 5.0))
    assert [job.index for job in queue] == [0, 1, 2]


@pytest.mark.parametrize("order", list(RANK))
def test_adding_and_removing_keeps_the_order(order: Order) -> None:
    """After any mixture of additions and removals the queue is what sorting its jobs gives."""
    rng = random.Random(1)
    queue, members = Queue(order), {}
    for index in range(300):
        job = _job(index, float(rng.randint(0, 20)), duration=float(rng.randint(1, 9)), weight=float(rng.randint(1, 3)))
        queue.add(job)
        members[index] = job
        if rng.random() < 0.6:
            gone = rng.choice(sorted(members))
            queue.remove(members.pop(gone))
        if rng.random() < 0.5:
            ranked = sorted(members.values(), key=lambda j: (RANK[order](j), j.arrival, j.index))
            assert list(queue) == ranked
            assert queue.first(3) == ranked[:3]
    assert len(queue) == len(members)


def test_an_empty_queue() -> None:
    """Nothing in it, nothing first."""
    queue = Queue("las")
    assert len(queue) == 0
    assert queue.first(5) == []
