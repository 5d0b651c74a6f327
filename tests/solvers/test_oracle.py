"""The oracle against enumeration."""

from __future__ import annotations

import math
import random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Objective, Switch
from crop_cli.model.problem import Problem, compile_problem, named, utility
from crop_cli.solvers import oracle, oracle_dp
from crop_cli.solvers.oracle import Prices, best_placement, best_placements, best_values
from crop_cli.solvers.oracle_dp import min_plus
from crop_cli.solvers.state import State
from tests.bruteforce import World, best_single, enumerate_job
from tests.tiny import instances, random_instance

PLAIN = {}
DEEP = {"min_levels": 4, "max_levels": 4, "max_nodes": 6}
WIDE = {"max_nodes": 11, "max_gpus": 2, "max_workers": 4, "max_jobs": 2}


def random_prices(problem: Problem, seed: int) -> Prices:
    """Prices around what GPUs and bandwidth are worth; sometimes equal everywhere, sometimes mostly 0."""
    rng = np.random.default_rng(seed)
    node = rng.random((problem.n_nodes, len(problem.resources))) * [0.6, *[0.05] * (len(problem.resources) - 1)]
    uplink = rng.random(problem.tree.n_vertices) * 0.3
    if seed % 4 == 0:
        node[:], uplink[:] = node[0], uplink[0]
    elif seed % 4 == 1:
        node *= rng.random(node.shape) < 0.3
        uplink *= rng.random(uplink.shape) < 0.3
    return Prices(node, uplink)


def by_name(problem: Problem, prices: Prices) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """The same prices for the enumeration; what no job of the instance asks for costs nothing."""
    node = {
        name: {"cpu": 0.0, "memory_gib": 0.0} | dict(zip(problem.resources, prices.node[n].tolist(), strict=True))
        for name, n in problem.node_index.items()
    }
    return node, dict(zip(problem.tree.names, prices.uplink.tolist(), strict=True))


def some_taken(instance: Instance, problem: Problem, seed: int) -> tuple[World, State]:
    """The cluster after some of the open jobs took a random placement each."""
    rng = random.Random(seed)
    world, state = World(instance), State.empty(problem)
    for j in problem.open_jobs.tolist():
        options = list(enumerate_job(world, instance.jobs[j])) if rng.random() < 0.3 else []
        if options:
            counts = rng.choice(options)
            world.take(instance.jobs[j], counts)
            state.take(j, {problem.node_index[name]: x for name, x in counts.items()})
    return world, state


def check_all_jobs(instance: Instance, world: World, state: State, prices: Prices | None, below: int = 0) -> int:
    """Compare every open job's best placement with enumeration; how many could be placed."""
    problem = state.problem
    node_prices, uplink_prices = (None, None) if prices is None else by_name(problem, prices)
    placed = 0
    for j in problem.open_jobs.tolist():
        job = instance.jobs[j]
        found = best_placement(problem, j, state.free, state.uplink_free, prices, below=below)
        truth = best_single(world, job, node_prices, uplink_prices, problem.tree.names[below] if below else None)
        assert (found is None) == (truth is None), job
        if found is None or truth is None:
            continue
        placed += 1
        counts = {problem.node_names[n]: x for n, x in found.counts.items()}
        assert math.isclose(found.value, truth[0], rel_tol=1e-9, abs_tol=1e-10), job
        assert counts in list(enumerate_job(world, job))
        assert found.utility == utility(problem, j, found.counts)
    return placed


@pytest.mark.parametrize("bounds", [PLAIN, DEEP, WIDE], ids=["plain", "deep", "wide"])
@pytest.mark.parametrize("priced", [False, True], ids=["free", "priced"])
def test_equals_enumeration_in_an_empty_cluster(bounds: dict[str, int], priced: bool) -> None:
    """The value is that of the best of all placements, and the counts are one of them."""
    placed = 0
    for seed in range(150):
        instance = random_instance(seed, **bounds)
        problem = compile_problem(instance)
        prices = random_prices(problem, seed) if priced else None
        placed += check_all_jobs(instance, World(instance), State.empty(problem), prices)
    assert placed > 100


