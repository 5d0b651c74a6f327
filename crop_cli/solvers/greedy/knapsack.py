"""The best arrangement of one node: a knapsack, exact by dynamic programming over the GPU count (model.md, section 9).

Jobs that lie wholly inside a node do not slow each other, so their gains add up and only capacities couple them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray

SEARCH_LIMIT = 500
"""Branches that `pack` opens at most when the GPU count is not the only resource that binds."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Chosen items (ascending positions), the sum of their gains, and an upper bound of any choice's."""

    chosen: tuple[int, ...]
    gain: float
    bound: float


def pack(sizes: IntArray, gains: FloatArray, needs: FloatArray, free: FloatArray) -> Packing:
    """Choose items of largest total gain within capacity.

    Parameters
    ----------
    sizes
        (n) GPUs of every item, at least 1.
    gains
        (n) positive gains.
    needs
        (n, R) of every resource per item; column 0 is GPUs.
    free
        (R) capacity, tolerance included.

    Notes
    -----
    The dynamic program sees GPUs alone. If its choice fits all resources it is optimal; otherwise its value is an upper
    bound that guides a depth-first search, which is exact unless it meets `SEARCH_LIMIT`. Then `gain < bound` may hold
    and gain/bound is the certified factor.
    """
    capacity = int(free[0] + 0.5)
    table = _suffix_values(sizes, gains, capacity)
    chosen = _trace(table, sizes, gains, capacity)
    if needs.shape[1] == 1 or (needs[chosen].sum(axis=0) <= free).all():
        gain = float(gains[chosen].sum())
        return Packing(tuple(chosen), gain, gain)
    return _search(table, sizes, gains, needs, free)


def contenders(gains: FloatArray, starts: IntArray, sizes: IntArray, capacity: int) -> IntArray:
    """Items that an optimal packing may be limited to: of each group, the ⌊capacity/size⌋ of largest positive gain.

    Items of a group need the same of every resource, so one of larger gain can replace another of the group.

    Parameters
    ----------
    gains
        (n) gain of every item, items of a group side by side; the first of equals is preferred.
    starts
        (G+1) where each group starts; its items are `range(starts[g], starts[g+1])`.
    sizes
        (G) GPUs of every item of a group.
    capacity
        GPUs.
    """
    found = []
    for group in np.flatnonzero(sizes <= capacity):
        first, end = int(starts[group]), int(starts[group + 1])
        fit = capacity // int(sizes[group])
        mine = gains[first:end]
        best = np.argsort(-mine, kind="stable")[:fit] if end - first > fit else np.arange(end - first)
        found.append(first + best[mine[best] > 0])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _suffix_values(sizes: IntArray, gains: FloatArray, capacity: int) -> FloatArray:
    """(n+1, capacity+1): largest gain of items i.. in c GPUs."""
    table = np.zeros((len(sizes) + 1, capacity + 1))
    for i in range(len(sizes) - 1, -1, -1):
        row, below, size = table[i], table[i + 1], int(sizes[i])
        row[:] = below
        if size <= capacity:
            np.maximum(below[size:], below[: capacity + 1 - size] + gains[i], out=row[size:])
    return table


def _trace(table: FloatArray, sizes: IntArray, gains: FloatArray, capacity: int) -> list[int]:
    """Items of an optimal choice; an item that may be left out is left out."""
    chosen, left = [], capacity
    for i in range(len(sizes)):
        if table[i, left] > table[i + 1, left]:
            chosen.append(i)
            left -= int(sizes[i])
    return chosen


def _search(table: FloatArray, sizes: IntArray, gains: FloatArray, needs: FloatArray, free: FloatArray) -> Packing:
    """Depth first over the items, cut off where the GPU table cannot beat the best choice found."""
    n, opened = len(sizes), 0
    best: tuple[float, tuple[int, ...]] = (0.0, ())
    # Each entry: next item, resources left, gain so far, items so far. Taking an item is tried before leaving it.
    stack: list[tuple[int, FloatArray, float, tuple[int, ...]]] = [(0, free, 0.0, ())]
    while stack and opened < SEARCH_LIMIT:
        i, left, gain, items = stack.pop()
        opened += 1
        if gain > best[0]:
            best = (gain, items)
        if i == n or gain + table[i, int(left[0] + 0.5)] <= best[0]:
            continue
        stack.append((i + 1, left, gain, items))
        if (needs[i] <= left).all():
            stack.append((i + 1, left - needs[i], gain + float(gains[i]), (*items, i)))
    bound = best[0] if not stack else float(table[0, -1])
    if stack:
        bound = min(bound, *(_fractional(gains, needs[:, r], float(free[r])) for r in range(needs.shape[1])))
        bound = max(bound, best[0])
    return Packing(best[1], best[0], bound)


def _fractional(gains: FloatArray, need: FloatArray, free: float) -> float:
    """Largest gain in one resource when items may be cut."""
    order = np.argsort(-gains / np.maximum(need, 1e-300), kind="stable")
    taken = np.minimum(
        1.0, np.maximum(0.0, free - np.cumsum(need[order]) + need[order]) / np.maximum(need[order], 1e-300)
    )
    return float((gains[order] * taken).sum())
