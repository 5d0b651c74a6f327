"""Jobs placed one after the other, each at its best place in what is free: the quick way to repair."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from crop_cli.model.problem import Placement, Problem
from crop_cli.reasons.unplaced import NOTHING
from crop_cli.solvers.oracle import best_placement
from crop_cli.solvers.state import State


def one_by_one(problem: Problem, jobs: Iterable[int], state: State) -> Placement:
    """Place jobs in the order given; those without a gain anywhere are left out, unless they must be placed.

    Parameters
    ----------
    problem
        The compiled instance.
    jobs
        Indices of open jobs that do not run.
    state
        What is free; changed in place.
    """
    placed: Placement = {}
    hopeless: set[tuple[int, bool]] = set()
    for job in jobs:
        # What is free only shrinks: where one job of a kind had no place, the next has none either.
        kind = int(problem.kind_of[job]), bool(problem.must_place[job])
        if kind in hopeless:
            continue
        best = best_placement(problem, job, np.maximum(state.free, 0.0), np.maximum(state.uplink_free, 0.0))
        if best is None or (best.utility <= NOTHING and not problem.must_place[job]):
            hopeless.add(kind)
            continue
        state.take(job, best.counts)
        placed[job] = best.counts
    return placed
