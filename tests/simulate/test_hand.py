"""Traces worked out by hand, to the second."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Node
from crop_cli.simulate.settings import Settings
from crop_cli.simulate.weather import Change
from tests.simulate.build import flat, job, records, run, scripted

# Two nodes n0 and n1 of two GPUs each; strict queue in order of arrival, first fit; n0 is down from 700 s to 900 s.
#
#      GPUs  arrives  needs  checkpoints      restart
#   A     2        0   1000  every 5 minutes  1 minute
#   B     1        0    400
#   C     2      100    300
#   D     1      150    200
#   E     4      200    100
#
#      0  A starts on n0 (2 of 2), B on n1 (1 of 2).
#    100  C comes: 1 GPU is free, it waits.
#    150  D comes: 1 GPU is free, but C is before it.
#    200  E comes.
#    300  A's first checkpoint.
#    400  B ends. C starts on n1.
#    600  A's second checkpoint.
#    700  C ends first (400 + 300). Then n0 fails: A has done 700, the checkpoint has 600, 100 are lost. A is first in
#         the queue by arrival and starts again on n1; it restarts until 760. D: nothing is free.
#    900  n0 is up. D starts there. E wants four GPUs.
#   1060  A's checkpoint (300 s after its restart), at 900 of work.
#   1100  D ends (900 + 200).
#   1160  A ends: 760 + (1000 − 600). E starts on both nodes.
#   1260  E ends.
JOBS = [
    job("A", 2, 0.0, 1000.0, checkpoint_minutes=5.0, restart_minutes=1.0),
    job("B", 1, 0.0, 400.0),
    job("C", 2, 100.0, 300.0),
    job("D", 1, 150.0, 200.0),
    job("E", 4, 200.0, 100.0),
]
FAULTS = [("n0", 700.0, 900.0)]


@pytest.mark.parametrize("solver", ["first-fit", "greedy", "kai"])
def test_five_jobs_and_a_failure(solver: str) -> None:
    """Starts, ends, work lost and GPU-seconds of five jobs of which one is interrupted."""
    result = run(JOBS, flat([2, 2]), faults=FAULTS, solver=solver, backfill=False)
    found = records(result)
    assert {name: r.first_start for name, r in found.items()} == {"A": 0, "B": 0, "C": 400, "D": 900, "E": 1160}
    assert {name: r.end for name, r in found.items()} == {"A": 1160, "B": 400, "C": 700, "D": 1100, "E": 1260}
    assert {name: r.lost for name, r in found.items()} == {"A": 100, "B": 0, "C": 0, "D": 0, "E": 0}
    assert {name: r.starts for name, r in found.items()} == {"A": 2, "B": 1, "C": 1, "D": 1, "E": 1}
    assert {name: r.interruptions for name, r in found.items()} == {"A": 1, "B": 0, "C": 0, "D": 0, "E": 0}
    # A held two GPUs for 700 s and from 700 to 1160.
    assert {name: r.service for name, r in found.items()} == {"A": 2320, "B": 400, "C": 600, "D": 200, "E": 400}


def test_figures_of_the_five_jobs() -> None:
    """Figures over all five, from the table above."""
    figures = run(JOBS, flat([2, 2]), faults=FAULTS, backfill=False).figures
    useful = 2 * 1000 + 400 + 2 * 300 + 200 + 4 * 100
    held = 2320 + 400 + 600 + 200 + 400
    up = 4 * 1260 - 2 * 200
    assert (figures.finished, figures.makespan_s, figures.interruptions) == (5, 1260, 1)
    assert figures.goodput == pytest.approx(useful / 1260)
    # All compute a second per iteration.
    assert figures.throughput == pytest.approx(useful / 1260)
    assert figures.gpu_s_held == figures.gpu_s_busy == held
    assert figures.utilisation == pytest.approx(held / up)
    assert figures.efficiency == pytest.approx(useful / held)
    assert figures.lost_gpu_s == 200
    assert figures.communication_overhead == 0
    # Free on nodes that are up while a job waits: one GPU from 100 to 400, one beside D from 900 to 1100, two to 1160.
    assert figures.fragmentation == pytest.approx((300 * 1 + 200 * 1 + 60 * 2) / up)
    assert figures.node_down_share == pytest.approx(200 / 1260 / 2)
    times = {"A": 1160, "B": 400, "C": 600, "D": 950, "E": 1060}
    assert figures.jobs_in_system == pytest.approx(sum(times.values()) / 1260)
    assert figures.completion is not None
    assert figures.completion.mean == pytest.approx(sum(times.values()) / 5)
    assert (figures.completion.median, figures.completion.highest) == (950, 1160)
    assert figures.queueing is not None
    assert figures.queueing.mean == pytest.approx((0 + 0 + 300 + 750 + 960) / 5)
    assert figures.finish_ratio is not None
    assert figures.finish_ratio.mean == pytest.approx((1.16 + 1 + 2 + 4.75 + 10.6) / 5)


def test_a_failure_during_a_restart() -> None:
    """Two failures, the second one before the restart is over: nothing more is lost, the restart begins again.

    0: starts. 100 s: one checkpoint at 60, 40 s lost, n0 is down to 110. 110: restart of 120 s. 150: down to 160,
    nothing was done. 160: restart until 280, from 60 s of work on; the 240 s left end at 520.
    """
    found = records(
        run(
            [job("A", 2, 0.0, 300.0, checkpoint_minutes=1.0, restart_minutes=2.0)],
            flat([2]),
            faults=[("n0", 100.0, 110.0), ("n0", 150.0, 160.0)],
        )
    )["A"]
    assert (found.end, found.lost, found.interruptions, found.starts) == (520, 40, 2, 3)
    # Held: 0 to 100, 110 to 150, 160 to 520.
    assert found.service == 2 * (100 + 40 + 360)


def test_a_failure_at_the_moment_of_a_checkpoint() -> None:
    """A checkpoint at the very second of the failure counts, and a job without checkpoints loses nothing."""
    jobs = [job("A", 1, 0.0, 300.0, checkpoint_minutes=1.0), job("B", 1, 0.0, 300.0)]
    found = records(run(jobs, flat([2]), faults=[("n0", 120.0, 200.0)]))
    assert (found["A"].lost, found["A"].end) == (0, 380)
    assert (found["B"].lost, found["B"].end) == (0, 380)


def test_checkpoints_on_a_slow_node() -> None:
    """Checkpoints come by the clock, what they hold by the work done.

    n0 computes at two thirds (slowed down by 1.5) from 30 s to 90 s: 30 s of work, then 40 s in 60 s. The checkpoint
    at 60 has 30 + 20 = 50, that at 120 has 30 + 40 + 30 = 100. At 150 it has done 130 and loses 30. Up at 160 it has
    100 and needs 200 more: 360.
    """
    changes = [
        Change(30.0, "slow", (0,)),
        Change(90.0, "recover", (0,)),
        Change(150.0, "fail", (0,)),
        Change(160.0, "repair", (0,)),
    ]
    engine = scripted([job("A", 2, 0.0, 300.0, checkpoint_minutes=1.0)], flat([2]), changes)
    member = engine.jobs[0]
    assert member.lost == pytest.approx(30)
    assert member.end == pytest.approx(360)


def test_communication_and_computation() -> None:
    """A gang on two nodes: iterations, rate, and the share of time that waits for the network.

    k = 2, all-reduce of 125 MB: 2·125·(1/2) = 125 MB over each node's uplink of 1 Gbit/s, 1 s; computation takes 1 s on
    n0 and 1.25 s on n1, which is slow in the file. T = 1.25 + 1 = 2.25, the rate 1/2.25, so that 100 s of work take
    225 s, of which 100 s, a share of 1/2.25, wait for the network.
    """
    nodes = [
        Node(name="n0", gpus=1, uplink_gbps=1.0),
        Node(name="n1", gpus=1, uplink_gbps=1.0, slowdown=1.25),
    ]
    result = run([job("A", 2, 0.0, 100.0, message_mb=125.0)], flat(nodes), settings=Settings())
    assert records(result)["A"].end == pytest.approx(225)
    assert result.figures.communication_overhead == pytest.approx(1 / 2.25)
    assert result.figures.efficiency == pytest.approx(1 / 2.25)


def test_a_type_that_is_not_the_fastest() -> None:
    """Durations count on the fastest type that the job knows: on one half as fast, it takes twice as long."""
    nodes = [Node(name="n0", gpus=1, gpu_type="old")]
    result = run([job("A", 1, 5.0, 100.0, compute_s={"old": 0.4, "new": 0.2})], flat(nodes))
    assert records(result)["A"].end == pytest.approx(205)
    # 100 s of work at 0.2 s per iteration are 500 iterations, in the 200 s of the simulation.
    assert result.figures.throughput == pytest.approx(2.5)
