"""When devices fail, recover and slow down: rates, order, and that nobody's placement changes the weather."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from crop_cli.errors import InputError
from crop_cli.model.instance import Node
from crop_cli.model.problem import Problem
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.run import problem_of, simulate
from crop_cli.simulate.settings import DAY, Policy, Settings, Weather
from crop_cli.simulate.weather import Change, drawn, replayed
from tests.simulate.audit import Skies
from tests.simulate.build import STORM, flat, job, racks, run, stormy, tiny_trace, trace

NODES = 1000


def _problem(rate: float = 0.0, nodes: int = NODES) -> Problem:
    return problem_of(trace([]), flat([Node(name=f"n{i}", gpus=1, failures_per_day=rate) for i in range(nodes)]), STILL)


STILL = Settings()


def _spans(changes: list[Change], begin: str, end: str) -> tuple[list[float], list[float]]:
    """Times between an end (or 0) and the next beginning, and between a beginning and its end, of every node."""
    last: dict[int, float] = defaultdict(float)
    apart, long = [], []
    for item in changes:
        for n in item.nodes:
            if item.kind in (begin, end):
                (apart if item.kind == begin else long).append(item.time - last[n])
                last[n] = item.time
    return apart, long


def test_failures_are_exponential_with_the_rate_of_the_node() -> None:
    """First failures of 10,000 nodes at 2 a day: mean, deviation and tail within 4 % (four standard errors)."""
    once = Weather(rates=True, repair_median_h=1e9, repair_sigma=0.0)
    problem = _problem(2.0)
    first = [item.time for seed in range(10) for item in drawn(problem, once, seed, 50 * DAY) if item.kind == "fail"]
    assert len(first) == 10_000
    assert np.mean(first) == pytest.approx(DAY / 2, rel=0.04)
    assert np.std(first) == pytest.approx(DAY / 2, rel=0.04)
    assert np.mean(np.array(first) > DAY / 2) == pytest.approx(math.exp(-1), rel=0.04)


def test_the_next_failure_counts_from_the_repair() -> None:
    """A node that is down does not fail: with 6 h up and 6 h down in the mean, it fails twice a day, not four times."""
    weather = Weather(rates=True, repair_median_h=6.0, repair_sigma=0.0)
    failures = sum(item.kind == "fail" for item in drawn(_problem(4.0), weather, 1, 20 * DAY))
    # A renewal process: 2 a day, and a little more as all nodes are up at first. 40,000 draws.
    assert failures == pytest.approx(NODES * 20 * 2, rel=0.02)


def test_repairs_are_lognormal() -> None:
    """About 19,000 repairs: median within 5 % of 3 h, deviation of the logarithm within 3 % of 1.2."""
    weather = Weather(rates=True, repair_median_h=3.0, repair_sigma=1.2)
    _, long = _spans(list(drawn(_problem(2.0), weather, 2, 15 * DAY)), "fail", "repair")
    assert len(long) > 15_000
    assert np.median(long) == pytest.approx(3 * 3600, rel=0.05)
    assert np.std(np.log(long)) == pytest.approx(1.2, rel=0.03)


def test_slow_spells_are_exponential() -> None:
    """About 13,000 spells: the mean length within 4 % of 12 h, the mean distance within 6 % of a day (cut by the end).

    Four standard errors are 3.5 %; the end, 40 days away, cuts off distances that begin in the last days.
    """
    weather = Weather(slow_per_day=1.0, slow_hours=12.0)
    changes = list(drawn(_problem(nodes=500), weather, 3, 40 * DAY))
    apart, long = _spans(changes, "slow", "recover")
    assert {item.kind for item in changes} == {"slow", "recover"}
    assert len(long) > 12_000
    assert np.mean(long) == pytest.approx(12 * 3600, rel=0.04)
    assert np.mean(apart) == pytest.approx(DAY, rel=0.06)


def test_a_switch_takes_all_its_nodes_down() -> None:
    """Switches just above the nodes fail as one, at their own rate; a cluster without switches has no such failures."""
    weather = Weather(switch_failures_per_day=0.5, repair_median_h=0.1, repair_sigma=0.1)
    problem = problem_of(trace([]), racks(40, 3, 1), STILL)
    changes = list(drawn(problem, weather, 4, 100 * DAY))
    names = problem.node_names
    assert {tuple(names[n] for n in item.nodes) for item in changes} == {
        tuple(f"r{r}n{i}" for i in range(3)) for r in range(40)
    }
    failures = sum(item.kind == "fail" for item in changes)
    # Poisson with mean 2,000: within 10 % (four and a half standard deviations).
    assert failures == pytest.approx(40 * 100 * 0.5, rel=0.1)
    assert list(drawn(_problem(nodes=5), weather, 4, 100 * DAY)) == []


def test_repairs_of_any_length() -> None:
    """A spread beyond all measure gives repairs of no time and of all time, in numbers."""
    weather = Weather(rates=True, repair_sigma=1e4)
    times = [item.time for item in drawn(_problem(1.0, 50), weather, 6, 10 * DAY)]
    assert max(times) > 1e200
    assert all(time < math.inf for time in times)


def test_changes_come_in_order_and_alternate() -> None:
    """In order of time; of one source, every failure is repaired before the next; what ends later ends nevertheless."""
    problem = problem_of(trace([]), stormy(racks(3, 3, 2)), Settings(weather=STORM))
    changes = list(drawn(problem, STORM, 5, 5 * DAY))
    assert [item.time for item in changes] == sorted(item.time for item in changes)
    kinds: dict[object, list[str]] = defaultdict(list)
    for item in changes:
        kinds[item.nodes, item.kind in ("slow", "recover")].append(item.kind)
    for (_, slow), found in kinds.items():
        first, second = ("slow", "recover") if slow else ("fail", "repair")
        assert found == [first, second] * (len(found) // 2)
    assert all(item.time < 5 * DAY for item in changes if item.kind in ("fail", "slow"))


def test_a_nodes_weather_is_its_own() -> None:
    """The same seed gives the same weather, another one another; more nodes or switches change nothing for a node."""

    def of(nodes: int, seed: int) -> list[tuple[float, str]]:
        changes = drawn(_problem(1.0, nodes), Weather(rates=True, slow_per_day=1.0), seed, 10 * DAY)
        return [(item.time, item.kind) for item in changes if item.nodes == (0,)]

    assert of(3, 0) == of(3, 0) == of(30, 0)
    assert of(3, 0) != of(3, 1)


def test_weather_does_not_depend_on_the_end() -> None:
    """A longer simulation begins as the shorter one."""
    short = [item for item in drawn(_problem(1.0, 5), Weather(rates=True), 0, 5 * DAY) if item.time < 5 * DAY]
    long = [item for item in drawn(_problem(1.0, 5), Weather(rates=True), 0, 50 * DAY) if item.time < 5 * DAY]
    assert short == long


class _Observer:
    """Notes when nodes go up and down, slow and fast."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, bytes, bytes]] = []

    def __call__(self, engine: Engine) -> None:
        state = (engine.cluster.up.tobytes(), engine.cluster.slow.tobytes())
        if not self.seen or self.seen[-1][1:] != state:
            self.seen.append((engine.now, *state))


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_all_policies_have_the_same_weather(seed: int) -> None:
    """Solvers, orders, reactions and sharing leave the times at which nodes fail, recover and slow down as they are."""
    jobs, cluster = tiny_trace(seed)
    cluster = stormy(cluster)
    policies = [
        Policy(solver="greedy"),
        Policy(solver="greedy", reaction="exclude", order="sjf"),
        Policy(solver="spread", reaction="aware"),
        Policy(solver="first-fit", backfill=False),
    ]
    seen = []
    for policy in policies:
        observer = _Observer()
        settings = Settings(policy=policy, weather=STORM, until_s=50_000.0, seed=3)
        simulate(trace(jobs), cluster, settings, watch=observer)
        seen.append(observer.seen[1:])
    assert len(seen[0]) > 5
    assert all(found == seen[0] for found in seen)


