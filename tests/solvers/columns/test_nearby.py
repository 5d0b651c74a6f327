"""Columns near the LP's optimum, in part of what is free."""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Problem, compile_problem, utility
from crop_cli.solvers.columns.column import Column, Groups, group_jobs
from crop_cli.solvers.columns.nearby import Nearby
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, fits
from crop_cli.solvers.state import State
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance


def nearby(problem: Problem, seed: int = 3) -> tuple[Groups, Nearby]:
    groups = group_jobs(problem)
    prices = Prices(np.full(problem.free.shape, 0.2), np.zeros(problem.tree.n_vertices))
    return groups, Nearby(problem, groups, prices, seed)


def key(columns: list[Column]) -> list[tuple[int, float, dict[int, int]]]:
    return [(c.group, c.utility, c.counts) for c in columns]


def test_columns_stay_in_the_room_and_the_groups_that_are_given() -> None:
    """Drawn for some groups in a share of what is free, every column is of these groups, fits there and is worth what
    it says."""
    checked = 0
    for seed in range(60):
        problem = compile_problem(random_instance(28_000 + seed, max_jobs=6))
        groups, draws = nearby(problem)
        if len(groups) == 0:
            continue
        rng = np.random.default_rng(seed)
        free = np.floor(problem.free * rng.uniform(0.5, 1.0, problem.free.shape))
        links = problem.uplink_free * rng.uniform(0.3, 1.0, problem.tree.n_vertices)
        listed = np.flatnonzero(rng.random(len(groups)) < 0.7)
        for column in draws.draw(4, Budget(), groups=listed, free=free, uplink_free=links):
            first = int(groups.first[column.group])
            assert column.group in listed
            assert fits(problem, problem.kind(first), column.counts, free, links), seed
            assert column.utility == utility(problem, first, column.counts)
            checked += 1
    assert checked > 200


def test_one_sequence_is_a_placement() -> None:
    """The columns of one sequence fit together into the room, each job at most once, and the room is left as it was."""
    several = 0
    for seed in range(60):
        problem = compile_problem(random_instance(29_000 + seed, max_jobs=6))
        groups, draws = nearby(problem)
        jobs = problem.open_jobs.tolist()
        room = State.empty(problem)
        found = draws.sequences(1, jobs, room, Budget())
        left = State.empty(problem)
        for column in found:
            left.take(int(groups.first[column.group]), column.counts)
        assert (left.free >= -problem.node_slack).all() and (left.uplink_free >= -problem.uplink_slack).all(), seed
        assert (np.bincount([c.group for c in found], minlength=len(groups)) <= groups.size).all()
        assert np.array_equal(room.free, problem.free) and np.array_equal(room.uplink_free, problem.uplink_free)
        several += len(found) > 1
    assert several > 20


def test_the_seed_decides() -> None:
    """Equal seeds draw equal columns, other seeds others, and noise spreads equal jobs over the nodes."""
    problem = problem_of(racks([[8, 8, 8], [8, 8, 8]], [job(f"a{i}", 4) for i in range(4)]))
    drawn = [key(nearby(problem, seed)[1].draw(20, Budget())) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({tuple(counts) for _, _, counts in drawn[0]}) > 2


def test_no_columns_without_time() -> None:
    """Passes and sequences end with the budget; what was drawn before is kept."""
    problem = problem_of(racks([[8, 8]], [job("a", 4), job("b", 3)]))
    groups, draws = nearby(problem)
    assert draws.draw(5, Looks(0)) == [] == draws.sequences(5, [0, 1], State.empty(problem), Looks(0))
    assert len(draws.draw(5, Looks(2))) == 2 * len(groups)
    assert len(draws.sequences(5, [0, 1], State.empty(problem), Looks(1))) == 2
