"""The bound of column generation against enumeration, and how it ends."""

from __future__ import annotations

import math
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from crop_cli.model.instance import Instance
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.columns import bound as bound_module
from crop_cli.solvers.columns import master as master_module
from crop_cli.solvers.columns.bound import ColumnBound, column_bound
from crop_cli.solvers.contract import Budget, Event, Request
from crop_cli.solvers.dual import certified
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.oracle import best_values
from tests.bruteforce import optimum
from tests.solvers.columns.enumerated import placement_lp
from tests.solvers.columns.samples import Looks, job, problem_of, racks, whole_node_jobs
from tests.tiny import instances, random_instance

SIZES = [{}, {"min_levels": 3, "max_levels": 3, "max_nodes": 6}, {"max_jobs": 7, "max_nodes": 4}]


def close(a: float, b: float, tolerance: float) -> bool:
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def features(problem: Problem) -> set[str]:
    """What of the model an instance uses."""
    has = {
        "required": bool(problem.must_place[[j for j in problem.open_jobs if j not in problem.current]].any()),
        "movable": bool(problem.current),
        "pinned": bool(problem.pinned),
        "resources": len(problem.resources) > 1,
        "uplinks": bool(np.isfinite(problem.uplink_free).any()),
        "shapes": any(not problem.kind(j).allowed[1:].all() for j in problem.open_jobs.tolist()),
        "failures": bool(problem.failures.any()),
    }
    return {name for name, used in has.items() if used}


def heard(problem: Problem, **options: object) -> tuple[ColumnBound, list[float]]:
    """The result and all bounds on the way."""
    events: list[Event] = []
    found = column_bound(problem, Budget(), listen=events.append, **options)  # type: ignore[arg-type]
    assert all(event.kind == "bound" for event in events)
    return found, [event.value for event in events if event.value is not None]


@pytest.mark.parametrize("block", range(12))
def test_no_bound_on_the_way_is_below_the_optimum(block: int) -> None:
    """At every iteration, on instances with every feature, the bound is at least the enumerated optimum."""
    used: Counter[str] = Counter()
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(50_000 + seed, **SIZES[seed % len(SIZES)])
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        found, values = heard(problem)
        if best is None:
            continue
        used.update(features(problem))
        assert not found.infeasible, seed
        for value in [*values, found.value]:
            assert value >= best - 1e-9 * max(1.0, abs(best)), (seed, value, best)
        assert values == sorted(values, reverse=True)
    assert min(used[name] for name in ("required", "movable", "pinned", "resources", "uplinks", "shapes")) > 0, used


@settings(max_examples=60, deadline=None)
@given(instances())
def test_no_bound_is_below_the_optimum_on_drawn_instances(instance: Instance) -> None:
    """The same on instances that hypothesis draws."""
    best, _ = optimum(instance)
    found = column_bound(compile_problem(instance), Budget())
    assert found.infeasible or best is None or found.value >= best - 1e-9 * max(1.0, abs(best))
    assert not (found.infeasible and best is not None)


@pytest.mark.parametrize("block", range(10))
def test_it_converges_to_the_placement_lp(block: int) -> None:
    """The last LP has the optimum of that over all placements, node by node, and the bound, whole jobs considered, is
    no more than that; infeasible exactly when it is."""
    ends: Counter[str] = Counter()
    for seed in range(block * 40, block * 40 + 40):
        instance = random_instance(60_000 + seed, **SIZES[seed % len(SIZES)])
        found = column_bound(compile_problem(instance), Budget())
        lp = placement_lp(instance)
        ends[found.ended] += 1
        assert found.infeasible == (lp is None), seed
        if lp is not None:
            assert found.value <= lp + 4e-6 * max(1.0, abs(lp)), (seed, lp, found)
            if found.lp_value is not None:
                assert close(found.lp_value, lp, 1e-6)
    assert set(ends) <= {"converged", "infeasible"}


def test_it_is_never_worse_than_the_bound_it_starts_from() -> None:
    """A given bound is improved or kept, and its prices certify the value in closed form."""
    better = 0
    for seed in range(150):
        problem = compile_problem(random_instance(70_000 + seed, max_jobs=6))
        cheap = upper_bound(problem, Budget(), effort=0)
        found = column_bound(problem, Budget(), bound=cheap)
        if found.infeasible:
            continue
        assert found.value <= cheap.value
        better += found.value < cheap.value - 1e-6
        if found.value < cheap.value:
            assert found.certificate is not None
            values = best_values(problem, problem.open_jobs, problem.free, problem.uplink_free, found.certificate)
            assert close(certified(problem, found.certificate, values, problem.open_jobs), found.value, 1e-9)
    assert better > 0


