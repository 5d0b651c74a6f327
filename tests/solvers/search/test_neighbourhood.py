"""Which nodes are chosen, and how choices are learned."""

from __future__ import annotations

import numpy as np

from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.oracle import Prices
from crop_cli.solvers.search.ledger import Ledger
from crop_cli.solvers.search.neighbourhood import LEAST, WAYS, Chooser
from tests.solvers.columns.samples import job, problem_of, racks


def _chooser(seed: int = 0) -> tuple[Chooser, Board]:
    jobs = [job(f"a{i}", 6) for i in range(14)]
    problem = problem_of(racks([[8, 5, 3, 4]] * 6, jobs))
    answer = greedy(problem, Request(), Budget(), lambda _event: None)
    board = Board.empty(problem)
    board.load(answer.placement or {})
    node = np.zeros_like(problem.free)
    node[:, 0] = 0.9
    prices = Prices(node=node, uplink=np.zeros(problem.tree.n_vertices))
    ledger = Ledger.of(problem, prices, np.zeros(problem.n_jobs))
    return Chooser(problem, ledger, np.random.default_rng(seed)), board


def test_nodes_are_ascending_and_as_many_as_asked() -> None:
    """Every way gives distinct nodes in order: as many as asked, or what one job spans and half as many more."""
    chooser, board = _chooser()
    for way in range(len(WAYS)):
        for size in (1, 3, 4, 9, 24):
            nodes = chooser.nodes(way, board, size)
            assert len(nodes) == size or size <= len(nodes) <= 3 + size // 2
            assert (np.diff(nodes) > 0).all()


def test_spread_sees_every_domain_before_any_again() -> None:
    """Six choices of one rack each are the six racks."""
    chooser, board = _chooser()
    seen = [int(chooser.ledger.domain_of[chooser.nodes(WAYS.index("spread"), board, 4)[0]]) for _ in range(6)]
    assert sorted(seen) == list(range(6))


def test_linked_starts_where_a_job_is_worse_than_it_could_be() -> None:
    """The nodes of some job that falls short are among those chosen."""
    chooser, board = _chooser()
    short = [
        set(counts)
        for j, counts in board.placement.items()
        if board.utilities[j] < chooser.problem.kind(j).weight * chooser.problem.kind(j).k - 1e-6
    ]
    assert short
    for _ in range(10):
        nodes = set(chooser.nodes(WAYS.index("linked"), board, 8).tolist())
        assert any(nodes & where for where in short)


def test_every_way_is_tried_first_and_none_dies_out() -> None:
    """Each way comes once; then the one that gains is preferred, and the others still come."""
    chooser, _ = _chooser()
    for way in range(len(WAYS)):
        assert chooser.way() == way
        chooser.learn(way, gain=1.0 if way == 2 else 0.0, work=100.0)
    drawn = np.bincount([chooser.way() for _ in range(2_000)], minlength=len(WAYS)) / 2_000
    assert drawn.argmax() == 2
    assert (drawn > LEAST / 2).all()


def test_choices_depend_on_the_seed_alone() -> None:
    """The same seed gives the same nodes, another one others."""
    draws = []
    for seed in (1, 1, 2):
        chooser, board = _chooser(seed)
        draws.append([chooser.nodes(way, board, 6).tolist() for way in (0, 1, 2, 3, 0)])
    assert draws[0] == draws[1] != draws[2]
