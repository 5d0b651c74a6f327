"""Losses against the prices add up to the gap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crop_cli.model.problem import compile_problem
from crop_cli.solvers.columns.bound import column_bound
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.dual import dual_value
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.solve import solve as greedy
from crop_cli.solvers.oracle import Prices, best_values
from crop_cli.solvers.search.ledger import Ledger
from tests.solvers.columns.samples import job, problem_of, racks


def test_losses_and_jobs_left_out_make_the_gap() -> None:
    """Where uplinks have no price, the losses of all domains and the values of jobs left out are the dual value − F."""
    problem = problem_of(racks([[8, 5, 3], [7, 4, 1], [2, 6, 6]], [job(f"j{i}", 1 + 3 * i % 7) for i in range(12)]))
    answer = greedy(problem, Request(), Budget(), lambda _event: None)
    assert answer.placement is not None
    board = Board.empty(problem)
    board.load(answer.placement)
    node = np.zeros_like(problem.free)
    node[:, 0] = np.linspace(0.7, 1.1, problem.n_nodes)
    prices = Prices(node=node, uplink=np.zeros(problem.tree.n_vertices))
    values = np.zeros(problem.n_jobs)
    jobs = problem.open_jobs
    values[jobs] = best_values(problem, jobs, problem.free, problem.uplink_free, prices)
    ledger = Ledger.of(problem, prices, np.maximum(values, 0.0))
    assert len(ledger) == 3
    losses = ledger.losses(problem, board)
    left_out = math.fsum(float(ledger.values[j]) for j in jobs.tolist() if j not in board.placement)
    gap = dual_value(problem, prices, values[jobs], jobs) - board.value
    assert losses.sum() + left_out == pytest.approx(gap, abs=1e-4)


def test_what_the_lp_gives_to_whole_racks_is_not_lost() -> None:
    """At the LP's prices, jobs that fill their racks lose nothing there."""
    problem = problem_of(racks([[8, 8], [8, 8]], [job(f"j{i}", 8) for i in range(4)]))
    answer = greedy(problem, Request(), Budget(), lambda _event: None)
    found = column_bound(problem, Budget(), start=answer.placement)
    assert answer.placement is not None and found.prices is not None and found.values is not None
    board = Board.empty(problem)
    board.load(answer.placement)
    values = np.zeros(problem.n_jobs)
    values[problem.open_jobs] = found.values[found.groups.of_job[problem.open_jobs]]
    assert Ledger.of(problem, found.prices, np.maximum(values, 0)).losses(problem, board).sum() < 1e-3


def test_a_cluster_without_switches_has_nodes_for_domains() -> None:
    """Every node is a domain of its own there."""
    instance = racks([[8, 5, 3]], [job("a", 2)])
    flat = [type(n)(name=n.name, gpus=n.gpus) for n in instance.cluster.nodes]
    cluster = type(instance.cluster)(levels=["node"], nodes=flat)
    problem = compile_problem(type(instance)(format=instance.format, cluster=cluster, jobs=instance.jobs))
    prices = Prices(node=np.zeros_like(problem.free), uplink=np.zeros(problem.tree.n_vertices))
    ledger = Ledger.of(problem, prices, np.zeros(1))
    assert ledger.domain_of.tolist() == [0, 1, 2]
