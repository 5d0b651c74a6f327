"""Capacity rows at several resolutions."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import msgspec
import numpy as np
import pytest

from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.columns.column import group_jobs, make_column
from crop_cli.solvers.columns.rows import Rows, resolutions
from crop_cli.solvers.dual import capacity_with_slack, uplink_with_slack
from crop_cli.solvers.oracle import Prices, best_placements
from tests.solvers.columns.samples import job, problem_of, racks, whole_node_jobs
from tests.tiny import random_instance


def partition(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return rows.of_node, rows.of_uplink


def finest(problem: Problem) -> Rows:
    return resolutions(problem)[-1]


@pytest.mark.parametrize("block", range(3))
def test_each_resolution_refines_the_one_before(block: int) -> None:
    """Members of one fine row are members of one coarse row, and the coarse capacity is the sum of the fine ones."""
    refined = 0
    for seed in range(block * 60, block * 60 + 60):
        problem = compile_problem(random_instance(seed, max_nodes=8))
        levels = resolutions(problem)
        for coarse, fine in itertools.pairwise(levels):
            refined += 1
            for of_coarse, of_fine in zip(partition(coarse), partition(fine), strict=True):
                # What cannot bind in any member has no row on fine classes, though it shares one on coarse ones.
                listed = of_fine >= 0
                assert (of_coarse[listed] >= 0).all()
                pairs = set(zip(of_fine[listed].tolist(), of_coarse[listed].tolist(), strict=True))
                assert len(pairs) == len(set(of_fine[listed].tolist()))
    assert refined > 20


def test_capacities_are_sums_over_members() -> None:
    """A row's capacity is what its members offer, the evaluator's slack included."""
    for seed in range(60):
        problem = compile_problem(random_instance(seed))
        for rows in resolutions(problem):
            node, uplink = capacity_with_slack(problem), uplink_with_slack(problem)
            for r in range(len(rows)):
                total = node[rows.of_node == r].sum() + uplink[rows.of_uplink == r].sum()
                assert math.isclose(rows.capacity[r], max(0.0, total), rel_tol=1e-12, abs_tol=1e-12)


def test_what_has_no_row_cannot_run_short() -> None:
    """Without a row, a resource is enough for the hungriest workers on all free GPUs, and so is an uplink."""
    absent = 0
    for seed in range(120):
        problem = compile_problem(random_instance(seed))
        rows = finest(problem)
        kinds = [problem.kind(j) for j in problem.open_jobs.tolist()]
        for n, r in np.argwhere(rows.of_node < 0).tolist():
            most = max((kind.demand[r] for kind in kinds), default=0.0)
            absent += r > 0
            assert most * problem.free_gpus[n] <= problem.free[n, r]
        below = problem.tree.sum_below(problem.free_gpus)
        for v in np.flatnonzero(rows.of_uplink < 0).tolist():
            if v == 0 or np.isinf(problem.uplink_free[v]):
                continue
            rates = [
                kind.link_rate[problem.link_of[v], x] / x
                for kind in kinds
                for x in range(1, min(kind.k, int(below[v])) + 1)
            ]
            assert below[v] * max(rates, default=0.0) <= problem.uplink_free[v] * (1 + 1e-12)
    assert absent > 0


def test_prices_and_means_are_inverse() -> None:
    """Equal prices within rows survive the way to the rows and back; members without a row pay nothing."""
    rng = np.random.default_rng(5)
    for seed in range(40):
        rows = finest(compile_problem(random_instance(seed)))
        y = rng.random(len(rows))
        prices = rows.prices(y)
        assert np.allclose(rows.means(prices), y)
        assert (prices.node[rows.of_node < 0] == 0).all() and (prices.uplink[rows.of_uplink < 0] == 0).all()


def test_usage_times_prices_is_the_cost() -> None:
    """What a column's loads cost at row prices is what its placement costs at the members' prices."""
    rng = np.random.default_rng(6)
    checked = 0
    for seed in range(80):
        problem = compile_problem(random_instance(seed))
        groups = group_jobs(problem)
        for rows in resolutions(problem):
            y = rng.random(len(rows))
            answers = best_placements(problem, groups.first, problem.free, problem.uplink_free, rows.prices(y))
            for g, best in enumerate(answers):
                if best is None:
                    continue
                column = make_column(problem, groups, g, best.utility, best.counts)
                at, load = rows.usage(column, problem.kind(int(groups.first[g])).demand)
                assert (np.diff(at) > 0).all() and (load > 0).all()
                assert math.isclose(best.utility - y[at] @ load, best.value, rel_tol=1e-9, abs_tol=1e-9)
                checked += 1
    assert checked > 100


def test_equal_racks_share_rows() -> None:
    """Racks with the same free GPUs in another order are one class; a rack that differs is not."""
    rows = finest(problem_of(racks([[8, 3, 8], [8, 8, 3], [8, 8, 8]], whole_node_jobs(3))))
    gpus = rows.of_node[:, 0]
    assert gpus[0] == gpus[2] == gpus[3] == gpus[4]
    assert gpus[1] == gpus[5]
    assert gpus[6] == gpus[7] == gpus[8]
    assert len({gpus[0], gpus[1], gpus[6]}) == 3


def test_whole_nodes_beside_tell_racks_apart() -> None:
    """The second resolution has a row for whole nodes alone in their rack, and one for pairs."""
    rough, beside, _ = resolutions(problem_of(racks([[8, 3], [8, 5], [8, 8], [3, 5]], whole_node_jobs(3))))
    assert len(set(rough.of_node[:, 0].tolist())) == 3
    gpus = beside.of_node[:, 0].tolist()
    assert gpus[0] == gpus[2] != gpus[4] == gpus[5]
    assert gpus[1] != gpus[6] and gpus[3] != gpus[7]


def test_classes_that_cannot_bind_do_not_hide_finer_ones() -> None:
    """A narrow and a wide uplink share a coarse row; on fine classes only the narrow one has a row."""
    instance = racks([[8], [7]], [job("a", 12, message_mb=4000.0)])
    narrow, wide = (
        msgspec.structs.replace(switch, uplink_gbps=gbps)
        for switch, gbps in zip(instance.cluster.switches, (20.0, 4000.0), strict=True)
    )
    cluster = msgspec.structs.replace(instance.cluster, switches=[narrow, wide])
    coarse, *_, fine = resolutions(problem_of(msgspec.structs.replace(instance, cluster=cluster)))
    assert len(coarse) == len(fine)
    assert coarse.of_uplink[1] == coarse.of_uplink[2] >= 0
    assert fine.of_uplink[1] >= 0 and fine.of_uplink[2] == -1


def test_a_running_job_makes_its_nodes_different() -> None:
    """Nodes are not swapped for the node where a movable job may stay."""
    running = job("m", 8, placement={"n0-0": 8}, movable=True, migration_minutes=30.0)
    rows = finest(problem_of(racks([[8, 8, 8]], [running, job("a", 8)])))
    gpus = rows.of_node[:, 0].tolist()
    assert gpus[1] == gpus[2] != gpus[0]


def test_permuting_nodes_permutes_the_rows() -> None:
    """The order of nodes in the file does not change how many rows of which capacity there are."""
    for seed in range(40):
        instance = random_instance(seed, max_nodes=7)
        nodes = list(instance.cluster.nodes)
        np.random.default_rng(seed).shuffle(nodes)
        permuted = msgspec.structs.replace(instance, cluster=msgspec.structs.replace(instance.cluster, nodes=nodes))
        for a, b in zip(resolutions(compile_problem(instance)), resolutions(compile_problem(permuted)), strict=True):
            assert Counter(np.round(a.capacity, 6).tolist()) == Counter(np.round(b.capacity, 6).tolist())


def test_prices_are_of_the_right_shape() -> None:
    """Prices are (N, R) and (V)."""
    problem = compile_problem(random_instance(3))
    rows = finest(problem)
    prices = rows.prices(np.zeros(len(rows)))
    assert isinstance(prices, Prices)
    assert prices.node.shape == problem.free.shape and prices.uplink.shape == (problem.tree.n_vertices,)
