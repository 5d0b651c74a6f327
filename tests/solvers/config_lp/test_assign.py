"""From placements to configurations and back, and the second look at every domain."""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Problem
from crop_cli.solvers.config_lp.assign import Kept, assign, configurations_of, confined_part, rearrange
from crop_cli.solvers.config_lp.relax import relax
from crop_cli.solvers.config_lp.rounding import derandomise
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.solve import solve
from tests.solvers.config_lp.parts import parts
from tests.solvers.greedy.build import ignore
from tests.solvers.greedy.truth import confined_optimum
from tests.tiny import random_instance


def check(problem: Problem, kept: Kept) -> None:
    """Every job fits beside the others and lies inside its domain."""
    board = Board.empty(problem)
    for job, (vertex, place) in kept.places.items():
        below = range(int(problem.tree.first_node[vertex]), int(problem.tree.end_node[vertex]))
        assert set(place.counts) <= set(below)
        assert board.fits(job, place.counts)
        board.take(job, place.counts)
    assert abs(board.value - problem.pinned_value - kept.value) < 1e-9


def test_rearranging_never_lowers_the_value() -> None:
    """From the rounded LP and from nothing, the value only rises, stays feasible and within the confined optimum."""
    rose = 0
    for seed in range(60):
        instance = random_instance(seed)
        for depth, level in enumerate(instance.cluster.levels, 1):
            problem, classes, groups, pricer = parts(instance, depth)
            if not classes.count:
                continue
            rounded = assign(derandomise(relax(pricer, [], Budget()), classes, groups).choices, classes, groups)
            for kept in (rounded, Kept({})):
                check(problem, kept)
                before = kept.value
                rearrange(pricer, kept, 10**9, Budget())
                check(problem, kept)
                assert kept.value >= before
                assert kept.value <= confined_optimum(instance, level) + 1e-9
                rose += kept.value > before
    assert rose > 50


def test_a_placement_becomes_configurations_and_back() -> None:
    """The jobs of a placement inside one domain are configurations of the same total; others are left out."""
    found = 0
    for seed in range(40):
        instance = random_instance(seed)
        problem, classes, groups, _ = parts(instance, 1)
        placement = solve(problem, Request(), Budget(), ignore).placement
        if placement is None:
            continue
        kept = confined_part(problem, classes, placement)
        check(problem, kept)
        assert all(placement[job] == place.counts for job, (_, place) in kept.places.items())
        configurations = configurations_of(kept, classes, groups)
        assert abs(sum(c.value for c in configurations) - kept.value) < 1e-9
        taken = np.zeros(len(groups))
        for configuration in configurations:
            for slot in configuration.slots:
                taken[slot.group] += 1
        assert (taken <= groups.size).all()
        found += len(configurations)
    assert found > 20