def test_infeasibility_that_only_the_lp_sees_is_proven() -> None:
    """Jobs that must run and fit one by one and by the number of GPUs, but not together."""
    jobs = [job(f"w{i}", 16, within="rack", gpus_per_node=8, required=True) for i in range(3)]
    problem = problem_of(racks([[8, 8], [8, 4, 4], [8, 4, 4]], jobs))
    assert not upper_bound(problem, Budget(), effort=0).infeasible
    found = column_bound(problem, Budget())
    assert found.infeasible and found.ended == "infeasible" and found.value == -math.inf


def test_racks_that_differ_need_fine_classes() -> None:
    """Eight whole nodes, but one rack with two of them: no more than one of the jobs of two nodes is worth anything."""
    free = [[8, 8], *[[8, 3]] * 6]
    problem = problem_of(racks(free, whole_node_jobs(4)))
    cheap = upper_bound(problem, Budget(), effort=0)
    found = column_bound(problem, Budget())
    one = 16 - 2 * 0.001  # two node uplinks are cut
    assert cheap.value > 2 * one
    assert close(found.value, one, 2e-6)
    assert found.lp_value is not None and close(found.lp_value, one, 1e-6)


def test_many_equal_racks_are_as_cheap_as_one() -> None:
    """Interchangeable racks share rows: the LP's size does not grow with their number."""
    jobs = [job(f"a{i}", 12) for i in range(6)] + whole_node_jobs(4)
    found = column_bound(problem_of(racks([[8, 8, 5]] * 40, jobs)), Budget())
    assert found.ended == "converged"
    assert len(found.columns) < 20


@pytest.mark.parametrize("seed", range(6))
def test_it_may_end_at_any_moment(seed: int) -> None:
    """Stopped at the n-th look at the budget, for every n, the bound holds and is no worse than with fewer looks."""
    instance = random_instance(80_000 + seed, max_jobs=6)
    problem = compile_problem(instance)
    best, _ = optimum(instance)
    cheap = upper_bound(problem, Budget(), effort=0)
    last = cheap.value
    for looks in range(400):
        budget = Looks(looks)
        found = column_bound(problem, budget, bound=cheap)
        assert found.value <= last
        last = found.value
        if best is not None:
            assert found.value >= best - 1e-9 * max(1.0, abs(best))
        if found.ended != "stopped":
            break
    else:
        pytest.fail("it never ended by itself")
    assert found.infeasible == (best is None)


def test_without_any_time_the_bound_that_is_known_stands() -> None:
    """A budget that is used up changes nothing."""
    problem = compile_problem(random_instance(4))
    cheap = upper_bound(problem, Budget(), effort=0)
    found = column_bound(problem, Looks(0), bound=cheap)
    assert (found.value, found.ended, found.passes, found.programs) == (cheap.value, "stopped", 0, 0)
    assert found.lp_value is None


def test_it_ends_at_the_gap() -> None:
    """With a target, it stops as soon as the bound is near enough."""
    ended = 0
    for seed in range(120):
        instance = random_instance(90_000 + seed, max_jobs=6)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        if best is None or best <= 0:
            continue
        cheap = upper_bound(problem, Budget(), effort=0)
        full = column_bound(problem, Budget(), bound=cheap)
        gap = 0.5 * ((cheap.value + full.value) / 2 - best) / best
        found = column_bound(problem, Budget(), bound=cheap, target=best, gap=gap)
        if found.ended == "gap":
            ended += 1
            assert (found.value - best) / best <= gap
            assert found.passes <= full.passes
        else:
            assert (found.value - best) / best > gap
    assert ended > 5


def test_effort_ends_it_and_more_effort_is_no_worse() -> None:
    """Effort limits the work that is begun; the bound falls with it; work is counted, so it is the same every time."""
    problem = problem_of(racks([[8, 8, 3], [8, 5, 5], [8, 8, 8], [2, 8, 7]], [*whole_node_jobs(3), *some_jobs()]))
    cheap = upper_bound(problem, Budget(), effort=0)
    last = math.inf
    for effort in (0, 4, 8, 16, 32, 1e6):
        found, again = (column_bound(problem, Budget(), bound=cheap, effort=effort) for _ in range(2))
        assert (found.value, found.work, found.ended) == (again.value, again.work, again.ended)
        assert found.value <= last
        last = found.value
        assert found.ended == ("converged" if effort == 1e6 else "effort")
        assert effort > 0 or found.passes == 0


