"""Improvement never lowers F and never loses a job that must run."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Job
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.improve import displace, fill, ruin, upgrade
from crop_cli.solvers.greedy.must import place_required
from crop_cli.solvers.greedy.setting import Setting
from tests.solvers.greedy.build import flat, racks, setting_of
from tests.tiny import random_instance


def started(seed: int) -> tuple[Setting, Board] | None:
    """A setting and a board with a start and some more jobs on it; None where no start is found."""
    problem = compile_problem(random_instance(seed, max_jobs=6))
    setting = setting_of(problem)
    start = place_required(setting)
    if start is None:
        return None
    board = Board.empty(problem)
    board.load(start)
    fill(setting, board, setting.orders()["large"][::2])
    setting.offer(board)
    return setting, board


def feasible(setting: Setting, board: Board) -> float:
    """F by the evaluator, of a placement that it must find feasible and that the board must value alike."""
    evaluation = evaluate(setting.problem.instance, named(setting.problem, board.placement))
    assert evaluation.violations == []
    assert evaluation.objective == pytest.approx(board.value, abs=1e-9)
    return float(evaluation.objective)


def test_no_step_lowers_f() -> None:
    """Fill, upgrade and displacement leave F as it is or raise it, and say which; ruins keep the best aside."""
    rose = 0
    for seed in range(80):
        begun = started(seed)
        if begun is None:
            continue
        setting, board = begun
        value = feasible(setting, board)
        fill(setting, board, setting.orders()["dense"])
        assert feasible(setting, board) >= value - 1e-12
        for step in (upgrade, lambda s, b: displace(s, b, s.orders()["valuable"], 9, 1.0)):
            value = feasible(setting, board)
            better = step(setting, board)
            assert feasible(setting, board) >= value - 1e-12
            assert better == (board.value > value + 1e-12)
            rose += better
        setting.offer(board)
        rng = np.random.default_rng(seed)
        for _ in range(10):
            value = setting.best_value
            better = ruin(setting, board, setting.orders()["dense"], rng)
            feasible(setting, board)
            assert better == (setting.best_value > value)
            assert setting.finder.bias is None
    assert rose > 10


def test_free_capacity_is_returned_exactly() -> None:
    """After any number of steps the board's free capacity is what its placement leaves."""
    for seed in range(60):
        begun = started(seed)
        if begun is None:
            continue
        setting, board = begun
        displace(setting, board, setting.orders()["valuable"], 9, 0.3)
        rng = np.random.default_rng(seed)
        for _ in range(5):
            ruin(setting, board, setting.orders()["dense"], rng)
        fresh = Board.empty(setting.problem)
        fresh.load(board.placement)
        assert board.state.free == pytest.approx(fresh.state.free, abs=1e-9)
        assert board.state.uplink_free == pytest.approx(fresh.state.uplink_free, abs=1e-9)


def test_upgrade_moves_a_job_to_a_node_that_became_free() -> None:
    """A job split over two nodes moves into one as soon as that is better."""
    job = Job(name="a", gpus=4, message_mb=500.0)
    setting = setting_of(compile_problem(racks([[4, 4]], [job])))
    board = Board.empty(setting.problem)
    board.take(0, {0: 2, 1: 2})
    assert upgrade(setting, board)
    assert len(board.placement[0]) == 1


def test_displacement_makes_room_for_a_heavier_job() -> None:
    """Two light jobs give way to one that is worth more than both; one that is worth less does not get in."""
    light = [Job(name=f"l{i}", gpus=2, weight=1.0) for i in range(2)]
    for weight, wins in ((3.0, True), (0.5, False)):
        setting = setting_of(compile_problem(flat([4], [*light, Job(name="h", gpus=4, weight=weight)])))
        board = Board.empty(setting.problem)
        board.take(0, {0: 2})
        board.take(1, {0: 2})
        setting.offer(board)
        assert displace(setting, board, [2, 0, 1], 5, 1.0) == wins
        assert (2 in board.placement) == wins
        assert len(board.placement) == (1 if wins else 2)
