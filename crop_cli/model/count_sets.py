"""Sets of counts of workers as bits of one integer: bit x says that x is in the set.

Sums of sets say which counts are attainable below a vertex, from those of its children. The evaluator does not use this
module; it has its own arithmetic, so that a slip here cannot hide there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def up_to(k: int) -> int:
    """The set 0..k: also the mask that keeps sums at most k."""
    return (1 << (k + 1)) - 1


def members(counts: int) -> list[int]:
    """Elements of a set, ascending."""
    return [c for c in range(counts.bit_length()) if counts >> c & 1]


def add(a: int, b: int, mask: int) -> int:
    """Sums of an element of each of two sets, as far as the mask goes."""
    # Two ranges from 0 add up to a range; an empty set is none.
    if a and b and a & (a + 1) == 0 and b & (b + 1) == 0:
        return ((1 << (a.bit_length() + b.bit_length() - 1)) - 1) & mask
    if a.bit_count() < b.bit_count():
        a, b = b, a
    total = 0
    while b:
        low = b & -b
        total |= a << (low.bit_length() - 1)
        b ^= low
    return total & mask


def total(sets: Iterable[int], mask: int) -> int:
    """Sums of an element of each set, as far as the mask goes; equal sets by doubling."""
    result = 1
    for counts, times in Counter(sets).items():
        power, left = counts, times
        while left:
            if left & 1:
                result = add(result, power, mask)
            left >>= 1
            if left:
                power = add(power, power, mask)
    return result
