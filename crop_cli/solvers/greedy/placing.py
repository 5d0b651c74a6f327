"""Placing jobs one by one in a given order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from crop_cli.model.problem import FloatArray
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.finder import Finder

LOOK_AHEAD = 1 << 16
"""Up to so many (kind, node, resource) triples, all kinds are checked for room at once after every placement."""


def place_in_order(
    finder: Finder, board: Board, jobs: Iterable[int], below: int = 0, floors: FloatArray | None = None
) -> None:
    """Place jobs, each at its best place in what is left; jobs already on the board are passed over.

    Ends early when the finder's budget is used up.

    Parameters
    ----------
    below
        Vertex whose subtree must hold each job.
    floors
        (J) utility that a job must exceed; 0 if left out.
    """
    problem, tree, outlook = finder.problem, finder.problem.tree, finder.outlook
    nodes = slice(int(tree.first_node[below]), int(tree.end_node[below]))
    left = round(float(board.state.free[nodes, 0].sum()))
    ahead = outlook.demand.size * (nodes.stop - nodes.start) <= LOOK_AHEAD
    room = outlook.has_room(problem, board.state.free, nodes) if ahead else None
    # While capacity only shrinks, a kind that found nothing better than a floor finds nothing better than a higher one.
    refused: dict[int, float] = {}
    for job in jobs:
        if left <= 0 or finder.budget.should_stop:
            return
        kind = int(problem.kind_of[job])
        if outlook.k[kind] > left or (room is not None and not room[kind]) or job in board.placement:
            continue
        floor = 0.0 if floors is None else float(floors[job])
        shared = job not in problem.current
        if shared and floor >= refused.get(kind, np.inf):
            continue
        place = finder.best(board, job, below, floor)
        if place is not None:
            board.take(job, place.counts, place.utility)
            left -= int(outlook.k[kind])
            room = outlook.has_room(problem, board.state.free, nodes) if ahead else None
        elif shared:
            refused[kind] = floor
