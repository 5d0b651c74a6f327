"""Groups of jobs and columns."""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import compile_problem, reserved_gbps, utility
from crop_cli.solvers.columns.column import group_jobs, make_column
from crop_cli.solvers.oracle import best_placements
from tests.solvers.columns.samples import job, problem_of, racks
from tests.tiny import random_instance


def test_groups_hold_the_open_jobs_with_equal_data() -> None:
    """Every open job is in exactly one group, whose jobs have one kind; a running job is alone."""
    for seed in range(100):
        problem = compile_problem(random_instance(seed, max_jobs=8))
        groups = group_jobs(problem)
        jobs = problem.open_jobs
        of_job = groups.of_job[jobs]
        assert (np.bincount(of_job, minlength=len(groups)) == groups.size).all()
        assert (groups.of_job[groups.first] == np.arange(len(groups))).all()
        assert (problem.kind_of[groups.first[of_job]] == problem.kind_of[jobs]).all()
        assert (np.bincount(of_job, weights=problem.must_place[jobs], minlength=len(groups)) == groups.must).all()
        assert all(groups.size[groups.of_job[j]] == 1 for j in problem.current)
        assert set(np.flatnonzero(groups.of_job < 0).tolist()) == set(problem.pinned)


def test_required_and_optional_jobs_share_a_group() -> None:
    """A group counts how many of its jobs have to be placed."""
    jobs = [job("a", 2), job("b", 2, required=True), job("c", 4), job("d", 2)]
    groups = group_jobs(problem_of(racks([[8, 8]], jobs)))
    assert groups.size.tolist() == [3, 1]
    assert groups.must.tolist() == [1, 0]


def test_a_column_is_its_placement() -> None:
    """Counts survive; reserved bandwidth is that of the definitions on limited uplinks."""
    for seed in range(60):
        problem = compile_problem(random_instance(seed))
        groups = group_jobs(problem)
        answers = best_placements(problem, groups.first, problem.free, problem.uplink_free)
        for g, best in enumerate(answers):
            if best is None:
                continue
            column = make_column(problem, groups, g, best.utility, best.counts)
            assert column.counts == best.counts
            assert column.utility == utility(problem, int(groups.first[g]), best.counts)
            vertices, gbps = reserved_gbps(problem, int(groups.first[g]), best.counts)
            limited = np.isfinite(problem.uplink_free[vertices])
            assert np.isclose(column.gbps.sum(), gbps[limited].sum())
            assert np.isfinite(problem.uplink_free[column.vertices]).all()