@pytest.mark.parametrize("bounds", [PLAIN, DEEP, WIDE], ids=["plain", "deep", "wide"])
def test_equals_enumeration_when_some_is_taken(bounds: dict[str, int]) -> None:
    """What other jobs took of nodes and uplinks is respected to the last unit."""
    placed = 0
    for seed in range(150):
        instance = random_instance(1000 + seed, **bounds)
        problem = compile_problem(instance)
        world, state = some_taken(instance, problem, seed)
        placed += check_all_jobs(instance, world, state, random_prices(problem, seed) if seed % 2 else None)
    assert placed > 50


@pytest.mark.parametrize("bounds", [PLAIN, DEEP], ids=["plain", "deep"])
def test_below_a_vertex_equals_enumeration(bounds: dict[str, int]) -> None:
    """With `below`, only placements wholly under that vertex count, and constraints above it still hold."""
    placed = 0
    for seed in range(80):
        instance = random_instance(2000 + seed, **bounds)
        problem = compile_problem(instance)
        world, state = some_taken(instance, problem, seed)
        for below in range(problem.tree.n_vertices):
            placed += check_all_jobs(instance, world, state, random_prices(problem, seed) if seed % 2 else None, below)
    assert placed > 100


@given(instance=instances())
@settings(max_examples=60, deadline=None)
def test_equals_enumeration_on_drawn_instances(instance: Instance) -> None:
    """The same on instances that shrink, at prices and without."""
    problem = compile_problem(instance)
    for prices in (None, random_prices(problem, len(instance.jobs))):
        check_all_jobs(instance, World(instance), State.empty(problem), prices)


def test_passes_and_blocks_of_any_size_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """One query per pass, one row per merge, and small blocks change nothing."""
    monkeypatch.setattr(oracle, "PASS_ELEMENTS", 1)
    monkeypatch.setattr(oracle_dp, "BROADCAST_ELEMENTS", 0)
    monkeypatch.setattr(oracle_dp, "BLOCK_ELEMENTS", 1)
    for seed in range(100):
        instance = random_instance(3000 + seed, **(WIDE if seed % 2 else PLAIN))
        problem = compile_problem(instance)
        check_all_jobs(instance, World(instance), State.empty(problem), random_prices(problem, seed))


@pytest.mark.parametrize("priced", [False, True], ids=["free", "priced"])
def test_many_at_once_equal_one_by_one(priced: bool) -> None:
    """`best_placements` gives a best placement of every job, `best_values` its value, −inf where there is none."""
    for seed in range(150):
        instance = random_instance(4000 + seed, max_jobs=8)
        # Jobs with the same data, and some with the same size, are looked at together.
        instance = msgspec.structs.replace(
            instance, jobs=[*instance.jobs, *(msgspec.structs.replace(j, name=j.name + "b") for j in instance.jobs[:2])]
        )
        instance = msgspec.structs.replace(
            instance,
            jobs=[
                msgspec.structs.replace(j, placement=None, movable=False) if j.name.endswith("b") else j
                for j in instance.jobs
            ],
        )
        problem = compile_problem(instance)
        _, state = some_taken(instance, problem, seed)
        prices = random_prices(problem, seed) if priced else None
        values = best_values(problem, problem.open_jobs, state.free, state.uplink_free, prices)
        answers = best_placements(problem, problem.open_jobs, state.free, state.uplink_free, prices)
        for j, value, answer in zip(problem.open_jobs.tolist(), values, answers, strict=True):
            best = best_placement(problem, j, state.free, state.uplink_free, prices)
            assert math.isclose(value, -math.inf if best is None else best.value, rel_tol=1e-12, abs_tol=1e-12)
            assert (answer is None) == (best is None)
            if answer is not None:
                assert answer.value == value
                assert answer.utility == utility(problem, j, answer.counts)
                assert sum(answer.counts.values()) == problem.kind(j).k


