"""Images of columns in other domains."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.model.evaluate import evaluate
from crop_cli.model.problem import compile_problem, named, utility
from crop_cli.solvers.columns.column import Column, Groups, group_jobs, make_column
from crop_cli.solvers.columns.images import MOST, Images
from crop_cli.solvers.oracle import Prices, best_placements
from tests.solvers.columns.samples import job, problem_of, racks, whole_node_jobs
from tests.tiny import random_instance


def first_columns(problem, prices) -> tuple[Groups, list[Column]]:  # type: ignore[no-untyped-def]
    groups = group_jobs(problem)
    answers = best_placements(problem, groups.first, problem.free, problem.uplink_free, prices)
    found = [(g, best) for g, best in enumerate(answers) if best is not None]
    return groups, [make_column(problem, groups, g, best.utility, best.counts) for g, best in found]


@pytest.mark.parametrize("block", range(4))
def test_images_are_true_columns(block: int) -> None:
    """Every image is feasible for the evaluator and has the utility of the definitions."""
    found = 0
    for seed in range(block * 60, block * 60 + 60):
        instance = random_instance(seed, max_nodes=8, min_levels=2, running=False)
        problem = compile_problem(instance)
        rng = np.random.default_rng(seed)
        prices = Prices(0.4 * rng.random(problem.free.shape), np.zeros(problem.tree.n_vertices))
        groups, columns = first_columns(problem, prices)
        images = Images(problem, groups)
        for column in columns:
            made = images.of(column, prices, sigma=-100.0)
            assert len(made) <= MOST
            for image in made:
                found += 1
                j = int(groups.first[column.group])
                assert image.group == column.group
                assert image.utility == utility(problem, j, image.counts)
                evaluation = evaluate(instance, named(problem, {j: image.counts}))
                others = [v for v in evaluation.violations if "required" not in v.kind]
                assert not others, (seed, others)
                above = problem.tree.parent[problem.tree.node_vertex :]
                if len(set(above[column.nodes].tolist())) == 1:
                    # Over several domains, the cheapest ones may be the column's own.
                    assert image.counts != column.counts
    assert found > 20


def test_every_other_rack_that_has_the_nodes_gets_an_image() -> None:
    """Two whole nodes in a rack: racks with two of them are found, cheapest first, the others are not."""
    problem = problem_of(racks([[8, 8], [8, 8], [3, 8], [8, 8, 5], [8, 8]], whole_node_jobs(1)))
    node = np.full(problem.free.shape, 0.5)
    node[problem.node_index["n3-0"]] = 0.1
    node[problem.node_index["n1-0"]] = 0.9
    prices = Prices(node, np.zeros(problem.tree.n_vertices))
    groups, columns = first_columns(problem, prices)
    assert {problem.node_names[n] for n in columns[0].counts} == {"n3-0", "n3-1"}
    made = Images(problem, groups).of(columns[0], prices, sigma=0.0)
    names = [sorted(problem.node_names[n] for n in image.counts) for image in made]
    assert sorted(names[:2]) == [["n0-0", "n0-1"], ["n4-0", "n4-1"]]
    assert names[2:] == [["n1-0", "n1-1"]]


def test_what_does_not_price_out_is_left_away() -> None:
    """An image that costs more than the job is worth beyond its group's dual is not made."""
    problem = problem_of(racks([[8, 8], [8, 8], [8, 8]], whole_node_jobs(1)))
    node = np.full(problem.free.shape, 0.25)
    node[4:] = 0.75
    prices = Prices(node, np.zeros(problem.tree.n_vertices))
    groups, columns = first_columns(problem, prices)
    images = Images(problem, groups)
    # Worth 15.998: 4 at the cheap prices, 12 at the dear ones.
    assert len(images.of(columns[0], prices, sigma=0.0)) == 2
    assert len(images.of(columns[0], prices, sigma=8.0)) == 1
    assert len(images.of(columns[0], prices, sigma=14.0)) == 0


def test_a_job_over_two_racks_moves_as_a_whole() -> None:
    """A column of two racks becomes one of two other racks."""
    problem = problem_of(racks([[8, 8]] * 4, [job("a", 32, message_mb=1.0)]))
    prices = Prices(np.zeros(problem.free.shape), np.zeros(problem.tree.n_vertices))
    groups, columns = first_columns(problem, prices)
    made = Images(problem, groups).of(columns[0], prices, sigma=0.0)
    assert made
    assert all(sum(image.counts.values()) == 32 and len(image.counts) == 4 for image in made)
    above = problem.tree.parent[problem.tree.node_vertex :]
    assert all(len({int(above[n]) for n in image.counts}) == 2 for image in made)