def some_jobs() -> list:  # type: ignore[type-arg]
    return [job(f"s{i}", k, weight=1.0 + i % 3) for i, k in enumerate((1, 2, 3, 4, 8, 8, 12, 24))]


def test_the_same_input_gives_the_same_output() -> None:
    """Values, prices, columns and weights are equal from run to run."""
    for seed in range(20):
        problem = compile_problem(random_instance(seed, max_jobs=8, max_nodes=8))
        a, b = (column_bound(problem, Budget()) for _ in range(2))
        assert (a.value, a.lp_value, a.ended, a.passes, a.work) == (b.value, b.lp_value, b.ended, b.passes, b.work)
        assert [c.counts for c in a.columns] == [c.counts for c in b.columns]
        assert (a.weights == b.weights).all()
        if a.prices is not None and b.prices is not None:
            assert (a.prices.node == b.prices.node).all() and (a.prices.uplink == b.prices.uplink).all()


def test_a_start_gives_the_lp_its_value() -> None:
    """With the greedy's placement among the columns, the LP is worth at least as much as that from the first on."""
    started = 0
    for seed in range(40):
        problem = compile_problem(random_instance(seed, max_jobs=6))
        answer = greedy(problem, Request(), Budget(), lambda _event: None)
        if answer.placement is None:
            continue
        found = column_bound(problem, Budget(), start=answer.placement)
        plain = column_bound(problem, Budget())
        assert close(found.value, plain.value, 4e-6)
        started += 1
    assert started > 20


def test_weights_make_up_the_lp_value() -> None:
    """The columns, as often as they are taken, add up to the LP's value."""
    for seed in range(40):
        problem = compile_problem(random_instance(seed, max_jobs=6))
        found = column_bound(problem, Budget())
        assert len(found.weights) == len(found.columns)
        if found.lp_value is not None:
            total = sum(w * c.utility for w, c in zip(found.weights, found.columns, strict=True))
            assert close(total + problem.pinned_value, found.lp_value, 1e-7)


def test_few_columns_at_a_time_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tight limit on columns they come and go, and the bound is the same."""
    for seed in range(15):
        problem = compile_problem(random_instance(seed, max_jobs=8, max_nodes=8))
        free = column_bound(problem, Budget())
        monkeypatch.setattr(bound_module, "MOST_COLUMNS", 2 * (len(free.groups) + problem.n_nodes) + 10)
        tight = column_bound(problem, Budget(), effort=20_000)
        monkeypatch.undo()
        assert close(tight.value, free.value, 4e-6)


def test_a_library_that_fails_leaves_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the LP cannot be solved, the bound so far stands and the end is named."""
    problem = problem_of(racks([[8, 3], [8, 8]], whole_node_jobs(2)))
    cheap = upper_bound(problem, Budget(), effort=0)
    monkeypatch.setitem(master_module.OPTIONS, "time_limit", 0.0)
    found = column_bound(problem, Budget(), bound=cheap)
    assert found.ended == "stalled"
    assert found.value <= cheap.value and found.value >= 16 - 2 * 0.001


def test_the_order_of_jobs_and_nodes_does_not_matter() -> None:
    """Permuting the file changes the bound by no more than the tolerance."""
    rng = np.random.default_rng(1)
    for seed in range(30):
        instance = random_instance(seed, max_jobs=6)
        jobs, nodes = list(instance.jobs), list(instance.cluster.nodes)
        rng.shuffle(jobs)
        rng.shuffle(nodes)
        cluster = msgspec.structs.replace(instance.cluster, nodes=nodes)
        permuted = msgspec.structs.replace(instance, jobs=jobs, cluster=cluster)
        a, b = (column_bound(compile_problem(i), Budget()) for i in (instance, permuted))
        assert a.infeasible == b.infeasible
        assert a.infeasible or close(a.value, b.value, 4e-6)


def test_nothing_to_place_is_bounded_by_what_is_pinned() -> None:
    """Without open jobs, or with jobs that fit nowhere, the bound is what pinned jobs are worth."""
    pinned = job("p", 4, placement={"n0-0": 4})
    for jobs in ([pinned], [pinned, job("big", 64)]):
        problem = problem_of(racks([[8, 8]], jobs))
        found = column_bound(problem, Budget())
        assert found.ended == "converged"
        assert close(found.value, 4.0, 1e-8)
