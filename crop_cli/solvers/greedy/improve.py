"""Improvement of a placement: better places for placed jobs, and room made for jobs that are worth more than others.

Every step is undone if it lowers F, so none of this can lower F (model.md, section 9).
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Counts, FloatArray
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.must import make_room
from crop_cli.solvers.greedy.outlook import TOLERANCE
from crop_cli.solvers.greedy.placing import place_in_order
from crop_cli.solvers.greedy.setting import Setting
from crop_cli.solvers.oracle import Prices, best_placement

DETOUR = 0.003
"""Share of the best F by which the search may stay below it."""

LAG = 0.01
"""Share of w·k by which a job has to be below its ceiling before others are displaced for it."""

PASSES = 4
"""Most passes of upgrades over all placed jobs."""


def fill(setting: Setting, board: Board, order: list[int]) -> None:
    """Place what is left where it still fits, in the given order."""
    place_in_order(setting.finder, board, order, floors=setting.floors)


def upgrade(setting: Setting, board: Board) -> bool:
    """Move each placed job that is below its ceiling to its best place in what is free; true if one moved.

    The most promising job comes first. Passes repeat while something moves.
    """
    scale = setting.outlook.scale[setting.problem.kind_of]
    moved = False
    for _ in range(PASSES):
        lag = {j: setting.ceilings[j] - value for j, value in board.utilities.items()}
        lagging = sorted((j for j, loss in lag.items() if loss > TOLERANCE * scale[j]), key=lambda j: (-lag[j], j))
        found = False
        for job in lagging:
            if setting.settled:
                return moved
            counts, value = board.release(job)
            place = setting.finder.best(board, job, floor=value)
            if place is None:
                board.take(job, counts, value)
            else:
                board.take(job, place.counts, place.utility)
                found = moved = True
        if not found:
            break
    return moved


def displace(setting: Setting, board: Board, order: list[int], tries: int, respect: float) -> bool:
    """Give jobs that are left out, or placed far below their ceiling, a good place at the cost of others.

    What stands in the way is taken off and filled in again; the whole is undone unless F rises.

    Parameters
    ----------
    order
        Jobs in the order in which they are tried.
    tries
        Jobs tried at most; alike ones (same kind, same utility now) once until something changes.
    respect
        Share of their utility at which the others are valued when a place is chosen: less than 1 hopes that they find
        another place.

    Returns
    -------
    bool
        Whether F rose.
    """
    rose, failed, worth = False, set[tuple[int, float]](), _worth_by_node(board)
    for job in order:
        now = board.utilities.get(job, float(setting.floors[job]))
        alike = (int(setting.problem.kind_of[job]), now)
        if alike in failed or setting.ceilings[job] - max(0.0, now) <= LAG * setting.outlook.scale[alike[0]]:
            continue
        if tries <= 0 or setting.settled:
            break
        tries -= 1
        mark, before = board.mark(), board.value
        if _take_over(setting, board, job, respect * worth) and make_room(setting, board):
            fill(setting, board, order)
            if not setting.missing(board) and rises(board.value, before):
                rose, failed, worth = True, set(), _worth_by_node(board)
                continue
        board.rewind(mark)
        failed.add(alike)
    return rose


def ruin(setting: Setting, board: Board, order: list[int], rng: np.random.Generator) -> bool:
    """Clear a few nodes or one domain and fill it anew in a shaken order; true if that gave the best F so far.

    A result that is a little below the best is gone on with, since it may lead further.
    """
    problem, tree = setting.problem, setting.problem.tree
    busy = sorted({n for counts in board.placement.values() for n in counts})
    if not busy:
        return False
    mark, before = board.mark(), board.value
    centre = busy[int(rng.integers(len(busy)))]
    if tree.max_depth > 1 and rng.random() < 0.3:
        above = int(tree.parent[tree.node_vertex + centre])
        nodes = set(range(int(tree.first_node[above]), int(tree.end_node[above])))
    else:
        nodes = {centre, *rng.choice(busy, size=min(len(busy), int(rng.integers(1, 5))), replace=False).tolist()}
    for job in [j for j, counts in board.placement.items() if not nodes.isdisjoint(counts)]:
        board.release(job)
    shaken = dict(zip(order, rng.normal(0.0, 0.5, size=len(order)).tolist(), strict=True))
    density = {
        j: setting.ceilings[j] / problem.kind(j).k * np.exp(shaken[j]) + (1e9 if problem.must_place[j] else 0.0)
        for j in order
        if j not in board.placement
    }
    setting.finder.bias = rng.exponential(0.3, size=problem.n_nodes) if rng.random() < 0.35 else None
    fill(setting, board, sorted(density, key=lambda j: (-density[j], j)))
    setting.finder.bias = None
    allowed = min(before, setting.best_value - DETOUR * abs(setting.best_value))
    if setting.missing(board) or board.value < allowed:
        board.rewind(mark)
        return False
    return setting.offer(board)


def rises(value: float, before: float) -> bool:
    """Whether F is larger by more than rounding."""
    return value > before + TOLERANCE * max(1.0, abs(before))


def _take_over(setting: Setting, board: Board, job: int, worth: FloatArray) -> bool:
    """Place a job, if that can better it, where what stands there is worth the least; take that off the board.

    `worth` is what the present jobs are valued at on each node.
    """
    problem, now = setting.problem, float(setting.floors[job])
    prices = np.zeros_like(problem.free)
    prices[:, 0] = worth / np.maximum(1.0, problem.free[:, 0])
    if job in board.placement:
        _, now = board.release(job)
    unpriced = np.zeros(problem.tree.n_vertices)
    setting.finder.work += 400 + problem.n_nodes
    best = best_placement(problem, job, problem.free, problem.uplink_free, Prices(prices, unpriced))
    if best is None or best.utility <= now:
        return False
    _clear(board, job, best.counts)
    board.take(job, best.counts, best.utility)
    return True


def _worth_by_node(board: Board) -> FloatArray:
    """(N) the utility that placed jobs have on each node."""
    worth = np.zeros(board.problem.n_nodes)
    for job, counts in board.placement.items():
        share = max(0.0, board.utilities[job]) / board.problem.kind(job).k
        for n, x in counts.items():
            worth[n] += share * x
    return worth


def _clear(board: Board, job: int, counts: Counts) -> None:
    """Take jobs off the board until a placement fits, the least valuable per GPU in its way first."""
    problem, tree = board.problem, board.problem.tree
    rank = sorted(board.placement, key=lambda j: (board.utilities[j] / problem.kind(j).k, j))
    for n in counts:
        while board.lacking_nodes(job, {n: counts[n]}):
            board.release(next(j for j in rank if j in board.placement and n in board.placement[j]))
    while lacking := board.lacking_uplinks(job, counts):
        below = range(int(tree.first_node[lacking[0]]), int(tree.end_node[lacking[0]]))
        board.release(next(j for j in rank if j in board.placement and _cuts(board, j, below)))


def _cuts(board: Board, job: int, below: range) -> bool:
    """Whether a placed job has some but not all workers on a range of nodes."""
    counts = board.placement[job]
    inside = sum(x for n, x in counts.items() if n in below)
    return 0 < inside < board.problem.kind(job).k
