from __future__ import annotations

import msgspec
import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Objective, Segment, Switch
from crop_cli.model.problem import Placement, Problem, compile_problem, named, utility
from crop_cli.solvers.exact import linearise as building
from crop_cli.solvers.exact.coding import decode, encode
from crop_cli.solvers.exact.evidence import defect
from crop_cli.solvers.exact.linearise import linearise
from crop_cli.solvers.exact.linearised import Linearised
from crop_cli.solvers.exact.reach import reach
from crop_cli.solvers.exact.symmetry import canonical, sibling_classes
from tests.bruteforce import World, enumerate_job, job_utility, optimum
from tests.solvers.exact.mixed_integer import minimum
from tests.tiny import random_instance

BATCH = 20
TINY = range(0, 360, BATCH)


def close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * max(1.0, abs(b))


def by_index(problem: Problem, names: dict[str, dict[str, int]]) -> Placement:
    """A placement by names as one of open jobs by index."""
    jobs = {name: j for j, name in enumerate(problem.job_names)}
    found = {jobs[job]: {problem.node_index[n]: x for n, x in counts.items()} for job, counts in names.items()}
    return {j: counts for j, counts in found.items() if j not in problem.pinned}


def value(linearised: Linearised, x: np.ndarray) -> float:
    return linearised.constant - float(linearised.model.cost @ x)


def flat(nodes: int, gpus: int, jobs: list[Job], **objective: float) -> Instance:
    """Equal nodes below one root."""
    cluster = Cluster(levels=["node"], nodes=[Node(name=f"n{i}", gpus=gpus) for i in range(nodes)])
    return Instance(format=FORMAT, cluster=cluster, jobs=jobs, objective=Objective(**objective))


def racks(jobs: list[Job], *, number: int = 2, nodes: int = 2, gpus: int = 4, **node: float) -> Instance:
    """Equal racks of equal nodes."""
    cluster = Cluster(
        levels=["rack", "node"],
        switches=[Switch(name=f"r{r}", level="rack", uplink_gbps=100.0) for r in range(number)],
        nodes=[
            Node(name=f"r{r}n{n}", parent=f"r{r}", gpus=gpus, uplink_gbps=50.0, **node)
            for r in range(number)
            for n in range(nodes)
        ],
    )
    return Instance(format=FORMAT, cluster=cluster, jobs=jobs)


@pytest.mark.parametrize("first", TINY)
def test_optimum_is_that_of_enumeration(first: int) -> None:
    """The model's optimum, its decoded placement by the evaluator, and full enumeration give one value of F."""
    for seed in range(first, first + BATCH):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        linearised = linearise(problem)
        found = minimum(linearised.model)
        assert (found is None) == (best is None), seed
        if found is None or best is None:
            continue
        assert close(linearised.constant - found[0], best), seed
        placement = decode(linearised, found[1].astype(np.int64))
        evaluation = evaluate(instance, named(problem, placement))
        assert evaluation.feasible, (seed, evaluation.violations)
        assert close(evaluation.objective, best), seed


@pytest.mark.parametrize("first", TINY)
def test_best_placement_is_a_point_of_the_model(first: int) -> None:
    """The best placement by enumeration, encoded, satisfies every row, symmetry's too, and keeps its F when decoded."""
    for seed in range(first, first + BATCH):
        instance = random_instance(seed)
        problem = compile_problem(instance)
        best, names = optimum(instance)
        if best is None:
            continue
        placement = by_index(problem, names)
        linearised = linearise(problem, placement)
        x = linearised.model.start
        assert x is not None, seed
        assert defect(linearised.model, x) is None, seed
        assert value(linearised, x) == pytest.approx(best, rel=1e-9, abs=1e-9), seed
        again = decode(linearised, x)
        evaluation = evaluate(instance, named(problem, again))
        assert evaluation.feasible, (seed, evaluation.violations)
        assert evaluation.objective == pytest.approx(best, rel=1e-9, abs=1e-9), seed


