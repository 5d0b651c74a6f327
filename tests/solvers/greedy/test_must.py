"""Jobs that must run: placed if at all possible, and simple proofs that it is not."""

from __future__ import annotations

import msgspec

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance, Job
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Answer, Budget, Request
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.must import impossible, make_room, place_required
from crop_cli.solvers.greedy.solve import solve
from tests.bruteforce import optimum
from tests.solvers.greedy.build import flat, ignore, setting_of
from tests.tiny import random_instance

change = msgspec.structs.replace


def answer_of(instance: Instance) -> tuple[Answer, dict[str, dict[str, int]]]:
    """The greedy's answer and its placement by names."""
    problem = compile_problem(instance)
    answer = solve(problem, Request(), Budget(), ignore)
    return answer, {} if answer.placement is None else named(problem, answer.placement)


def test_jobs_that_must_run_are_placed_wherever_that_is_possible() -> None:
    """Many tight instances with required jobs: the answer is feasible whenever enumeration finds a feasible placement,
    and infeasibility is claimed only where there is none."""
    possible = proved = 0
    for seed in range(300):
        instance = random_instance(seed, max_nodes=3, max_gpus=3)
        jobs = [change(job, required=i % 2 == 0) for i, job in enumerate(instance.jobs)]
        instance = change(instance, jobs=jobs)
        best, _ = optimum(instance)
        answer, placement = answer_of(instance)
        if best is None:
            assert answer.placement is None
            assert answer.infeasible or answer.notes
            proved += answer.infeasible
            continue
        possible += 1
        assert not answer.infeasible
        assert answer.placement is not None
        assert evaluate(instance, placement).feasible
    assert possible > 60
    assert proved > 20


def test_the_start_holds_all_jobs_that_must_run_and_no_others() -> None:
    """The start is feasible by itself, and movable jobs stay where they are while required ones fit beside them."""
    movable = Job(name="m", gpus=2, placement={"n0": 2}, movable=True, migration_minutes=1.0)
    required, optional = Job(name="r", gpus=3, required=True), Job(name="o", gpus=1, weight=9.0)
    problem = compile_problem(flat([4, 4], [optional, movable, required]))
    assert place_required(setting_of(problem)) == {1: {0: 2}, 2: {1: 3}}


def test_a_movable_job_moves_when_a_required_one_needs_its_place() -> None:
    """Staying comes first, but not at the price of a required job that fits nowhere else."""
    movable = Job(name="m", gpus=2, placement={"n0": 2}, movable=True)
    required = Job(name="r", gpus=4, required=True, within="node")
    _, placement = answer_of(flat([4, 2], [movable, required]))
    assert placement == {"m": {"n1": 2}, "r": {"n0": 4}}


def test_make_room_displaces_the_least_valuable() -> None:
    """A required job gets its node; of the two jobs that stood aside, the denser one comes back."""
    jobs = [Job(name="r", gpus=2, required=True), Job(name="a", gpus=2, weight=1.0), Job(name="b", gpus=2, weight=3.0)]
    setting = setting_of(compile_problem(flat([4], jobs)))
    board = Board.empty(setting.problem)
    board.take(1, {0: 2})
    board.take(2, {0: 2})
    assert make_room(setting, board)
    assert board.placement == {0: {0: 2}, 2: {0: 2}}


def test_make_room_says_when_there_is_none() -> None:
    """If a required job fits nowhere even alone, the others come back and the answer is no."""
    jobs = [Job(name="r", gpus=5, required=True), Job(name="a", gpus=2)]
    setting = setting_of(compile_problem(flat([4], jobs)))
    board = Board.empty(setting.problem)
    board.take(1, {0: 2})
    assert not make_room(setting, board)
    assert board.placement == {1: {0: 2}}


def test_a_required_job_that_does_not_fit_alone_is_a_proof() -> None:
    """The proof names the job; the answer says infeasible and has no placement."""
    instance = flat([4, 4], [Job(name="wide", gpus=6, within="node", required=True)])
    assert "'wide'" in (impossible(compile_problem(instance)) or "")
    answer, _ = answer_of(instance)
    assert answer.infeasible
    assert answer.placement is None
    assert answer.stop_reason == "proved"


def test_required_jobs_that_need_more_than_there_is_are_a_proof() -> None:
    """Each fits alone, together they need more GPUs, or more of another resource, than are free."""
    jobs = [Job(name=f"r{i}", gpus=3, required=True) for i in range(3)]
    assert "9 gpus" in (impossible(compile_problem(flat([4, 4], jobs))) or "")
    hungry = [change(job, gpus=1, resources_per_gpu={"cpu": 2.0}) for job in jobs]
    instance = flat([4, 4], hungry)
    nodes = [change(node, resources={"cpu": 2.5}) for node in instance.cluster.nodes]
    assert "6 cpu" in (
        impossible(compile_problem(change(instance, cluster=change(instance.cluster, nodes=nodes)))) or ""
    )


def test_no_proof_where_the_pieces_do_not_fit_together() -> None:
    """Three gangs of three on nodes of four and five: more GPUs than needed, and no proof by counting, but an honest
    answer without a placement."""
    jobs = [Job(name=f"r{i}", gpus=3, within="node", required=True) for i in range(3)]
    answer, _ = answer_of(flat([4, 5], jobs))
    assert answer.placement is None
    assert not answer.infeasible
    assert answer.notes
