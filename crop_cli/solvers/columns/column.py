"""Columns of the master LP, and the groups of interchangeable jobs that they belong to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import Counts, FloatArray, IntArray, Problem, reserved_gbps, utility


@dataclass(frozen=True)
class Groups:
    """G groups of open jobs with the same data and none running; a movable job that runs is a group of its own.

    Attributes
    ----------
    first
        (G) one job of each, that with the lowest index.
    size, must
        (G) how many jobs, and how many of them have to be placed.
    of_job
        (J) group of every job; −1 for jobs that are not open.
    """

    first: IntArray
    size: IntArray
    must: IntArray
    of_job: IntArray

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Column:
    """A placement that any job of a group can take.

    Attributes
    ----------
    group
        Index of the group.
    utility
        U_j: its part of F, a move included.
    nodes, workers
        Node indices, ascending, and the workers there.
    vertices, gbps
        Limited uplinks that it cuts, and the Gbit/s that it reserves there.
    """

    group: int
    utility: float
    nodes: IntArray
    workers: IntArray
    vertices: IntArray
    gbps: FloatArray

    @property
    def counts(self) -> Counts:
        """Workers per node index."""
        return dict(zip(self.nodes.tolist(), self.workers.tolist(), strict=True))


def group_jobs(problem: Problem) -> Groups:
    """Groups in the order of their first jobs."""
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for job in problem.open_jobs.tolist():
        running = job if job in problem.current else -1
        members[int(problem.kind_of[job]), running].append(job)
    groups = list(members.values())
    of_job = np.full(problem.n_jobs, -1, dtype=np.int64)
    for g, jobs in enumerate(groups):
        of_job[jobs] = g
    return Groups(
        first=np.array([jobs[0] for jobs in groups], dtype=np.int64),
        size=np.array([len(jobs) for jobs in groups], dtype=np.int64),
        must=np.array([int(problem.must_place[jobs].sum()) for jobs in groups], dtype=np.int64),
        of_job=of_job,
    )


def make_column(problem: Problem, groups: Groups, group: int, utility: float, counts: Counts) -> Column:
    """A group's placement with its utility, as arrays."""
    nodes = np.array(sorted(counts), dtype=np.int64)
    vertices, gbps = reserved_gbps(problem, int(groups.first[group]), counts)
    limited = np.isfinite(problem.uplink_free[vertices]) & (gbps > 0)
    return Column(
        group=group,
        utility=utility,
        nodes=nodes,
        workers=np.array([counts[n] for n in nodes.tolist()], dtype=np.int64),
        vertices=vertices[limited],
        gbps=gbps[limited],
    )


def column_of(problem: Problem, groups: Groups, job: int, counts: Counts) -> Column:
    """A job's placement as a column of its group, its utility from the definitions."""
    return make_column(problem, groups, int(groups.of_job[job]), utility(problem, job, counts), counts)