def test_no_jobs_have_no_values() -> None:
    """An empty list of jobs is answered by an empty array."""
    problem = compile_problem(random_instance(1))
    assert best_values(problem, np.zeros(0, dtype=np.int64), problem.free, problem.uplink_free).shape == (0,)


def test_arguments_are_left_alone() -> None:
    """Neither what is free nor the prices are changed."""
    for seed in range(20):
        problem = compile_problem(random_instance(seed))
        state, prices = State.empty(problem), random_prices(problem, seed)
        before = [x.copy() for x in (state.free, state.uplink_free, prices.node, prices.uplink)]
        for j in problem.open_jobs.tolist():
            best_placement(problem, j, state.free, state.uplink_free, prices)
        best_values(problem, problem.open_jobs, state.free, state.uplink_free, prices)
        for was, now in zip(before, (state.free, state.uplink_free, prices.node, prices.uplink), strict=True):
            assert (was == now).all()


def test_permuting_nodes_keeps_the_value() -> None:
    """The order of nodes and switches in the file does not matter."""
    for seed in range(100):
        instance = random_instance(5000 + seed, **(DEEP if seed % 2 else WIDE))
        rng = random.Random(seed)
        cluster = instance.cluster
        shuffled = msgspec.structs.replace(
            instance,
            cluster=msgspec.structs.replace(
                cluster,
                nodes=rng.sample(cluster.nodes, len(cluster.nodes)),
                switches=rng.sample(cluster.switches, len(cluster.switches)),
            ),
        )
        one, other = compile_problem(instance), compile_problem(shuffled)
        values = [best_values(p, p.open_jobs, p.free, p.uplink_free) for p in (one, other)]
        assert np.allclose(values[0], values[1], rtol=1e-12, atol=1e-12)


def rack_cluster(racks: int, nodes: int, **of_nodes: object) -> Cluster:
    """Racks of 8-GPU nodes, 400 Gbit/s per node and 800 per rack."""
    return Cluster(
        levels=["rack", "node"],
        switches=[Switch(name=f"r{r}", level="rack", uplink_gbps=800.0) for r in range(racks)],
        nodes=[
            Node(name=f"r{r}n{n}", parent=f"r{r}", gpus=8, uplink_gbps=400.0, **of_nodes)
            for r in range(racks)
            for n in range(nodes)
        ],
    )


def problem_of(cluster: Cluster, *jobs: Job, objective: Objective | None = None) -> Problem:
    """Compiled instance of these parts."""
    return compile_problem(
        Instance(format=FORMAT, cluster=cluster, jobs=list(jobs), objective=objective or Objective())
    )


def test_ties_are_decided_the_same_way_every_time() -> None:
    """Among many equal placements the same one is found again."""
    job = Job(name="j", gpus=24, message_mb=500.0)
    answers = []
    for _ in range(3):
        problem = problem_of(rack_cluster(9, 5), job)
        best = best_placement(problem, 0, problem.free, problem.uplink_free)
        assert best is not None
        answers.append(best)
    assert answers[0] == answers[1] == answers[2]


