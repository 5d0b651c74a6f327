"""How fast jobs run: alone, on shared uplinks by load and max-min, on slow nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crop_cli.model.instance import Instance, Node, Spread
from crop_cli.model.trace import TraceJob, job_of
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.settings import Settings
from crop_cli.simulate.weather import Change
from tests.simulate.build import STORM, change, crowded, ends, flat, job, run, scripted, stormy, tiny_trace


def _triangle(l0: float, l1: float) -> tuple[list[TraceJob], Instance]:
    """Three nodes with uplinks of l0, l1 and no limit; P on n0 and n2, Q on n0 and n1, R on n1 and n2.

    Each of them sends 2·1000·(1/2) = 1000 MB per iteration, 8 Gbit in a second of computation behind which all of it
    hides (overlap 1): it reserves 8 Gbit/s on each of its two uplinks.
    """
    nodes = [
        Node(name="n0", gpus=3, gpu_type="a", uplink_gbps=l0),
        Node(name="n1", gpus=2, gpu_type="b", uplink_gbps=l1),
        Node(name="n2", gpus=3, gpu_type="c"),
    ]
    each = Spread(level="node", max_gpus=1)
    common = {"message_mb": 1000.0, "overlap": 1.0, "spread": each}
    jobs = [
        job("P", 2, 0.0, 100.0, compute_s={"a": 1.0, "c": 1.0}, **common),
        job("Q", 2, 0.0, 100.0, compute_s={"a": 1.0, "b": 1.0}, **common),
        job("R", 2, 0.0, 100.0, compute_s={"b": 1.0, "c": 1.0}, **common),
    ]
    return jobs, flat(nodes)


def _rates_at(jobs: list[TraceJob], cluster: Instance, settings: Settings, moment: float) -> dict[str, float]:
    """Rates after the last event up to a moment."""
    seen: dict[str, float] = {}

    def watch(engine: Engine) -> None:
        if engine.now <= moment:
            seen.clear()
            seen.update({j.name: j.rate for j in engine.cluster.running.values()})

    run(jobs, cluster, settings=settings, watch=watch)
    return seen


def test_max_min_by_hand() -> None:
    """Two links, three jobs: 10 Gbit/s for P and Q, 12 for Q and R, who want 8 each.

    All shares grow to 10/16 = 0.625: the first link is full, P and Q stay there. Q uses 5 of the second one, R may have
    the other 7 of its 8: 0.875. R ends at 100/0.875; P and Q go on alike, to 160.
    """
    jobs, cluster = _triangle(10.0, 12.0)
    settings = Settings(sharing="max-min")
    assert _rates_at(jobs, cluster, settings, 0.0) == pytest.approx({"P": 0.625, "Q": 0.625, "R": 0.875})
    assert ends(run(jobs, cluster, settings=settings)) == pytest.approx({"P": 160, "Q": 160, "R": 100 / 0.875})


def test_max_min_gives_what_is_left_to_the_others() -> None:
    """When a job ends, the others share what it had: with P alone on 10 Gbit/s it runs at full speed.

    P needs 300 s of work. R ends at 100/0.875 = 114.29, Q at 160 with P at 100 of 300; the last 200 s are P's alone.
    """
    jobs, cluster = _triangle(10.0, 12.0)
    jobs[0] = change(jobs[0], duration_s=300.0)
    found = ends(run(jobs, cluster, settings=Settings(sharing="max-min")))
    assert found == pytest.approx({"P": 360, "Q": 160, "R": 100 / 0.875})


def test_load_by_hand() -> None:
    """The same by load: the first link at 16/10 stretches 0.8 s to 1.28; the second at 16/12 takes 8/12·16/12 < 1 s.

    P and Q need 1.28 s an iteration, R's communication stays hidden. When R ends, at 100, nothing changes for them:
    128.
    """
    jobs, cluster = _triangle(10.0, 12.0)
    assert _rates_at(jobs, cluster, Settings(), 0.0) == pytest.approx({"P": 1 / 1.28, "Q": 1 / 1.28, "R": 1})
    assert ends(run(jobs, cluster)) == pytest.approx({"P": 128, "Q": 128, "R": 100})


def test_load_changes_when_jobs_come_and_go() -> None:
    """The second link at 10 Gbit/s, too: R is slowed down as well, and P and R go on alone when Q has ended.

    All at 1/1.28 until Q's 50 s of work are done, at 64. P and R have 50 left and nothing slows them down: 114.
    """
    jobs, cluster = _triangle(10.0, 10.0)
    jobs[1] = change(jobs[1], duration_s=50.0)
    assert ends(run(jobs, cluster)) == pytest.approx({"P": 114, "Q": 64, "R": 114})


def test_who_sends_nothing_is_not_slowed_down_max_min() -> None:
    """A job that cuts a full uplink without a message keeps its full speed."""
    jobs, cluster = _triangle(10.0, 12.0)
    jobs[2] = change(jobs[2], message_mb=0.0, compute_s={"a": 1.0, "c": 1.0})
    cluster = change(
        cluster, cluster=change(cluster.cluster, nodes=[change(node, gpus=3) for node in cluster.cluster.nodes])
    )
    rates = _rates_at(jobs, cluster, Settings(sharing="max-min"), 0.0)
    assert rates == pytest.approx({"P": 0.625, "Q": 0.625, "R": 1.0})


def _with_resident(jobs: list[TraceJob], cluster: Instance) -> Instance:
    """The cluster with a job like P, of the same name, that stays for good."""
    return change(cluster, jobs=[change(job_of(jobs[0]), placement={"n0": 1, "n2": 1}, movable=False)])


def test_jobs_that_stay_count_as_every_other_by_load() -> None:
    """Three jobs without overlap on n0's 14 Gbit/s, one of them for good.

    Each reserves 8/(1 + 8/14) = 5.0909 Gbit/s: a load of 15.2727/14 = 12/11. An iteration takes 1 + 8/14·12/11 =
    1 + 48/77 s; alone with the one that stays it would be 1 + 8/14 s. R's uplink has room enough.
    """
    jobs, cluster = _triangle(14.0, 100.0)
    jobs = [change(member, overlap=0.0) for member in jobs]
    rates = _rates_at(jobs, _with_resident(jobs, cluster), Settings(), 0.0)
    assert rates == pytest.approx({"P": 77 / 125, "Q": 77 / 125, "R": 1 / 1.08})


def test_jobs_that_stay_keep_what_they_have_max_min() -> None:
    """Of n0's 20 Gbit/s the job that stays has 8; P and Q share 12 instead of their 16."""
    jobs, cluster = _triangle(20.0, 20.0)
    settings = Settings(sharing="max-min")
    rates = _rates_at(jobs, _with_resident(jobs, cluster), settings, 0.0)
    assert rates == pytest.approx({"P": 0.75, "Q": 0.75, "R": 1})


