"""Worked examples of the topology plugin of NVIDIA KAI."""

from __future__ import annotations

import numpy as np

from crop_cli.model.instance import FORMAT, Instance, Job
from crop_cli.model.problem import compile_problem
from crop_cli.solvers.baselines.kai import place, steps, tight_first
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.state import State
from tests.solvers.baselines.kubernetes import Segment, Spread, counts, in_pods, in_racks


def test_forty_equal_racks_scatter_over_five() -> None:
    """Racks of hosts [1, 3] and 12 workers: ties in the score and bin packing use five racks where three are enough."""
    placed = np.array(counts(place, in_racks([[1, 3]] * 40), 12)).reshape(40, 2).sum(axis=1)
    assert {rack: int(n) for rack, n in enumerate(placed) if n} == {35: 4, 36: 2, 37: 1, 38: 1, 39: 4}


def test_scores_of_sub_domains_have_eleven_steps() -> None:
    """Of forty racks the last has 10, the four before it 9, the first three 0."""
    job = Job(name="job", gpus=12)
    problem = compile_problem(Instance(format=FORMAT, cluster=in_racks([[1]] * 40), jobs=[job]))
    view = View(problem, State.empty(problem), {}, np.random.default_rng(0), {})
    score = steps(Capacity.of(view, 0), 0, 1, tight_first(view, 0))
    assert np.bincount(score).tolist() == [3, *([4] * 9), 1]
    assert score[-5:].tolist() == [9, 9, 9, 9, 10]


def test_the_tightest_rack_that_holds_the_gang() -> None:
    """Of two racks with room, the one of which the gang takes the larger share; of equals the first."""
    assert counts(place, in_racks([[8], [3, 3], [3, 3], [2]]), 5) == [0, 3, 2, 0, 0, 0]


def test_a_rack_before_a_pod() -> None:
    """A rack that holds the gang is taken although a tighter pod would, too."""
    assert counts(place, in_pods([[[8]], [[2], [3]]]), 5) == [5, 0, 0]


def test_racks_of_the_tightest_pod_come_first() -> None:
    """Siblings are compared, not all racks: the only rack of the tighter pod wins over a tighter rack elsewhere."""
    assert counts(place, in_pods([[[8], [6]], [[7]]]), 6) == [0, 0, 6]


def test_inside_a_pod_the_loosest_rack_comes_first() -> None:
    """No rack holds the gang: of the chosen pod's racks the one with most free GPUs is filled first."""
    assert counts(place, in_pods([[[2], [4], [3]], [[9]]]), 6, within="pod") == [2, 1, 3, 0]
    assert counts(place, in_pods([[[2], [4], [3]], [[5]]]), 6) == [0, 4, 2, 0]


def test_the_fullest_node_first_inside_a_rack() -> None:
    """Bin packing: the node with fewest free GPUs, and on it until it is full."""
    assert counts(place, in_racks([[4, 2, 3]]), 4) == [0, 2, 2]


def test_segments_fill_the_tightest_rack_first() -> None:
    """Segments of 3 go to racks one after another, and no rack holds part of one."""
    assert counts(place, in_racks([[8], [4], [5]]), 9, segment=Segment(gpus=3, level="rack")) == [3, 3, 3]


def test_spread_limits_each_rack() -> None:
    """At most 2 workers per rack, though the pod's first rack could hold them all."""
    assert counts(place, in_racks([[8], [8]]), 4, spread=Spread(level="rack", max_gpus=2)) == [2, 2]


def test_required_level_waits() -> None:
    """No rack holds the gang, so it waits."""
    assert counts(place, in_racks([[3], [3]]), 4, within="rack") == []
