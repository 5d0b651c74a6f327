"""Failures: jobs interrupted once, faults that overlap, nodes out of service."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Node
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.weather import Change
from tests.simulate.build import (
    flat,
    job,
    racks,
    records,
    run,
    scripted,
    starts,
)


def test_a_job_is_interrupted_once_however_many_of_its_nodes_fail() -> None:
    """A switch with all four nodes of the job: one interruption, work lost once."""
    cluster = racks(2, 4, 1)
    changes = [Change(50.0, "fail", (0, 1, 2, 3)), Change(500.0, "repair", (0, 1, 2, 3))]
    engine = scripted([job("A", 4, 0.0, 100.0, checkpoint_minutes=0.5)], cluster, changes)
    member = engine.jobs[0]
    assert (member.interruptions, member.lost, member.starts) == (1, 20, 2)
    # It goes on at once in the other rack, from the checkpoint at 30.
    assert member.end == 50 + 70
    together = run([job("A", 4, 0.0, 100.0)], cluster, faults=[(f"r0n{i}", 50.0, 60.0) for i in range(4)])
    assert together.jobs[0].interruptions == 1


def test_a_node_is_up_when_its_last_fault_ends() -> None:
    """n0 fails at 10; its switch fails at 20; n0's repair at 30 does not bring it back, the switch's at 40 does."""
    changes = [
        Change(10.0, "fail", (0,)),
        Change(20.0, "fail", (0, 1)),
        Change(30.0, "repair", (0,)),
        Change(40.0, "repair", (0, 1)),
        Change(50.0, "fail", (0, 1)),
        Change(60.0, "fail", (1,)),
        Change(70.0, "repair", (0, 1)),
        Change(90.0, "repair", (1,)),
    ]
    seen: dict[float, tuple[bool, bool]] = {}

    def watch(engine: Engine) -> None:
        seen[engine.now] = (bool(engine.cluster.up[0]), bool(engine.cluster.up[1]))

    engine = scripted([job("A", 1, 0.0, 1.0), job("B", 1, 100.0, 1.0)], racks(2, 2, 1), changes, watch=watch)
    assert seen == {
        0.0: (True, True),
        1.0: (True, True),
        10.0: (False, True),
        20.0: (False, False),
        30.0: (False, False),
        40.0: (True, True),
        50.0: (False, False),
        60.0: (False, False),
        70.0: (True, False),
        90.0: (True, True),
        100.0: (True, True),
        101.0: (True, True),
    }
    # What goes down while it is down did not fail once more.
    assert engine.scheduler.failures.tolist() == [2, 2, 0, 0]


@pytest.mark.parametrize("state", ["drained", "down"])
def test_nodes_that_are_not_up_never_come_up(state: str) -> None:
    """The repair of a fault does not bring a drained node into service."""
    nodes = [Node(name="n0", gpus=2, state=state), Node(name="n1", gpus=1)]  # type: ignore[arg-type]
    seen = []
    result = run(
        [job("A", 1, 0.0, 100.0), job("B", 1, 0.0, 100.0), job("C", 2, 0.0, 1.0)],
        flat(nodes),
        faults=[("n0", 10.0, 20.0)],
        watch=lambda engine: seen.append(bool(engine.cluster.up[0])),
    )
    assert not any(seen)
    assert starts(result) == {"A": 0, "B": 100, "C": None}
    assert records(result)["C"].state == "rejected"
    # Nor is it counted among those that are down by failure.
    assert result.figures.node_down_share == 0
