"""The knapsack of one node against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from crop_cli.solvers.greedy import knapsack
from crop_cli.solvers.greedy.knapsack import contenders, pack


def enumerated(gains: NDArray[np.float64], needs: NDArray[np.float64], free: NDArray[np.float64]) -> float:
    """Largest gain over all subsets that fit."""
    n = len(gains)
    subsets = (list(s) for r in range(n + 1) for s in combinations(range(n), r))
    return max(float(gains[s].sum()) for s in subsets if (needs[s].sum(axis=0) <= free).all())


def items(seed: int, resources: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Sizes, gains and needs of up to nine items; a few gains are equal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 10))
    sizes = rng.integers(1, 6, size=n)
    gains = np.where(rng.random(n) < 0.3, 1.5, rng.random(n) * sizes + 0.01)
    needs = np.column_stack([sizes, *(sizes * rng.choice([0.0, 1.5, 4.0], size=n) for _ in range(resources - 1))])
    return sizes, gains, needs.reshape(n, resources)


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_packing_is_the_best_subset(resources: int) -> None:
    """The packing fits, its gain is that of its items, and no subset that fits gains more; its bound says so."""
    for seed in range(150):
        sizes, gains, needs = items(seed, resources)
        free = np.array([8.0, 14.0, 10.5][:resources])
        packing = pack(sizes, gains, needs, free)
        chosen = list(packing.chosen)
        assert (needs[chosen].sum(axis=0) <= free).all()
        assert packing.gain == pytest.approx(float(gains[chosen].sum()), abs=1e-12)
        assert packing.gain == pytest.approx(enumerated(gains, needs, free), abs=1e-9)
        assert packing.bound == pytest.approx(packing.gain, abs=1e-9)


def test_a_search_that_is_cut_short_says_how_far_it_may_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few branches allowed the packing still fits, and its bound is not below the best subset's gain."""
    monkeypatch.setattr(knapsack, "SEARCH_LIMIT", 4)
    short = 0
    for seed in range(150):
        sizes, gains, needs = items(seed, 3)
        free = np.array([8.0, 9.0, 9.0])
        packing = pack(sizes, gains, needs, free)
        best = enumerated(gains, needs, free)
        assert (needs[list(packing.chosen)].sum(axis=0) <= free).all()
        assert packing.gain <= best + 1e-9
        assert packing.bound >= best - 1e-9
        short += packing.gain < best - 1e-9
    assert short > 0, "the limit never mattered, so the test says nothing"


def test_contenders_keep_an_optimal_packing() -> None:
    """Limiting each group to the items that fit at once, the largest gains first, loses nothing."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        group_sizes = rng.permutation(5)[:3] + 1
        members = rng.integers(0, 5, size=3)
        starts = np.concatenate([[0], np.cumsum(members)])
        sizes = np.repeat(group_sizes, members)
        gains = rng.normal(0.5, 1.0, size=len(sizes))
        kept = contenders(gains, starts, group_sizes, 6)
        assert (gains[kept] > 0).all()
        needs = sizes[:, None].astype(np.float64)
        free = np.array([6.0])
        assert enumerated(gains[kept], needs[kept], free) == pytest.approx(enumerated(gains, needs, free), abs=1e-12)
        for group, size in enumerate(group_sizes):
            assert ((kept >= starts[group]) & (kept < starts[group + 1])).sum() <= 6 // size


def test_first_of_equals_is_kept() -> None:
    """Among equal items of a group the first are contenders, so that the answer does not depend on sorting."""
    kept = contenders(np.ones(6), np.array([0, 6]), np.array([4]), 8)
    assert kept.tolist() == [0, 1]


def test_nothing_to_pack() -> None:
    """No items, or none that fits, gives an empty packing of gain and bound 0."""
    none = pack(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 1)), np.array([4.0]))
    large = pack(np.array([5]), np.array([1.0]), np.array([[5.0]]), np.array([4.0]))
    assert (none.chosen, none.gain, none.bound) == ((), 0.0, 0.0)
    assert (large.chosen, large.gain, large.bound) == ((), 0.0, 0.0)