def test_replayed_faults_may_overlap() -> None:
    """A node is up again when the last of its faults ends; faults without a length, or after the end, do not count."""
    jobs = [job("A", 1, 0.0, 100.0)]
    faults = [("n0", 50.0, 80.0), ("n0", 60.0, 200.0), ("n0", 70.0, 75.0), ("n0", 10.0, 10.0)]
    result = run(jobs, flat([1]), faults=faults)
    assert result.jobs[0].interruptions == 1
    # Nothing is lost without checkpoints: 50 s done, 50 to go from 200 on.
    assert result.jobs[0].end == 250
    assert list(replayed([(0, 300.0, 400.0)], 300.0)) == []


def test_faults_that_touch_leave_no_gap() -> None:
    """A fault that begins when the last one ends keeps the node down, whichever of both is read first."""
    for faults in ([(0, 0.0, 10.0), (0, 10.0, 20.0)], [(0, 10.0, 20.0), (0, 0.0, 10.0)]):
        skies = Skies(replayed(faults, math.inf))
        skies.until(10.0)
        assert skies.down[0] == 1
    result = run([job("A", 1, 5.0, 1.0)], flat([1]), faults=[("n0", 10.0, 20.0), ("n0", 0.0, 10.0)])
    assert result.jobs[0].first_start == 20


def test_a_fault_without_an_end() -> None:
    """A node that is never repaired holds its job up for good; the simulation ends all the same."""
    result = run([job("A", 1, 0.0, 100.0)], flat([1]), faults=[("n0", 50.0, math.inf)])
    assert (result.jobs[0].state, result.jobs[0].done, result.figures.makespan_s) == ("waiting", 50, 50)


def test_a_fault_of_an_unknown_node_is_refused() -> None:
    """The name is said."""
    with pytest.raises(InputError, match="nowhere"):
        run([job("A", 1, 0.0, 1.0)], flat([1]), faults=[("nowhere", 0.0, 1.0)])


def test_replayed_faults_join_those_drawn() -> None:
    """A node that is down by both is up when both have ended."""
    problem = _problem(5.0, 1)
    weather = Weather(rates=True, repair_median_h=0.5, repair_sigma=0.1)
    first = next(item for item in drawn(problem, weather, 0, math.inf) if item.kind == "repair").time
    cluster = flat([Node(name="n0", gpus=1, failures_per_day=5.0)])
    down = []

    def watch(engine: Engine) -> None:
        down.append((engine.now, not engine.cluster.up[0]))

    run(
        [job("A", 1, 0.0, 1.0)],
        cluster,
        faults=[("n0", first - 1.0, first + 1.0)],
        settings=Settings(weather=weather, until_s=first + 2.0),
        watch=watch,
    )
    assert (first, True) in down
    assert (first + 1.0, False) in down
