"""The engine: its claims and its bound on tiny instances, and what it says at the edges."""

from __future__ import annotations

import math

import msgspec
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import compile_problem, named
from crop_cli.model.solution import Guarantee
from crop_cli.solvers.config_lp.solve import solve
from crop_cli.solvers.contract import Answer, Budget, Request
from crop_cli.solvers.greedy.solve import solve as greedy
from tests.bruteforce import optimum
from tests.solvers.greedy.build import copied, flat, ignore, racks
from tests.solvers.greedy.truth import confined_optimum
from tests.tiny import random_instance

change = msgspec.structs.replace


def answer_of(instance: Instance, **options: str) -> tuple[Answer, float]:
    """The answer and its F by the evaluator, which has to accept it."""
    problem = compile_problem(instance)
    answer = solve(problem, Request(options=options), Budget(), ignore)
    assert answer.placement is not None
    evaluation = evaluate(instance, named(problem, answer.placement))
    assert evaluation.feasible
    return answer, evaluation.objective


def claim_of(instance: Instance, **options: str) -> Guarantee:
    """The guarantee."""
    return answer_of(instance, **options)[0].guarantee


@pytest.mark.parametrize(("start", "times"), [(0, 1), (1000, 1), (2000, 2), (3000, 3)])
def test_claims_and_bounds_hold_against_enumeration(start: int, times: int) -> None:
    """F is at least the claimed factor of what it is claimed of, and no bound is below the optimum."""
    claimed = of_optimum = bounded = solved = 0
    found: dict[tuple[int, str], float] = {}
    for seed in range(start, start + 40):
        bounds = {} if times == 1 else {"max_nodes": 4 // times, "max_workers": 4, "max_gpus": 3}
        instance = copied(random_instance(seed, **bounds), times)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        for level in (None, "cluster", *problem.tree.levels):
            options = {} if level is None else {"level": level}
            answer = solve(problem, Request(options=options), Budget(), ignore)
            assert not answer.infeasible or best is None
            if best is None:
                assert answer.placement is None
                continue
            if answer.bound is not None:
                bounded += 1
                assert answer.bound >= best - 1e-12 * max(1.0, abs(best)), seed
            if answer.placement is None:
                continue
            solved += 1
            value = evaluate(instance, named(problem, answer.placement)).objective
            claim = answer.guarantee
            assert claim.why
            if claim.a_priori is None:
                assert claim.relative_to is None
                continue
            claimed += 1
            assert 0 < claim.a_priori <= 1
            assert claim.relative_to is not None
            if claim.relative_to == "optimum":
                of_optimum += 1
                reference = best
            else:
                inside = claim.relative_to.removeprefix("best placement that keeps each job inside one ")
                if (seed, inside) not in found:
                    found[seed, inside] = confined_optimum(instance, inside)
                reference = problem.pinned_value + found[seed, inside]
            assert value >= claim.a_priori * reference - 1e-7, seed
    assert solved > 60
    assert claimed > 0.5 * solved
    assert of_optimum > 0
    assert bounded > 20


def test_nodes_that_differ_have_more_than_one_half() -> None:
    """Where the greedy can only claim 1/2, because the nodes differ, the configuration LP claims 1 − 1/e and more."""
    instance = flat([4, 3, 2], [Job(name=f"j{i}", gpus=2, within="node") for i in range(6)])
    problem = compile_problem(instance)
    assert greedy(problem, Request(), Budget(), ignore).guarantee.a_priori == pytest.approx(0.5, abs=2e-6)
    claim = claim_of(instance)
    assert claim.a_priori == pytest.approx(1 - (2 / 3) ** 3, abs=1e-4)
    assert claim.a_priori > 1 - 1 / math.e
    assert claim.relative_to == "optimum"
    assert "3 node domains of 3 kinds" in claim.why


def test_the_bound_of_the_lp_sees_what_does_not_fit_whole() -> None:
    """Three jobs of 3 GPUs on two nodes of 4, each confined to a node: two run, and the bound says so."""
    answer, value = answer_of(flat([4, 4], [Job(name=f"j{i}", gpus=3, within="node") for i in range(3)]))
    assert value == pytest.approx(6.0)
    assert answer.bound == pytest.approx(6.0, rel=1e-6)


def test_no_bound_where_jobs_may_span_domains() -> None:
    """A job that may spread over nodes: the LP over nodes says nothing about the optimum."""
    answer, _ = answer_of(flat([4, 4], [Job(name="a", gpus=3, within="node"), Job(name="b", gpus=2)]))
    assert answer.bound is None
    assert answer.guarantee.relative_to == "best placement that keeps each job inside one node"


def test_exact_arrangements_sharpen_the_bound_of_racks() -> None:
    """Racks of two nodes with 3 GPUs each hold no two jobs of 2 that stay in a node beside one of 2: the fractional
    knapsack does not see it, an exact back end does."""
    jobs = [Job(name=f"j{i}", gpus=2, within="node") for i in range(6)]
    instance = racks([[3, 3], [3, 3]], jobs)
    rough, sharp = answer_of(instance, level="rack")[0], answer_of(instance, level="rack", oracle="exact")[0]
    assert rough.guarantee.a_priori is not None
    assert sharp.guarantee.a_priori == pytest.approx(0.75, abs=1e-4)
    assert sharp.bound == pytest.approx(8.0, rel=1e-6)


def test_no_claim_when_pinned_jobs_cost_more_than_they_give() -> None:
    """With a negative constant part of F no factor follows."""
    pinned = Job(name="p", gpus=2, placement={"n0": 1, "n1": 1})
    instance = flat([4, 4], [pinned, Job(name="a", gpus=2)])
    claim = claim_of(change(instance, objective=change(instance.objective, cut_penalty=5.0)))
    assert claim.a_priori is None
    assert "< 0" in claim.why


def test_no_claim_when_a_required_job_displaces_better_ones() -> None:
    """A required job of little worth takes the only node: F is below what the factor applies to."""
    jobs = [Job(name="must", gpus=4, weight=0.1, required=True), Job(name="heavy", gpus=4, weight=5.0)]
    answer, value = answer_of(flat([4], jobs))
    assert value == pytest.approx(0.4)
    assert answer.guarantee.a_priori is None
    assert "displaced" in answer.guarantee.why


def test_nothing_to_gain_is_optimal() -> None:
    """Without an open job that fits, the pinned placement is the optimum: the factor is 1, the bound is F."""
    answer, value = answer_of(flat([2, 2], [Job(name="huge", gpus=9)]))
    assert answer.guarantee.a_priori == 1.0
    assert answer.guarantee.relative_to == "optimum"
    assert answer.bound == value == 0.0


def test_one_domain_says_so() -> None:
    """Over the whole cluster there is one domain: a note says that rounding chooses nothing."""
    answer, _ = answer_of(flat([4, 4], [Job(name="a", gpus=6)]), level="cluster")
    assert any("nothing to choose" in note for note in answer.notes)


def test_interrupted_at_once() -> None:
    """A run that is interrupted at once claims nothing, bounds nothing, and says why it ended."""
    problem, budget = compile_problem(flat([4, 4], [Job(name="a", gpus=3)])), Budget()
    budget.interrupt()
    answer = solve(problem, Request(), budget, ignore)
    assert answer.stop_reason == "interrupted"
    assert answer.guarantee.a_priori is None
    assert "stopped" in answer.guarantee.why
    assert answer.bound is None


def test_proven_infeasibility_and_unknown_options() -> None:
    """A required job that fits nowhere is proof of infeasibility; an unknown option is refused by name."""
    problem = compile_problem(flat([2], [Job(name="a", gpus=3, required=True)]))
    assert solve(problem, Request(), Budget(), ignore).infeasible
    with pytest.raises(UsageError, match="config-lp has no option 'nope'"):
        solve(problem, Request(options={"nope": "1"}), Budget(), ignore)


def test_a_start_is_never_lost() -> None:
    """F is at least that of the placement that is handed in."""
    for seed in range(30):
        problem = compile_problem(random_instance(seed))
        first = greedy(problem, Request(), Budget(), ignore)
        if first.placement is None:
            continue
        answer = solve(problem, Request(start=first.placement), Budget(), ignore)
        assert answer.placement is not None
        before, after = (
            evaluate(problem.instance, named(problem, placement)).objective
            for placement in (first.placement, answer.placement)
        )
        assert after >= before - 1e-12 * max(1.0, abs(before))


def test_the_same_input_gives_the_same_output() -> None:
    """Two runs find the same placement, bound and guarantee."""
    for seed in range(10):
        problem = compile_problem(copied(random_instance(seed, max_nodes=3), 2))
        first, second = (solve(problem, Request(seed=3), Budget(), ignore) for _ in range(2))
        assert (first.placement, first.bound, first.guarantee) == (second.placement, second.bound, second.guarantee)