@pytest.mark.parametrize("seed", range(6))
def test_max_min_is_load_where_nothing_is_overbooked(seed: int) -> None:
    """The greedy keeps to the uplinks' limits: how overbooked ones are shared makes no difference."""
    jobs, cluster = tiny_trace(seed)
    cluster = stormy(cluster)
    settings = Settings(weather=STORM, until_s=30_000.0)
    by_load = run(jobs, cluster, settings=settings, solver="greedy")
    by_max_min = run(jobs, cluster, settings=change(settings, sharing="max-min"), solver="greedy")
    for a, b in zip(by_load.jobs, by_max_min.jobs, strict=True):
        assert (a.state, a.starts, a.interruptions) == (b.state, b.starts, b.interruptions)
        assert (a.end or 0.0, a.done, a.service) == pytest.approx((b.end or 0.0, b.done, b.service), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_max_min_shares_are_max_min_fair(seed: int) -> None:
    """No uplink gives more than it has, and whoever is not at full speed has a full uplink on which nobody has more.

    This is the definition of max-min fairness (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
    """
    jobs, cluster = crowded(seed)
    held_back = 0

    def watch(engine: Engine) -> None:
        nonlocal held_back
        state = engine.cluster
        share = {j: member.rate / state.alone(member) for j, member in state.running.items()}
        wants = {
            j: dict(zip(member.vertices.tolist(), member.reserved.tolist(), strict=True))
            for j, member in state.running.items()
            if member.vertices is not None and member.reserved is not None
        }
        used = np.zeros(len(state.limits))
        for j, links in wants.items():
            for v, gbps in links.items():
                used[v] += gbps * share[j]
        free = engine.problem.uplink_free
        finite = np.isfinite(free)
        assert (used[finite] <= free[finite] * (1 + 1e-9) + 1e-9).all()
        for j in state.running:
            if share[j] < 1 - 1e-9:
                held_back += 1
                full = [v for v, gbps in wants[j].items() if gbps > 0 and used[v] >= free[v] * (1 - 1e-9)]
                rivals = [max(share[i] for i in wants if wants[i].get(v, 0.0) > 0) for v in full]
                assert any(math.isclose(share[j], most, rel_tol=1e-9) for most in rivals)

    run(jobs, cluster, settings=Settings(sharing="max-min"), solver="spread", watch=watch)
    assert held_back > 10


def test_a_slow_node_slows_its_jobs_and_they_recover() -> None:
    """From 20 s to 50 s n0 takes 1.5 times as long: A, half on n0, does 20 s of work in 30, B on n1 is as fast as ever.

    A has 50 s left at 50 and no more than its 100 s of work: 40 done, 110.
    """
    nodes = flat([1, 2])
    changes = [Change(20.0, "slow", (0,)), Change(50.0, "recover", (0,))]
    engine = scripted([job("A", 2, 0.0, 100.0), job("B", 1, 0.0, 100.0)], nodes, changes)
    assert [member.end for member in engine.jobs] == pytest.approx([110, 100])


def test_slow_nodes_do_not_change_what_is_reserved() -> None:
    """Reservations are made for full speed (docs/model.md, section 4)."""
    jobs, cluster = _triangle(20.0, 20.0)
    reserved: list[float] = []

    def watch(engine: Engine) -> None:
        reserved.append(float(engine.cluster.reserved.max()))

    scripted(jobs, cluster, [Change(10.0, "slow", (0, 1, 2)), Change(50.0, "recover", (0, 1, 2))], watch=watch)
    assert reserved[:3] == pytest.approx([16.0, 16.0, 16.0])


def test_a_job_that_starts_on_a_slow_node_is_slow_at_once() -> None:
    """The hardware as it is now decides."""
    changes = [Change(0.0, "slow", (0,)), Change(100.0, "recover", (0,))]
    engine = scripted([job("A", 1, 40.0, 60.0)], flat([1]), changes)
    # 60 s at two thirds are 40 s of work, the other 20 follow at full speed.
    assert engine.jobs[0].end == pytest.approx(120)
