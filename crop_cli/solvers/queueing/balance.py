"""Arithmetic of Kueue's balanced placement: how large the least share can be, and which domains to take.

Source: Kueue, pkg/cache/scheduler/tas_balanced_placement.go. Capacities and needs are in slices.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

Chain = tuple["Chain", int] | None
"""Positions of the domains chosen so far, last one first."""


def needed(slices: NDArray[np.int64], need: int) -> int:
    """How many domains are used when the largest are filled first; 0 if all together are too small."""
    filled = np.cumsum(-np.sort(-slices))
    enough = np.flatnonzero(filled >= need)
    return int(enough[0]) + 1 if len(enough) else 0


def least_share(slices: NDArray[np.int64], need: int) -> int:
    """Threshold: an equal share of the domains that greedy uses, or the last one's capacity if that is smaller.

    0 if all domains together are too small.
    """
    used = needed(slices, need)
    return 0 if used == 0 else min(need // used, int(-np.sort(-slices)[used - 1]))


def fewest(domains: list[int], slices: list[int], need: int) -> list[int]:
    """As few domains as can hold the need, of least total capacity; of equal choices the first found in order.

    Returns
    -------
    list of int
        The chosen ones, in order; empty if all together are too small.
    """
    used = needed(np.array(slices, dtype=np.int64), need)
    # One table per number of domains: slices left to place, and the first choice that leaves as many.
    tables: list[dict[int, Chain]] = [{need: None}, *({} for _ in range(used))]
    seen: Counter[int] = Counter()
    for i, capacity in enumerate(slices):
        seen[capacity] += 1
        if seen[capacity] > used:
            # Whatever it could be part of was found before, with an earlier domain of the same capacity in its place.
            continue
        for count in range(used, 0, -1):
            for left in tables[count - 1]:
                if left > 0:
                    tables[count].setdefault(left - capacity, (tables[count - 1][left], i))
    ends = [left for left in tables[used] if left <= 0]
    if used == 0 or not ends:
        return []
    chosen: list[int] = []
    chain = tables[used][max(ends)]
    while chain is not None:
        chain, i = chain
        chosen.append(domains[i])
    return chosen[::-1]
