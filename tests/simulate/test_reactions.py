"""How policies react to failures and slow nodes, and the failure rates that they estimate."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Node
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.policy import Scheduler
from crop_cli.simulate.run import problem_of, simulate
from crop_cli.simulate.settings import DAY, Policy, Reaction, Settings, Weather
from crop_cli.simulate.weather import Change, drawn
from tests.simulate.audit import Places, Skies
from tests.simulate.build import STORM, change, crowded, flat, job, run, scripted, split, starts, stormy, trace


@pytest.mark.parametrize(("seed", "migrations", "until"), [(0, 0, 30_000.0), (1, 0, 30_000.0), (0, 2, 9_000.0)])
def test_exclude_leaves_slow_and_quarantined_nodes_alone(seed: int, migrations: int, until: float) -> None:
    """No job starts on, or moves to, a node that is slow or failed within the last two hours."""
    jobs, cluster = crowded(seed)
    cluster = stormy(cluster, 1.0)
    weather = change(STORM, switch_failures_per_day=0.0)
    policy = Policy(solver="greedy", reaction="exclude", quarantine_hours=2.0, migrations=migrations)
    settings = Settings(policy=policy, weather=weather, until_s=until)
    problem = problem_of(trace(jobs), cluster, settings)
    skies, places = Skies(drawn(problem, weather, 0, until)), Places()
    checked = 0

    def watch(engine: Engine) -> None:
        nonlocal checked
        skies.until(engine.now)
        known = len(places.seen)
        places(engine)
        for _, _, nodes in places.seen[known:]:
            for name in nodes:
                n = problem.node_index[name]
                assert n not in skies.slow
                assert engine.now - skies.last_failure[n] >= 2 * 3600 - 1e-6
                checked += 1

    simulate(trace(jobs), cluster, settings, watch=watch)
    assert checked > 10


def test_a_quarantine_ends() -> None:
    """n0 fails at 50 s and is left alone for an hour from then on, long after its repair; nothing else happens."""
    found = run(
        [job("A", 1, 60.0, 10.0)], flat([1]), faults=[("n0", 50.0, 55.0)], reaction="exclude", quarantine_hours=1
    )
    assert starts(found) == {"A": 3650}
    assert starts(run([job("A", 1, 60.0, 10.0)], flat([1]), faults=[("n0", 50.0, 55.0)])) == {"A": 60}


def test_a_move_away_does_not_open_a_node_left_alone() -> None:
    """n1 is slow when E comes: E would fit there if C moved away, but that node is left alone; it waits."""
    jobs, cluster = split()
    settings = Settings(policy=Policy(solver="greedy", migrations=1, reaction="exclude"))
    engine = scripted(jobs, cluster, [Change(140.0, "slow", (1,)), Change(300.0, "recover", (1,))], settings=settings)
    assert engine.jobs[3].first_start is not None
    assert engine.jobs[3].first_start >= 300


@pytest.mark.parametrize(("reaction", "node"), [("ignorant", "n0"), ("aware", "n1")])
def test_aware_prefers_nodes_that_never_failed(reaction: Reaction, node: str) -> None:
    """n0 failed and is up again: who looks at that takes n1, who does not takes the first."""
    places = Places()
    member = job("A", 1, 200.0, 10.0, restart_minutes=10.0)
    run([member], flat([2, 2]), faults=[("n0", 0.0, 100.0)], reaction=reaction, solver="greedy", watch=places)
    assert places.of("A") == [(200, {node: 1})]


@pytest.mark.parametrize(("reaction", "node"), [("ignorant", "n0"), ("exclude", "n1"), ("aware", "n1")])
def test_who_knows_that_a_node_is_slow(reaction: Reaction, node: str) -> None:
    """n0 is slow when the job comes: ignorant policies take it all the same."""
    places = Places()
    settings = Settings(policy=Policy(solver="greedy", reaction=reaction))
    scripted([job("A", 1, 200.0, 10.0)], flat([2, 2]), [Change(100.0, "slow", (0,))], settings=settings, watch=places)
    assert places.of("A") == [(200, {node: 1})]


def test_estimated_rates_by_hand() -> None:
    """Four nodes, ten days, two failures of n0, none of the others.

    The cluster's rate is (2 + 0.5)/(4·10 + 1) = 0.0609756 a day, the prior's mean; its shape 0.94, so that it weighs
    0.94/0.0609756 = 15.416 days. n0: (0.94 + 2)/(15.416 + 10) = 0.115675; the others: 0.94/25.416 = 0.036985.
    """
    problem = problem_of(trace([]), flat([1, 1, 1, 1]), Settings())
    scheduler = Scheduler.of(problem, Policy(reaction="aware"), 0)
    scheduler.note_failure(0, 1 * DAY)
    scheduler.note_failure(0, 2 * DAY)
    assert scheduler.rates(10 * DAY) == pytest.approx([0.115675, 0.036985, 0.036985, 0.036985], rel=1e-4)


def test_estimated_rates_approach_the_truth() -> None:
    """After 400 days the estimate is near a node that fails once a day, and near those that do every hundred."""
    nodes = [Node(name=f"n{i}", gpus=1, failures_per_day=1.0 if i == 0 else 0.01) for i in range(10)]
    weather = Weather(rates=True, repair_median_h=0.1, repair_sigma=0.0)
    problem = problem_of(trace([]), flat(nodes), Settings())
    scheduler = Scheduler.of(problem, Policy(reaction="aware"), 0)
    for item in drawn(problem, weather, 0, 400 * DAY):
        if item.kind == "fail":
            scheduler.note_failure(item.nodes[0], item.time)
    rates = scheduler.rates(400 * DAY)
    # Poisson with 400: 15 % is three standard deviations; nine nodes with 36 in all: 50 %.
    assert rates[0] == pytest.approx(1.0, rel=0.15)
    assert rates[1:].mean() == pytest.approx(0.01, rel=0.5)
