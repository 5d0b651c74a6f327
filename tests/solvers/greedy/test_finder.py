"""Best places by bounds and oracle, against the oracle alone."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.problem import Problem, compile_problem, utility
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.finder import Finder
from crop_cli.solvers.greedy.outlook import build_outlook
from crop_cli.solvers.oracle import best_placement
from tests.tiny import random_instance

BOUNDS = [{}, {"max_levels": 4, "max_nodes": 6}, {"max_nodes": 9, "max_workers": 4, "max_gpus": 3}]


def half_full(problem: Problem, finder: Finder, rng: np.random.Generator) -> Board:
    """A board on which some of the jobs have taken a place."""
    board = Board.empty(problem)
    for job in problem.open_jobs.tolist():
        place = finder.best(board, job) if rng.random() < 0.4 else None
        if place is not None:
            board.take(job, place.counts, place.utility)
    return board


@pytest.mark.parametrize("bounds", BOUNDS, ids=["plain", "deep", "wide"])
def test_best_place_is_the_oracles(bounds: dict[str, int]) -> None:
    """Without thrift a best place has the utility of the oracle's, anywhere and inside every vertex; None as it is."""
    for seed in range(80):
        problem = compile_problem(random_instance(seed, **bounds))
        rng, finder = np.random.default_rng(seed), Finder(problem, build_outlook(problem), Budget())
        board = half_full(problem, finder, rng)
        for job in problem.open_jobs.tolist():
            if job in board.placement:
                continue
            for vertex in {0, int(rng.integers(problem.tree.n_vertices))}:
                place = finder.best(board, job, below=vertex)
                truth = best_placement(problem, job, board.state.free, board.state.uplink_free, below=vertex)
                assert (place is None) == (truth is None)
                if place is not None and truth is not None:
                    assert place.utility == pytest.approx(truth.utility, abs=1e-7)
                    assert place.utility == pytest.approx(utility(problem, job, place.counts), abs=1e-9)
                    assert board.fits(job, place.counts)


@pytest.mark.parametrize("bias", [False, True], ids=["thrifty", "biased"])
def test_prices_choose_among_places_but_never_invent_one(bias: bool) -> None:
    """With thrift or bias a place still fits, has its own utility, exceeds the floor, and is None only if none does."""
    for seed in range(80):
        problem = compile_problem(random_instance(seed))
        rng, finder = np.random.default_rng(seed), Finder(problem, build_outlook(problem), Budget(), thrift=1e-3)
        board = half_full(problem, finder, rng)
        finder.bias = rng.random(problem.n_nodes) if bias else None
        for job in problem.open_jobs.tolist():
            if job in board.placement:
                continue
            truth = best_placement(problem, job, board.state.free, board.state.uplink_free)
            for floor in (
                (-np.inf, 0.0) if truth is None else (-np.inf, 0.0, truth.utility - 0.01, truth.utility + 0.01)
            ):
                place = finder.best(board, job, floor=floor)
                assert (place is None) == (truth is None or truth.utility <= floor + 1e-7)
                if place is not None:
                    assert place.utility > floor
                    assert place.utility == pytest.approx(utility(problem, job, place.counts), abs=1e-9)
                    assert board.fits(job, place.counts)


def test_answers_are_remembered_by_state() -> None:
    """Asking again in the same state gives the same answers without any work of the oracle."""
    for seed in range(60):
        problem = compile_problem(random_instance(seed, max_nodes=5))
        finder, board = Finder(problem, build_outlook(problem), Budget()), Board.empty(problem)
        jobs = [j for j in problem.open_jobs.tolist() if j not in problem.current]
        before = [finder.best(board, j) for j in jobs]
        work = finder.work
        assert [finder.best(board, j) for j in jobs] == before
        assert finder.work == work
