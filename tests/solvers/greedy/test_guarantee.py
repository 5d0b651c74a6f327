"""What the greedy claims: true on every tiny instance, and silent where it must be."""

from __future__ import annotations

import msgspec
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import compile_problem, named
from crop_cli.model.solution import Guarantee
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy.solve import solve
from tests.bruteforce import optimum
from tests.solvers.greedy.build import copied, flat, ignore, racks
from tests.solvers.greedy.truth import confined_optimum
from tests.tiny import random_instance

change = msgspec.structs.replace


def claim_of(instance: Instance, **options: str) -> tuple[Guarantee, float]:
    """The guarantee and F."""
    problem = compile_problem(instance)
    answer = solve(problem, Request(options=options), Budget(), ignore)
    assert answer.placement is not None
    return answer.guarantee, evaluate(instance, named(problem, answer.placement)).objective


@pytest.mark.parametrize(("start", "times"), [(0, 1), (1000, 1), (2000, 2), (3000, 3)])
def test_claims_hold_against_enumeration(start: int, times: int) -> None:
    """F is at least the claimed factor of what it is claimed of, pinned jobs included; most instances get a claim."""
    claimed = of_optimum = solved = 0
    found: dict[tuple[int, str], float] = {}
    for seed in range(start, start + 50):
        bounds = {} if times == 1 else {"max_nodes": 4 // times, "max_workers": 4, "max_gpus": 3}
        instance = copied(random_instance(seed, **bounds), times)
        problem = compile_problem(instance)
        best, _ = optimum(instance)
        for level in (None, "cluster", *problem.tree.levels):
            options = {} if level is None else {"level": level}
            answer = solve(problem, Request(options=options), Budget(), ignore)
            if answer.placement is None or best is None:
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
            assert value >= claim.a_priori * reference - 1e-7
    assert solved > 80
    assert claimed > 0.5 * solved
    assert of_optimum > 0


def test_like_nodes_have_the_cardinality_factor() -> None:
    """Four like nodes that are arranged optimally: 1 − (1 − 1/4)^4."""
    jobs = [Job(name=f"j{i}", gpus=1 + i % 3) for i in range(9)]
    claim, _ = claim_of(flat([4, 4, 4, 4], jobs))
    assert claim.a_priori == pytest.approx(1 - 0.75**4, abs=2e-6)
    assert "4 interchangeable node domains" in claim.why


def test_full_nodes_do_not_count() -> None:
    """A node without room is no domain: two like nodes beside it still have 1 − (1 − 1/2)^2."""
    instance = flat([4, 4, 4], [Job(name="a", gpus=3), Job(name="b", gpus=3), Job(name="c", gpus=2)])
    nodes = [*instance.cluster.nodes[:2], change(instance.cluster.nodes[2], used={"gpus": 4})]
    claim, _ = claim_of(change(instance, cluster=change(instance.cluster, nodes=nodes)))
    assert claim.a_priori == pytest.approx(0.75, abs=2e-6)


def test_nodes_that_differ_have_one_half() -> None:
    """Nodes of different sizes: one half."""
    claim, _ = claim_of(flat([4, 3, 2], [Job(name=f"j{i}", gpus=2) for i in range(6)]))
    assert claim.a_priori == pytest.approx(0.5, abs=2e-6)
    assert "1/2" in claim.why


def test_of_the_optimum_only_if_nothing_may_span_domains() -> None:
    """The factor is one of the optimum when every job is kept inside a node by its own constraint; one job that is not
    makes it one of the best such placement."""
    kept = [Job(name="a", gpus=3, within="node"), Job(name="b", gpus=1), Job(name="c", gpus=4, gpus_per_node=4)]
    free = Job(name="d", gpus=2)
    assert claim_of(flat([4, 4], kept))[0].relative_to == "optimum"
    assert claim_of(flat([4, 4], [*kept, free]))[0].relative_to == "best placement that keeps each job inside one node"
    within = [change(free, within="rack"), *(change(job, within="rack") for job in kept)]
    claim, _ = claim_of(racks([[2, 2], [2, 2]], [*within, Job(name="e", gpus=4, within="rack")]))
    assert claim.relative_to == "optimum"


def test_a_job_that_fits_nowhere_does_not_count() -> None:
    """A job larger than the cluster leaves the factor one of the optimum: no placement has it."""
    jobs = [Job(name="a", gpus=3, within="node"), Job(name="huge", gpus=50)]
    assert claim_of(flat([4, 4], jobs))[0].relative_to == "optimum"


def test_a_job_that_is_worth_nothing_across_nodes_does_not_count() -> None:
    """If spreading costs more than a job is worth, no optimum spreads it."""
    instance = flat([4, 4], [Job(name="a", gpus=3)])
    costly = change(instance, objective=change(instance.objective, cut_penalty=2.0))
    assert claim_of(costly)[0].relative_to == "optimum"


def test_no_claim_when_pinned_jobs_cost_more_than_they_give() -> None:
    """With a negative constant part of F no factor follows."""
    pinned = Job(name="p", gpus=2, placement={"n0": 1, "n1": 1})
    instance = flat([4, 4], [pinned, Job(name="a", gpus=2)])
    claim, _ = claim_of(change(instance, objective=change(instance.objective, cut_penalty=5.0)))
    assert claim.a_priori is None
    assert "< 0" in claim.why


def test_no_claim_when_a_required_job_displaces_better_ones() -> None:
    """A required job of little worth takes the only node: F is below what the factor applies to."""
    jobs = [Job(name="must", gpus=4, weight=0.1, required=True), Job(name="heavy", gpus=4, weight=5.0)]
    claim, value = claim_of(flat([4], jobs))
    assert value == pytest.approx(0.4)
    assert claim.a_priori is None
    assert "displaced" in claim.why


def test_no_claim_when_the_run_was_stopped() -> None:
    """A run that was interrupted at once claims nothing and says so."""
    problem, budget = compile_problem(flat([4, 4], [Job(name="a", gpus=3)])), Budget()
    budget.interrupt()
    answer = solve(problem, Request(), budget, ignore)
    assert answer.stop_reason == "interrupted"
    assert answer.guarantee.a_priori is None
    assert "stopped" in answer.guarantee.why


def test_nothing_to_gain_is_optimal() -> None:
    """Without an open job that fits, the pinned placement is the optimum and the factor is 1."""
    claim, _ = claim_of(flat([2, 2], [Job(name="huge", gpus=9)]))
    assert claim.a_priori == 1.0
    assert claim.relative_to == "optimum"