@pytest.mark.parametrize("seed", range(60))
def test_every_placement_of_one_job_is_a_point_with_its_utility(seed: int) -> None:
    """Any feasible placement of a single job, good or bad, can be encoded with exactly its utility."""
    instance = random_instance(seed, max_jobs=1, running=False)
    job = msgspec.structs.replace(instance.jobs[0], required=True)
    instance = msgspec.structs.replace(instance, jobs=[job])
    problem, world = compile_problem(instance), World(instance)
    linearised = linearise(problem)
    for names in list(enumerate_job(world, job))[:40]:
        x = encode(linearised, by_index(problem, {job.name: names}))
        assert x is not None, names
        assert defect(linearised.model, x) is None, names
        assert value(linearised, x) == pytest.approx(job_utility(world, job, names), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("first", range(0, 100, BATCH))
def test_relaxation_is_an_upper_bound(first: int) -> None:
    """Without integrality the value of the model is never below the optimum of F."""
    for seed in range(first, first + BATCH):
        instance = random_instance(seed)
        best, _ = optimum(instance)
        linearised = linearise(compile_problem(instance))
        relaxed = minimum(linearised.model, integral=False)
        if best is not None:
            assert relaxed is not None, seed
            assert linearised.constant - relaxed[0] >= best - 1e-6 * max(1.0, abs(best)), seed


@pytest.mark.parametrize("seed", range(40))
def test_model_is_of_the_form_that_back_ends_get(seed: int) -> None:
    """Upper bounds are finite, rows that are not of whole numbers are capacities with nonnegative coefficients."""
    model = linearise(compile_problem(random_instance(seed))).model
    rows, columns = model.matrix.shape
    assert model.cost.shape == model.upper.shape == (columns,)
    assert model.row_lower.shape == model.row_upper.shape == model.integral_row.shape == (rows,)
    assert (model.upper >= 0).all()
    for i in np.flatnonzero(~model.integral_row):
        coefficients = model.matrix.data[model.matrix.indptr[i] : model.matrix.indptr[i + 1]]
        assert model.row_lower[i] == -np.inf
        assert np.isfinite(model.row_upper[i])
        assert (coefficients >= 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_same_problem_gives_the_same_arrays(seed: int) -> None:
    """Building twice gives bitwise equal arrays."""
    one, two = (linearise(compile_problem(random_instance(seed))).model for _ in range(2))
    assert np.array_equal(one.cost, two.cost)
    assert np.array_equal(one.upper, two.upper)
    assert np.array_equal(one.row_lower, two.row_lower)
    assert np.array_equal(one.row_upper, two.row_upper)
    assert (one.matrix != two.matrix).nnz == 0


def test_pinned_jobs_are_in_the_constant() -> None:
    """A running job that may not move is no variable; its value is the constant."""
    jobs = [Job(name="a", gpus=2, placement={"n0": 2}), Job(name="b", gpus=2)]
    problem = compile_problem(flat(2, 2, jobs))
    linearised = linearise(problem)
    assert linearised.constant == pytest.approx(2.0)
    assert [group.options.jobs for group in linearised.groups] == [(1,)]
    found = minimum(linearised.model)
    assert found is not None
    assert linearised.constant - found[0] == pytest.approx(4.0)


@pytest.mark.parametrize(
    "jobs",
    [
        [Job(name="a", gpus=9, required=True)],
        [Job(name="a", gpus=3, required=True, within="node"), Job(name="b", gpus=2, required=True)],
        [Job(name="a", gpus=4, required=True, segment=Segment(gpus=4, level="node"))],
        [Job(name="a", gpus=1, required=True, compute_s={"other": 1.0})],
    ],
)
def test_required_jobs_without_room_make_the_model_infeasible(jobs: list[Job]) -> None:
    """What must be placed and cannot leaves no feasible point."""
    assert minimum(linearise(compile_problem(flat(2, 2, jobs))).model) is None


def test_jobs_that_add_nothing_have_no_variables() -> None:
    """A job whose every placement costs more than it brings is left out, unless it must be placed."""
    cluster = Cluster(levels=["node"], nodes=[Node(name="n", gpus=2, failures_per_day=5.0)])
    job = Job(name="a", gpus=2, restart_minutes=1440.0)
    instance = Instance(format=FORMAT, cluster=cluster, jobs=[job])
    assert linearise(compile_problem(instance)).model.matrix.shape[1] == 0
    instance = msgspec.structs.replace(instance, jobs=[msgspec.structs.replace(job, required=True)])
    linearised = linearise(compile_problem(instance))
    found = minimum(linearised.model)
    assert found is not None
    assert linearised.constant - found[0] == pytest.approx(2 * (1 - 5.0))


def test_equal_jobs_share_their_whole_placements() -> None:
    """Jobs of one kind that fit in a node are one column per node; the first of them are the placed ones."""
    problem = compile_problem(flat(2, 4, [Job(name=f"j{i}", gpus=2, within="node") for i in range(5)]))
    linearised = linearise(problem)
    assert linearised.model.matrix.shape[1] == 2 + 1  # and how many are placed
    found = minimum(linearised.model)
    assert found is not None
    assert sorted(decode(linearised, found[1].astype(np.int64))) == [0, 1, 2, 3]


def test_unlimited_network_needs_no_inner_vertices() -> None:
    """With free and unlimited uplinks the tree does not matter: the only home of a split is the root."""
    instance = msgspec.structs.replace(
        racks([Job(name="a", gpus=6, message_mb=0.0)]), objective=Objective(cut_penalty=0.0)
    )
    problem = compile_problem(instance)
    reached = reach(problem, problem.kinds[0])
    assert reached.depths == (0, 2)
    assert [home.vertex for home in reached.homes] == [0]


def test_levels_are_those_that_a_home_can_have() -> None:
    """On equal links an all-reduce job has one level per home: inside a rack, and across racks."""
    problem = compile_problem(racks([Job(name="a", gpus=6, message_mb=1000.0)]))
    homes = reach(problem, problem.kinds[0]).homes
    assert [home.vertex for home in homes] == [0, 1, 2]
    assert all(len(home.levels) == 1 for home in homes if home.vertex > 0)
    assert [home.least for home in homes] == [(2, 2), (2,), (2,)]


def test_a_job_that_fills_a_rack_needs_its_every_node() -> None:
    """The fewest parts of a split are counted with the largest counts that are possible."""
    problem = compile_problem(racks([Job(name="a", gpus=14, segment=Segment(gpus=2, level="node"))], nodes=4))
    assert {home.vertex: home.least for home in reach(problem, problem.kinds[0]).homes} == {
        0: (2, 4),
        1: (4,),
        2: (4,),
    }


def random_split(seed: int) -> tuple[Problem, Placement]:
    """Jobs thrown over three racks of three equal nodes; some have equals."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=7)
    jobs = [Job(name=f"j{i}", gpus=int(k), message_mb=100.0, compute_s=0.3) for i, k in enumerate(sizes)]
    problem = compile_problem(racks(jobs, number=3, nodes=3, gpus=4, gpu_link_gbps=100.0))
    placement: Placement = {}
    free = problem.free_gpus.copy()
    for j, k in enumerate(sizes):
        counts: dict[int, int] = {}
        for n in rng.permutation(problem.n_nodes):
            taken = int(min(free[n], k - sum(counts.values()), rng.integers(1, 5)))
            if taken > 0:
                counts[int(n)] = taken
        if sum(counts.values()) == k:
            placement[j] = counts
            for n, x in counts.items():
                free[n] -= x
    return problem, placement


@pytest.mark.parametrize("seed", range(120))
def test_canonical_placement_is_equivalent_and_in_order(seed: int) -> None:
    """Every job keeps its utility when siblings change places, and the model's rows, orders included, hold."""
    problem, placement = random_split(seed)
    linearised = linearise(problem)
    moved = canonical(problem, placement, linearised.groups)
    for j, counts in placement.items():
        assert sorted(moved[j].values()) == sorted(counts.values())
        assert utility(problem, j, moved[j]) == pytest.approx(utility(problem, j, counts), rel=1e-12)
    x = encode(linearised, placement)
    assert x is not None
    assert defect(linearised.model, x) is None
    again = decode(linearised, x)
    worth = [utility(problem, j, counts) for j, counts in placement.items()]
    assert sum(utility(problem, j, counts) for j, counts in again.items()) == pytest.approx(sum(worth), rel=1e-12)


def test_racks_stand_in_the_order_of_their_largest_job() -> None:
    """Of two equal racks the first takes the largest job; in each the first node is the one in use."""
    problem = compile_problem(racks([Job(name="small", gpus=2), Job(name="large", gpus=3)]))
    moved = canonical(problem, {0: {1: 2}, 1: {3: 3}}, linearise(problem).groups)
    assert moved == {1: {0: 3}, 0: {2: 2}}


def test_nodes_that_differ_in_anything_are_not_interchangeable() -> None:
    """Used GPUs, failures, links, state, and a movable job's presence each set a node apart."""
    plain = Node(name="a", gpus=4)
    others = [
        Node(name="b", gpus=4, used={"gpus": 1}),
        Node(name="c", gpus=4, failures_per_day=0.1),
        Node(name="d", gpus=4, uplink_gbps=10.0),
        Node(name="e", gpus=4, gpu_link_gbps=10.0),
        Node(name="f", gpus=4, slowdown=1.5),
        Node(name="g", gpus=4, state="down"),
        Node(name="h", gpus=4),
    ]
    jobs = [Job(name="m", gpus=2, placement={"h": 2}, movable=True)]
    cluster = Cluster(levels=["node"], nodes=[plain, *others])
    assert sibling_classes(compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=jobs))) == []
    cluster = Cluster(levels=["node"], nodes=[plain, *others, Node(name="twin", gpus=4)])
    problem = compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=jobs))
    assert sibling_classes(problem) == [[1, problem.n_nodes]]


