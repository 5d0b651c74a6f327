"""Cut functions: the bytes a job sends over an uplink, by communication pattern (model.md, section 4).

To add a pattern, write its `traffic` function and one entry of `PATTERNS`. Everything else (evaluator, performance
levels, oracle, linearisation) asks this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SECONDS_PER_MB_AT_1_GBPS = 8e-3
"""One megabyte (10^6 bytes) takes this many seconds at one gigabit per second."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A communication pattern.

    Attributes
    ----------
    name
        The word used in instance files.
    traffic
        `traffic(message_mb, k, x)`: megabytes per iteration and direction over the uplink of a vertex that holds `x` of
        the job's `k` workers. `x` may be an array; the result has its shape and is 0 where `x` is 0 or `k`.
    meaning
        One line for people.
    """

    name: str
    traffic: Callable[[float, int, FloatArray], FloatArray]
    meaning: str


def _allreduce(message_mb: float, k: int, x: FloatArray) -> FloatArray:
    """2·V·(k−1)/k where the vertex is cut: a ring enters and leaves each domain once."""
    return np.where((x > 0) & (x < k), 2.0 * message_mb * (k - 1) / k, 0.0)


def _alltoall(message_mb: float, k: int, x: FloatArray) -> FloatArray:
    """V·x·(k−x)/k: each of the x workers inside sends a k-th of V to each of the k−x outside."""
    return message_mb * x * (k - x) / k


PATTERNS: dict[str, Pattern] = {
    pattern.name: pattern
    for pattern in (
        Pattern("allreduce", _allreduce, "data parallel: a ring exchanges gradients and visits each domain once"),
        Pattern("alltoall", _alltoall, "expert or embedding exchange: every worker sends to every other"),
    )
}


def traffic_mb(pattern: str, message_mb: float, k: int, counts: FloatArray | NDArray[np.int64] | int) -> FloatArray:
    """Megabytes per iteration over the uplink of a vertex that holds `counts` of the `k` workers.

    Parameters
    ----------
    pattern
        A name of `PATTERNS`.
    message_mb
        Megabytes that each worker contributes per iteration.
    k
        Workers of the job.
    counts
        Workers below the vertex, any shape.

    Raises
    ------
    KeyError
        If the pattern is not registered.
    """
    return PATTERNS[pattern].traffic(message_mb, k, np.asarray(counts, dtype=np.float64))
