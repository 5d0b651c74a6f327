"""Sets of counts as bits, against Python's own sets."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from crop_cli.model import count_sets

SETS = st.lists(st.sets(st.integers(0, 6), min_size=1), max_size=4)


def as_bits(counts: set[int]) -> int:
    """The integer that stands for a set."""
    return sum(1 << c for c in counts)


@given(SETS, st.integers(0, 12))
def test_sums_of_sets(sets: list[set[int]], k: int) -> None:
    """The total holds every sum of one element of each set that is at most k, and nothing else."""
    total = count_sets.total(map(as_bits, sets), count_sets.up_to(k))
    assert count_sets.members(total) == sorted({s for s in map(sum, product(*sets)) if s <= k})


@given(st.sets(st.integers(0, 6), min_size=1), st.integers(1, 7))
def test_equal_sets_are_added_by_doubling(counts: set[int], times: int) -> None:
    """A set added to itself many times is the same as one by one."""
    one_by_one = 1
    for _ in range(times):
        one_by_one = count_sets.add(one_by_one, as_bits(counts), count_sets.up_to(50))
    assert count_sets.total([as_bits(counts)] * times, count_sets.up_to(50)) == one_by_one
