"""Jobs that must run: a start that places them all, and room for those that a construction left out."""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Placement, Problem
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.setting import Setting
from crop_cli.solvers.oracle import best_placement

ATTEMPTS = 60
"""Orders tried before the start is given up."""


def impossible(problem: Problem) -> str | None:
    """A proof that not all jobs that must run can, if a simple one exists; one sentence.

    Either one of them does not fit alone, or together they need more of a resource than there is.
    """
    must = [int(j) for j in problem.open_jobs if problem.must_place[j]]
    fitting: set[int] = set()
    board = Board.empty(problem)
    for job in must:
        kind, home = int(problem.kind_of[job]), problem.current.get(job)
        if kind in fitting or (home is not None and board.fits(job, home)):
            continue
        if best_placement(problem, job, problem.free, problem.uplink_free) is None:
            return f"job {problem.job_names[job]!r} must run but does not fit even when no other open job is placed"
        fitting.add(kind)
    need = np.zeros(len(problem.resources))
    for job in must:
        need += problem.kind(job).k * problem.kind(job).demand
    free = problem.free.sum(axis=0)
    for r in np.flatnonzero(need > free + problem.node_slack.sum(axis=0)):
        return f"the jobs that must run need {need[r]:g} {problem.resources[r]} together, but {free[r]:g} are free"
    return None


def place_required(setting: Setting) -> Placement | None:
    """Places for all jobs that must run and no others; None if none was found, which proves nothing.

    Movable jobs first stay where they are and the largest others follow. A job that finds no place goes to the front
    of the next attempt.
    """
    problem = setting.problem
    must = [int(j) for j in problem.open_jobs if problem.must_place[j]]
    order = sorted(must, key=lambda j: (j not in problem.current, -problem.kind(j).k, j))
    board = Board.empty(problem)
    for attempt in range(ATTEMPTS):
        failed = None
        for job in order:
            home = problem.current.get(job)
            if attempt == 0 and home is not None and board.fits(job, home):
                board.take(job, home)
                continue
            place = setting.finder.best(board, job)
            if place is None:
                failed = job
                break
            board.take(job, place.counts, place.utility)
        if failed is None:
            return board.placement
        if setting.budget.should_stop:
            return None
        order.remove(failed)
        order.insert(0, failed)
        board = Board.empty(problem)
    return None


def make_room(setting: Setting, board: Board) -> bool:
    """Place the missing jobs that must run, displacing others where that is needed; false if one finds no place.

    For a job that does not fit, all optional jobs step aside; they return to their places, the most valuable per GPU
    first, where there is still room.
    """
    problem = setting.problem
    for job in sorted(setting.missing(board), key=lambda j: (-problem.kind(j).k, j)):
        place = setting.finder.best(board, job)
        if place is not None:
            board.take(job, place.counts, place.utility)
            continue
        aside = {j: board.release(j) for j in list(board.placement) if not problem.must_place[j]}
        place = setting.finder.best(board, job)
        if place is not None:
            board.take(job, place.counts, place.utility)
        for j in sorted(aside, key=lambda j: (-aside[j][1] / problem.kind(j).k, j)):
            counts, value = aside[j]
            if board.fits(j, counts):
                board.take(j, counts, value)
        if place is None:
            return False
    return True
