"""Conditional expectations: Φ is the expectation of the draw, and the choice never falls below it."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from crop_cli.solvers.config_lp.assign import assign
from crop_cli.solvers.config_lp.configuration import Classes, Configuration, Groups, Slot
from crop_cli.solvers.config_lp.relax import Relaxed
from crop_cli.solvers.config_lp.rounding import Misses, derandomise


def random_point(seed: int) -> tuple[Relaxed, Classes, Groups]:
    """A feasible point of a made-up configuration LP: one or two classes, at most three domains and three jobs."""
    rng = np.random.default_rng(seed)
    class_size = [1, 2] if seed % 2 else [3]
    group_size = [[1, 1, 1], [2, 1], [3]][seed % 3]
    found = []
    for c in range(len(class_size)):
        for _ in range(int(rng.integers(1, 4))):
            counts = [int(rng.integers(0, size + 1)) for size in group_size]
            slots = tuple(
                Slot(g, float(rng.integers(1, 6)), ((0, 1),)) for g, count in enumerate(counts) for _ in range(count)
            )
            found.append(Configuration(c, slots, sum(slot.utility for slot in slots)))
    weights = rng.random(len(found))
    load = [sum(w for w, a in zip(weights, found, strict=True) if a.of_class == c) for c in range(len(class_size))]
    load += [
        sum(w * sum(slot.group == g for slot in a.slots) for w, a in zip(weights, found, strict=True))
        for g in range(len(group_size))
    ]
    weights /= max(np.array(load) / np.array([*class_size, *group_size]))
    value = float(sum(w * a.value for w, a in zip(weights, found, strict=True)))
    jobs = iter(range(sum(group_size)))
    members = tuple(tuple(next(jobs) for _ in range(size)) for size in group_size)
    groups = Groups(np.repeat(np.arange(len(group_size)), group_size), members, np.array(group_size))
    vertex = iter(range(1, 10))
    domains = tuple(tuple(next(vertex) for _ in range(size)) for size in class_size)
    classes = Classes(1, domains, tuple(tuple((v,) for v in below) for below in domains))
    return Relaxed(tuple(found), weights, value, np.zeros(len(groups)), 1), classes, groups


def expectation(relaxed: Relaxed, classes: Classes, groups: Groups) -> float:
    """The expected sum of the jobs' best utilities, over every draw of every domain and every choice of jobs."""
    domains = []
    for c, members in enumerate(classes.members):
        mine = [
            (w / len(members), a)
            for w, a in zip(relaxed.weights, relaxed.configurations, strict=True)
            if a.of_class == c
        ]
        domains += [[*mine, (1 - sum(p for p, _ in mine), None)]] * len(members)
    total = 0.0
    for draw in product(*domains):
        chance = float(np.prod([p for p, _ in draw]))
        for g, jobs in enumerate(groups.members):
            offered = [[s.utility for s in a.slots if s.group == g] for _, a in draw if a is not None]
            # By symmetry all jobs of a group expect the same: the first one's, over the place that it gets, if any.
            ways = [[*values, *[0.0] * (len(jobs) - len(values))] for values in offered]
            best = [max(choice, default=0.0) for choice in product(*ways)]
            total += chance * len(jobs) * float(np.mean(best))
    return total


@pytest.mark.parametrize("block", range(3))
def test_rounding_reaches_what_the_draw_is_expected_to(block: int) -> None:
    """Φ is the expectation of the draw, at least 1 − (1 − 1/m)^m of the LP's value; what is chosen is at least Φ."""
    for seed in range(block * 60, block * 60 + 60):
        relaxed, classes, groups = random_point(seed)
        rounded = derandomise(relaxed, classes, groups)
        assert rounded.expected == pytest.approx(expectation(relaxed, classes, groups), rel=1e-9)
        share = 1 - (1 - 1 / classes.count) ** classes.count
        assert rounded.expected >= share * relaxed.value - 1e-9
        kept = assign(rounded.choices, classes, groups)
        assert kept.value >= rounded.expected - 1e-9
        assert len({(c, position) for c, position, _ in rounded.choices}) == len(rounded.choices)


def test_best_places_go_to_the_jobs_there_are() -> None:
    """No other choice of jobs for the places that were drawn is worth more."""
    for seed in range(60):
        relaxed, classes, groups = random_point(seed)
        choices = derandomise(relaxed, classes, groups).choices
        kept = assign(choices, classes, groups)
        best = 0.0
        for g, jobs in enumerate(groups.members):
            offered = [slot.utility for _, _, a in choices for slot in a.slots if slot.group == g]
            best += max(sum(few) for few in combinations(offered, min(len(jobs), len(offered))))
        assert kept.value == pytest.approx(best)


def test_factors_can_be_taken_out_again() -> None:
    """A product is the same after a factor was put in and taken out, sure hits included."""
    rng = np.random.default_rng(1)
    misses, every = Misses(6), np.arange(6)
    first, second = rng.random(6), np.array([1.0, 0.0, 0.5, 1.0, 1 - 1e-12, 0.3])
    misses.multiply(every, first, 3)
    misses.multiply(every, second)
    assert misses.at(every) == pytest.approx((1 - first) ** 3 * (1 - second), rel=1e-9)
    misses.multiply(every, second, -1)
    assert misses.at(every) == pytest.approx((1 - first) ** 3, rel=1e-9)
