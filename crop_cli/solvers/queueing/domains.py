"""Domains that hold a whole gang, and what one job could take of some nodes only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crop_cli.solvers.fits import Fit, Room
from crop_cli.solvers.queueing.counts import holds
from crop_cli.solvers.queueing.view import View

BoolArray = NDArray[np.bool_]


def holders(view: View, job: int, sets: dict[int, int], depth: int) -> list[int]:
    """Vertices of one depth that hold the whole gang, ascending; none if a depth above forbids it."""
    kind = view.problem.kind(job)
    if not kind.allowed[: depth + 1, kind.k].all():
        return []
    return [v for v in view.domains(depth) if v in sets and holds(sets, v, kind.k)]


def lowest_holders(view: View, job: int, sets: dict[int, int]) -> list[int]:
    """Vertices of the deepest level that has any which hold the whole gang; empty if the root does not either."""
    for depth in range(view.problem.tree.max_depth, -1, -1):
        found = holders(view, job, sets, depth)
        if found:
            return found
    return []


def sets_on(view: View, job: int, nodes: BoolArray) -> dict[int, int]:
    """As `View.sets`, where the job may use only some nodes.

    Parameters
    ----------
    nodes
        (N) whether it may use a node.
    """
    free = np.where(nodes[:, None], np.maximum(view.state.free, 0.0), -1.0)
    kind = view.problem.kind(job)
    below = Fit(Room(view.problem, free, view.state.uplink_free), kind).attainable(kind.allowed, uplinks=False).below
    return {v: counts for v, counts in below.items() if counts != 1}
