"""Repair in which others move: for hit jobs that have no place as long as everybody else stays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crop_cli.model.problem import Counts, Placement, Problem, utility
from crop_cli.repair.one_by_one import one_by_one
from crop_cli.repair.pinned import How, solve_small
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placement, fits
from crop_cli.solvers.state import State

MOVE = 1e-6
"""What a move costs at least where targets are chosen: with moves that are free the fewest are wanted."""


MOST_DOMAINS = 8
"""Domains that are tried for a job for which no way was found at its best place."""


def by_engine(problem: Problem, start: Placement, how: How) -> tuple[str, Placement | None, float | None]:
    """All jobs placed by the engine, a move paid; moves that help nobody undone.

    Parameters
    ----------
    problem
        Of hit jobs and running ones; these may be moved.
    start
        The repair with nobody moved; running jobs included.
    how
        With an engine, and the time for it.

    Returns
    -------
    tuple
        What found it, the placement, and an upper bound of F of the problem; None for what is unknown.
    """
    worth = sum(max(0.0, utility(problem, j, counts)) for j, counts in start.items())
    outcome = solve_small(problem, how, worth)
    placement = None if outcome.placement is None else undone(problem, outcome.placement)
    return outcome.back_end or (how.engine.name if how.engine else ""), placement, outcome.bound


def make_room(problem: Problem, start: Placement, budget: Budget) -> Placement:
    """Place jobs that wait, one after the other, where few others have to move for it, and move those.

    A job's target is its best place where a GPU costs what it takes to move the jobs there. Jobs in its way leave, and
    take the best places in what is left. Where one of them has none, or F would be lower, all stays as it was.

    Parameters
    ----------
    problem, start
        As for `by_engine`.
    budget
        The time for it.
    """
    placement = dict(start)
    waiting = [j for j in problem.open_jobs.tolist() if j not in placement]
    for job in sorted(
        waiting, key=lambda j: (not problem.must_place[j], -problem.kind(j).weight * problem.kind(j).k, j)
    ):
        if budget.should_stop:
            break
        placement = _admitted(problem, placement, job) or placement
    return undone(problem, placement)


def _admitted(problem: Problem, placement: Placement, job: int) -> Placement | None:
    """The placement with one more job in it, if others can give way for less than it adds.

    Anywhere if that works, else in the first domain where it does; of two ways the better.
    """
    for below in (0, *_domains(problem, placement, job)):
        found = [_given_way(problem, placement, job, prices, below) for prices in _move_prices(problem, placement)]
        ways = [way for way in found if way is not None]
        if ways:
            return max(ways, key=lambda way: way[0])[1]
    return None


def _domains(problem: Problem, placement: Placement, job: int) -> list[int]:
    """Vertices just above the nodes (or nodes, where those are all) that could hold a job, the emptiest first."""
    tree = problem.tree
    vertices = (
        np.unique(tree.parent[tree.node_vertex :])
        if tree.depth[tree.node_vertex] > 1
        else np.arange(tree.node_vertex, tree.n_vertices)
    )
    room = tree.sum_below(problem.free[:, 0]).astype(np.float64)
    left = tree.sum_below(State.of(problem, placement).free[:, 0]).astype(np.float64)
    large = vertices[room[vertices] >= problem.kind(job).k]
    order: list[int] = large[np.argsort(-left[large], kind="stable")][:MOST_DOMAINS].tolist()
    return order


def _move_prices(problem: Problem, placement: Placement) -> Iterator[Prices]:
    """What a GPU of a node costs: a share of the moves of the jobs there, whole moves or only this node's part."""
    for whole in (True, False):
        cost = np.zeros_like(problem.free)
        for j, counts in placement.items():
            move = problem.migration_cost[j] + MOVE
            for n, x in counts.items():
                cost[n, 0] += move if whole else move * x / problem.kind(j).k
        cost[:, 0] /= np.maximum(1, problem.free_gpus)
        yield Prices(cost, np.zeros(problem.tree.n_vertices))


def _given_way(
    problem: Problem, placement: Placement, job: int, prices: Prices, below: int
) -> tuple[float, Placement] | None:
    """The job at its best place below a vertex, at the prices, those in its way elsewhere; and what F gains by it."""
    best = best_placement(problem, job, problem.free, problem.uplink_free, prices, below=below)
    if best is None:
        return None
    after, state = dict(placement), State.of(problem, placement)
    gone: Placement = {}
    while not fits(problem, problem.kind(job), best.counts, state.free, state.uplink_free):
        in_the_way = [j for j, counts in after.items() if _blocks(problem, state, counts, job, best.counts)]
        if not in_the_way:
            return None
        first = min(in_the_way, key=lambda j: (problem.migration_cost[j], problem.kind(j).k, j))
        gone[first] = after.pop(first)
        state.release(first, gone[first])
    state.take(job, best.counts)
    after[job] = best.counts
    # The largest first: small ones find room in what is left.
    after |= one_by_one(problem, sorted(gone, key=lambda j: (-problem.kind(j).k, j)), state)
    if any(j not in after for j in gone):
        return None
    gain = sum(utility(problem, j, after[j]) for j in (job, *gone)) - sum(
        utility(problem, j, c) for j, c in gone.items()
    )
    return (gain, after) if gain > 0 or problem.must_place[job] else None


def _blocks(problem: Problem, state: State, counts: Counts, job: int, target: Counts) -> bool:
    """Whether a job holds some of what a target lacks on its nodes."""
    demand = problem.kind(job).demand
    return any(
        (target[n] * demand > state.free[n] + problem.node_slack[n]).any() for n in counts.keys() & target.keys()
    )


def undone(problem: Problem, placement: Placement) -> Placement:
    """The placement with moved jobs back where they ran, as far as that is free and F is no lower for it."""
    after, state = dict(placement), State.of(problem, placement)
    again = True
    while again:
        again = False
        for job, home in problem.current.items():
            here = after[job]
            if here == home:
                continue
            state.release(job, here)
            if fits(problem, problem.kind(job), home, state.free, state.uplink_free) and utility(
                problem, job, home
            ) >= utility(problem, job, here):
                after[job], again = home, True
            state.take(job, after[job])
    return after