def test_stays_inside_one_rack_where_that_cuts_least() -> None:
    """16 workers on free nodes take two whole nodes of one rack: two cuts, each of the reserved rate."""
    problem = problem_of(rack_cluster(3, 4), Job(name="j", gpus=16, message_mb=400.0))
    best = best_placement(problem, 0, problem.free, problem.uplink_free)
    assert best is not None
    assert sorted(best.counts.values()) == [8, 8]
    assert len({n // 4 for n in best.counts}) == 1
    comm = 8e-3 * 2 * 400.0 * 15 / 16 / 400.0
    assert math.isclose(best.utility, 16 / (1 + comm) - 2 * 0.001, rel_tol=1e-12)


def test_prices_move_the_job_elsewhere() -> None:
    """A rack whose GPUs cost more than the cut to another one is avoided."""
    problem = problem_of(rack_cluster(2, 2), Job(name="j", gpus=8))
    prices = Prices(np.array([[0.2], [0.2], [0.1], [0.3]]), np.zeros(problem.tree.n_vertices))
    best = best_placement(problem, 0, problem.free, problem.uplink_free, prices)
    assert best is not None
    assert best.counts == {2: 8}
    assert math.isclose(best.value, 8 - 0.8, rel_tol=1e-12)


def test_slow_shared_fabric_spreads_the_job() -> None:
    """Where the nodes' fabric is the bottleneck, more nodes are faster and are chosen."""
    problem = problem_of(rack_cluster(1, 4, fabric_gbps=100.0), Job(name="j", gpus=8, message_mb=500.0))
    best = best_placement(problem, 0, problem.free, problem.uplink_free)
    assert best is not None
    assert best.counts == {0: 2, 1: 2, 2: 2, 3: 2}


@pytest.mark.parametrize("migration_minutes", [0.0, 30.0, 2000.0])
def test_a_running_job_moves_only_where_that_pays(migration_minutes: float) -> None:
    """Staying costs no migration; moving pays it; the better of both is found."""
    job = Job(
        name="j",
        gpus=8,
        message_mb=500.0,
        placement={"r0n0": 4, "r1n0": 4},
        movable=True,
        migration_minutes=migration_minutes,
    )
    problem = problem_of(rack_cluster(2, 2), job)
    best = best_placement(problem, 0, problem.free, problem.uplink_free)
    assert best is not None
    stay = 8 / (1 + 8e-3 * 2 * 500.0 * 7 / 8 / 400.0) - 4 * 0.001
    move = 8 - 8 * migration_minutes / 1440
    assert math.isclose(best.utility, max(stay, move), rel_tol=1e-12)
    assert (best.counts == {0: 4, 2: 4}) == (stay > move)


def test_a_running_job_cannot_stay_where_others_are() -> None:
    """If what it holds is taken, the job has to move and pay."""
    job = Job(name="j", gpus=8, placement={"r0n0": 8}, movable=True, migration_minutes=144.0)
    problem = problem_of(rack_cluster(2, 2), job)
    free = problem.free.copy()
    free[0] = 1.0
    best = best_placement(problem, 0, free, problem.uplink_free)
    assert best is not None
    assert 0 not in best.counts
    assert math.isclose(best.utility, 8 - 0.8, rel_tol=1e-12)


def test_overbooked_places_do_not_stop_others() -> None:
    """Negative free capacity of some nodes and uplinks only closes those."""
    problem = problem_of(rack_cluster(2, 2), Job(name="j", gpus=16, message_mb=100.0))
    free, uplink_free = problem.free.copy(), problem.uplink_free.copy()
    free[0], uplink_free[1] = -3.0, -5.0
    best = best_placement(problem, 0, free, uplink_free)
    assert best is not None
    assert best.counts == {2: 8, 3: 8}


@pytest.mark.parametrize("shut", [0, 1, 2])
@pytest.mark.parametrize("level", ["rack", "node"])
def test_equal_subtrees_with_different_uplinks_are_told_apart(level: str, shut: int) -> None:
    """Of three racks alike, the one without free bandwidth, or with a dear uplink, is not part of a spanning job."""
    problem = problem_of(rack_cluster(3, 1), Job(name="j", gpus=16, message_mb=100.0))
    vertex = shut + (1 if level == "rack" else 4)
    uplink_free = problem.uplink_free.copy()
    uplink_free[vertex] = 0.1
    uplink_prices = np.zeros(problem.tree.n_vertices)
    uplink_prices[vertex] = 0.1
    taken = best_placement(problem, 0, problem.free, uplink_free)
    dear = best_placement(problem, 0, problem.free, problem.uplink_free, Prices(np.zeros((3, 1)), uplink_prices))
    assert taken is not None
    assert dear is not None
    assert taken.counts == dear.counts == {n: 8 for n in range(3) if n != shut}


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_equal_subtrees_with_uplinks_of_different_speed_are_told_apart(slow: int) -> None:
    """Of three racks alike, the one with the slower uplink is not part of a spanning job, though it has room."""
    cluster = rack_cluster(3, 1)
    switches = [
        msgspec.structs.replace(switch, uplink_gbps=100.0) if r == slow else switch
        for r, switch in enumerate(cluster.switches)
    ]
    problem = problem_of(msgspec.structs.replace(cluster, switches=switches), Job(name="j", gpus=16, message_mb=100.0))
    best = best_placement(problem, 0, problem.free, problem.uplink_free)
    assert best is not None
    assert best.counts == {n: 8 for n in range(3) if n != slow}


def test_uplink_capacity_decides_the_split() -> None:
    """An all-to-all job takes the counts whose rate fits the free bandwidth, none other."""
    cluster = Cluster(levels=["node"], nodes=[Node(name=f"n{i}", gpus=4, uplink_gbps=10.0) for i in range(2)])
    problem = problem_of(cluster, Job(name="j", gpus=5, message_mb=100.0, pattern="alltoall", overlap=1.0))
    # 1 and 4 workers reserve 8e-3·100·4/5 = 0.64 Gbit/s, 2 and 3 reserve 0.96.
    uplink_free = problem.uplink_free.copy()
    uplink_free[2] = 0.7
    best = best_placement(problem, 0, problem.free, uplink_free)
    assert best is not None
    assert sorted(best.counts.values()) == [1, 4]
    uplink_free[2] = 0.6
    assert best_placement(problem, 0, problem.free, uplink_free) is None


def test_large_job_on_many_racks_is_feasible_and_consistent() -> None:
    """On a larger cluster the answer passes the evaluator, which finds the same utility."""
    jobs = [
        Job(name=f"j{k}", gpus=k, message_mb=300.0, pattern=pattern, overlap=0.2)
        for k, pattern in ((8, "alltoall"), (100, "allreduce"), (300, "alltoall"))
    ]
    problem = problem_of(rack_cluster(30, 6, fabric_gbps=2000.0, gpu_link_gbps=400.0), *jobs)
    state, total = State.empty(problem), 0.0
    placement = {}
    for j in range(len(jobs)):
        best = best_placement(problem, j, state.free, state.uplink_free)
        assert best is not None
        state.take(j, best.counts)
        placement[j] = best.counts
        total += best.utility
    evaluation = evaluate(problem.instance, named(problem, placement))
    assert evaluation.feasible, evaluation.violations
    assert math.isclose(evaluation.objective, total, rel_tol=1e-9)


@pytest.mark.parametrize("broadcast", [0, 1 << 16])
@pytest.mark.parametrize(("n", "length", "columns"), [(1, 1, 3), (2, 3, 1), (5, 9, 4), (5, 6, 200), (9, 9, 2)])
def test_min_plus_is_the_definition(
    n: int, length: int, columns: int, broadcast: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """c[t] = min a[i] + b[t−i], infinite entries included, whichever way it is computed."""
    monkeypatch.setattr(oracle_dp, "BROADCAST_ELEMENTS", broadcast)
    rng = np.random.default_rng(n * length)
    a, b = rng.random((2, n, columns, 2))
    a[rng.random(a.shape) < 0.3] = np.inf
    b[rng.random(b.shape) < 0.3] = np.inf
    c = min_plus(a, b, length)
    for t in range(length):
        sums = [a[i] + b[t - i] for i in range(n) if 0 <= t - i < n]
        assert (c[t] == np.min(sums, axis=0)).all()