def test_a_start_that_is_not_feasible_is_not_taken() -> None:
    """What the model has no columns for has no point."""
    problem = compile_problem(flat(2, 2, [Job(name="a", gpus=2, within="node")]))
    assert linearise(problem, {0: {0: 1, 1: 1}}).model.start is None
    start = linearise(problem, {0: {1: 2}}).model.start
    assert start is not None


def test_jobs_that_lower_f_are_left_out_of_points_and_placements() -> None:
    """A start with a job that costs more than it brings becomes a better one without it."""
    cluster = Cluster(levels=["node"], nodes=[Node(name="n0", gpus=2, failures_per_day=5.0), Node(name="n1", gpus=1)])
    jobs = [Job(name="a", gpus=2, restart_minutes=1440.0), Job(name="b", gpus=1)]
    problem = compile_problem(Instance(format=FORMAT, cluster=cluster, jobs=jobs))
    linearised = linearise(problem, {0: {0: 2}, 1: {1: 1}})
    assert linearised.model.start is not None
    assert value(linearised, linearised.model.start) == pytest.approx(1.0)
    assert decode(linearised, linearised.model.start) == {1: {1: 1}}


def test_cost_has_the_opposite_sign_of_value() -> None:
    """The model minimises: placing a job has negative cost."""
    linearised = linearise(compile_problem(flat(1, 2, [Job(name="a", gpus=2)])))
    assert linearised.model.cost.tolist() == [-2.0, 0.0]
    assert linearised.constant == 0.0


@pytest.mark.parametrize("seed", range(16))
def test_rows_of_order_do_not_change_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rows that order interchangeable siblings and copies the optimum is the same."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, size=6)
    jobs = [Job(name=f"j{i}", gpus=int(k), message_mb=float(k % 3) * 300, compute_s=0.3) for i, k in enumerate(sizes)]
    problem = compile_problem(racks(jobs))
    model = linearise(problem).model
    monkeypatch.setattr(building, "add_orders", lambda *_arguments: None)
    monkeypatch.setattr(building, "add_copy_orders", lambda *_arguments: None)
    bare = linearise(problem).model
    assert bare.matrix.shape[0] < model.matrix.shape[0]
    ordered, free = minimum(model), minimum(bare)
    assert ordered is not None
    assert free is not None
    assert ordered[0] == pytest.approx(free[0], rel=1e-9)
