"""Gavel's rounds: the GPU type on which a job is fastest, largest jobs first, server by server.

A round goes through (job, type) pairs by priority, highest first: the job's throughput on the type over its best one,
ties in queue order. A job takes the first type that has so many GPUs left, wherever these are; a gang never mixes
types. Then each type places its jobs by size, descending: GPUs are consumed server by server, and the pointer moves
on when a server is empty. Rounds are repeated, what runs stays, until one finds nothing to start. Gavel's own
priorities divide a linear program's time fractions by the time received; before any job has run, this preference is
what is left of them.
"""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Counts, Placement, Problem
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.fits import Fit, Room
from crop_cli.solvers.queueing.baseline import Queue, whole_queue
from crop_cli.solvers.queueing.counts import descend
from crop_cli.solvers.queueing.leaves import IntArray
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.state import State

Entry = tuple[int, int]
"""A job, and a GPU type by number."""


@whole_queue(source="Gavel, scheduler/scheduler.py: _schedule_jobs_on_workers, _assign_workers_to_job")
def place(queue: Queue, view: View, budget: Budget) -> Placement:
    """Rounds, until one finds nothing to start."""
    problem = view.problem
    names, type_of = _types(problem)
    state = State(problem, view.state.free.copy(), view.state.uplink_free.copy())
    entries = _entries(problem, queue, names)
    placed: Placement = {}
    while chosen := _select(problem, entries, state, type_of):
        # Type by type, largest first; sorting is stable, so equal sizes stay in order of priority.
        for job, t in sorted(chosen, key=lambda entry: (entry[1], -problem.kind(entry[0]).k)):
            if budget.should_stop:
                return placed
            counts = _assign(problem, job, state, type_of == t)
            if counts is not None:
                state.take(job, counts)
                placed[job] = counts
        # Room only shrinks: a type on which a job did not find the shape it needs is not tried again.
        tried = set(chosen)
        entries = [entry for entry in entries if entry not in tried and entry[0] not in placed]
    return placed


def _types(problem: Problem) -> tuple[list[str], IntArray]:
    """GPU types in order of appearance, and every node's (N)."""
    names = list(dict.fromkeys(problem.hardware.gpu_type))
    of_class = np.array([names.index(name) for name in problem.hardware.gpu_type], dtype=np.int64)
    return names, of_class[problem.hardware_of]


def _entries(problem: Problem, queue: Queue, names: list[str]) -> list[Entry]:
    """Pairs of a job and a type that it may run on, highest priority first."""
    ranked = []
    for position, job in enumerate(queue):
        seconds = problem.instance.jobs[job].compute_s
        on = {t: seconds.get(name) if isinstance(seconds, dict) else seconds for t, name in enumerate(names)}
        runs = {t: time for t, time in on.items() if time is not None}
        best = min(runs.values(), default=0.0)
        ranked += [(-best / time, position, t, job) for t, time in runs.items()]
    return [(job, t) for *_, t, job in sorted(ranked)]


def _select(problem: Problem, entries: list[Entry], state: State, type_of: IntArray) -> list[Entry]:
    """The round's jobs, each with its type: as long as the type's free GPUs, taken together, are enough."""
    free = np.rint(state.free[:, 0]).astype(np.int64)
    left = np.bincount(type_of, weights=free).astype(np.int64)
    chosen: dict[int, int] = {}
    for job, t in entries:
        k = problem.kind(job).k
        if job not in chosen and k <= left[t]:
            chosen[job] = t
            left[t] -= k
    return list(chosen.items())


def _assign(problem: Problem, job: int, state: State, usable: IntArray) -> Counts | None:
    """GPUs of the first servers of a type that have any, as far as the job's constraints allow."""
    kind = problem.kind(job)
    free = np.where(usable[:, None], np.maximum(state.free, 0.0), 0.0)
    sets = Fit(Room(problem, free, state.uplink_free), kind).attainable(kind.allowed, uplinks=False).below
    if not sets.get(0, 1) >> kind.k & 1:
        return None
    holding = {v: counts for v, counts in sets.items() if counts != 1}
    return descend(problem.tree, holding, 0, kind.k, list)
