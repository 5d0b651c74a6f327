"""The greedy engine from instance to answer."""

from __future__ import annotations

import random
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from crop_cli.errors import UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import Placement, compile_problem, named
from crop_cli.solvers.contract import Answer, Budget, Event, Request
from crop_cli.solvers.greedy.solve import solve
from tests.bruteforce import optimum
from tests.solvers.greedy.build import flat, ignore, racks
from tests.tiny import instances, random_instance

change = msgspec.structs.replace


def run(instance: Instance, **request: object) -> tuple[Answer, float | None]:
    """The answer, and F by the evaluator, which must find the placement feasible."""
    problem = compile_problem(instance)
    answer = solve(problem, Request(**request), Budget(), ignore)  # type: ignore[arg-type]
    if answer.placement is None:
        return answer, None
    evaluation = evaluate(instance, named(problem, answer.placement))
    assert evaluation.violations == []
    return answer, evaluation.objective


def test_near_the_optimum_and_never_above() -> None:
    """On tiny instances F never exceeds the optimum, is 93 % of it at worst, and 99.5 % on average."""
    shares = []
    for seed in range(150):
        instance = random_instance(seed)
        best, _ = optimum(instance)
        _, value = run(instance)
        if best is None or value is None:
            assert best is None
            continue
        assert value <= best + 1e-9
        if best > 1e-6:
            shares.append(value / best)
    assert len(shares) > 100
    assert min(shares) > 0.93
    assert np.mean(shares) > 0.995


@settings(max_examples=40, deadline=None)
@given(instances(max_nodes=6, max_jobs=7))
def test_always_feasible(instance: Instance) -> None:
    """A placement is one that the evaluator accepts, and its jobs add to F unless they must run."""
    answer, value = run(instance)
    if answer.placement is not None:
        problem = compile_problem(instance)
        outcomes = evaluate(instance, named(problem, answer.placement)).jobs
        for job in answer.placement:
            assert problem.must_place[job] or outcomes[problem.job_names[job]].utility > 0
        assert value is not None


def test_same_input_same_answer() -> None:
    """Two runs with one seed give the same placement, guarantee and reason."""
    for seed in range(25):
        instance = random_instance(seed, max_nodes=6, max_jobs=8)
        first, _ = run(instance, seed=seed)
        second, _ = run(instance, seed=seed)
        assert first.placement == second.placement
        assert first.guarantee == second.guarantee
        assert first.stop_reason == second.stop_reason


def test_pure_value_does_not_depend_on_the_order_in_the_file() -> None:
    """Nodes and jobs in another order: still a near-optimal answer, and the same one where nothing is tied."""
    for seed in range(40):
        instance = random_instance(seed)
        rng = random.Random(seed)
        nodes, jobs = list(instance.cluster.nodes), list(instance.jobs)
        rng.shuffle(nodes)
        rng.shuffle(jobs)
        _, value = run(instance)
        _, shuffled = run(change(instance, cluster=change(instance.cluster, nodes=nodes), jobs=jobs))
        if value is not None and shuffled is not None:
            assert shuffled == pytest.approx(value, rel=0.07, abs=1e-9)


def test_a_start_is_never_made_worse() -> None:
    """Given an optimal start the answer is optimal."""
    for seed in range(60):
        instance = random_instance(seed, max_jobs=5)
        best, by_name = optimum(instance)
        problem = compile_problem(instance)
        if best is None:
            continue
        index = {name: j for j, name in enumerate(problem.job_names)}
        start: Placement = {
            index[name]: {problem.node_index[node]: x for node, x in counts.items()}
            for name, counts in by_name.items()
            if index[name] not in problem.pinned
        }
        _, value = run(instance, start=start)
        assert value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("limit", [1e-9, 0.002, 0.02])
def test_a_short_budget_still_gives_a_feasible_placement(limit: float) -> None:
    """When time is up early there is a feasible placement all the same, and the reason is the time limit."""
    instance = random_instance(5, max_nodes=5, max_jobs=30, max_workers=4, running=False)
    jobs = [change(job, required=False) for job in instance.jobs]
    instance = change(instance, jobs=jobs)
    problem, budget = compile_problem(instance), Budget(limit)
    answer = solve(problem, Request(), budget, ignore)
    assert answer.placement is not None
    assert evaluate(instance, named(problem, answer.placement)).feasible
    assert answer.stop_reason == ("time_limit" if budget.expired else "completed")


def test_incumbents_rise_to_the_answer() -> None:
    """Every event tells of a better F, and the last one is the answer's."""
    for seed in range(30):
        instance = random_instance(seed, max_nodes=5, max_jobs=8)
        problem, events = compile_problem(instance), list[Event]()
        answer = solve(problem, Request(), Budget(), events.append)
        values = [event.value for event in events if event.kind == "incumbent"]
        assert all(a < b for a, b in pairwise(values))  # type: ignore[operator]
        if answer.placement is not None:
            objective = evaluate(instance, named(problem, answer.placement)).objective
            assert values[-1] == pytest.approx(objective, abs=1e-9)


def test_levels_can_be_chosen() -> None:
    """Each level's name, and "cluster", is an option; the guarantee is about domains of that level."""
    jobs = [Job(name=f"j{i}", gpus=1 + i % 4) for i in range(8)]
    instance = racks([[4, 4], [4, 4]], jobs)
    for level in ("cluster", "rack", "node"):
        answer, _ = run(instance, options={"level": level})
        assert level in answer.guarantee.why


def test_unknown_options_are_refused() -> None:
    """A key, a level, or an oracle that does not exist is a usage error that names what there is."""
    problem = compile_problem(flat([4], [Job(name="a", gpus=1)]))
    for options, named_in_error in (
        ({"speed": "9"}, "level"),
        ({"level": "row"}, "cluster"),
        ({"oracle": "x"}, "exact"),
    ):
        with pytest.raises(UsageError, match=named_in_error):
            solve(problem, Request(options=options), Budget(), ignore)


@pytest.mark.slow
def test_exact_arrangements_give_the_same_answers_a_better_guarantee() -> None:
    """With `oracle=exact` the factor is that of optimal arrangements, and F is feasible as ever."""
    jobs = [Job(name=f"j{i}", gpus=g, message_mb=100.0) for i, g in enumerate([3, 3, 3, 5, 5, 2, 7])]
    instance = racks([[4, 4], [4, 4]], jobs)
    fast, _ = run(instance, options={"level": "rack"})
    exact, _ = run(instance, options={"level": "rack", "oracle": "exact"})
    assert exact.guarantee.a_priori == pytest.approx(0.75, abs=1e-5)
    assert fast.guarantee.a_priori is not None
    assert fast.guarantee.a_priori < 0.75


def test_a_gap_that_is_allowed_ends_the_search_early() -> None:
    """With a large gap allowed the answer may be worse, but the work is less."""
    instance = random_instance(8, max_nodes=6, max_jobs=12, max_workers=5, running=False)
    problem, events, quick = compile_problem(instance), list[Event](), list[Event]()
    solve(problem, Request(), Budget(), events.append)
    solve(problem, Request(gap=10.0), Budget(), quick.append)
    assert len(quick) <= len(events)


def test_an_instance_without_open_jobs() -> None:
    """Nothing to decide: the empty placement, at once."""
    answer, value = run(flat([4], []))
    assert answer.placement == {}
    assert value == 0.0
    pinned = Job(name="p", gpus=2, placement={"n0": 2})
    answer, value = run(flat([4], [pinned]))
    assert answer.placement == {}
    assert value == pytest.approx(2.0)
