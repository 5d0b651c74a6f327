from __future__ import annotations

import numpy as np
import pytest

from crop_cli.solvers.exact.evidence import CAPACITY_SLACK, Evidence, defect
from tests.solvers.exact.programs import INF, program

ROWS = [[1, 1, 0], [0, 2, -1]]


def points(*values: int) -> np.ndarray:
    """A point."""
    return np.array(values, dtype=np.int64)


def test_whole_rows_hold_exactly() -> None:
    """One unit beyond either bound of a row of whole numbers is a defect that names the row."""
    model = program([1, 1, 1], [9, 9, 9], ROWS, [2, -INF], [3, 4])
    assert defect(model, points(1, 1, 0)) is None
    assert "row 0" in str(defect(model, points(1, 0, 0)))
    assert "row 0" in str(defect(model, points(4, 0, 0)))
    assert "row 1" in str(defect(model, points(0, 3, 1)))


@pytest.mark.parametrize(("bound", "over"), [(3.0, 0.9), (0.01, 0.9), (4000.0, 0.9)])
def test_capacity_rows_have_a_slack(bound: float, over: float) -> None:
    """Less than the slack over a capacity is accepted, more is not; below 1 the slack is absolute."""
    slack = CAPACITY_SLACK * max(1.0, bound)
    inside = program([1], [1], [[bound + over * slack]], [-INF], [bound], integral=False)
    outside = program([1], [1], [[bound + 1.1 * slack]], [-INF], [bound], integral=False)
    assert defect(inside, points(1)) is None
    assert defect(outside, points(1)) is not None


def test_bounds_of_variables_hold() -> None:
    """Negative values and values above the upper bound are defects, and so is a wrong length."""
    model = program([1, 1, 1], [9, 9, 9])
    assert "variable 1" in str(defect(model, points(0, -1, 0)))
    assert "variable 2" in str(defect(model, points(0, 0, 10)))
    assert "2 values" in str(defect(model, points(0, 0)))


def test_only_better_points_and_bounds_count() -> None:
    """Points must be cheaper, bounds higher; infinite bounds are none."""
    evidence = Evidence(program([-1.5, 2], [3, 3]))
    assert evidence.offer(points(1, 0))
    assert not evidence.offer(points(1, 1))
    assert not evidence.offer(points(1, 0))
    assert evidence.claim(-9.0)
    assert not evidence.claim(-9.5)
    assert not evidence.claim(-INF)
    assert not evidence.claim(INF)
    assert not evidence.claim(float("nan"))
    assert (evidence.cost, evidence.bound) == (-1.5, -9.0)


def test_bounds_round_up_only_where_costs_are_whole() -> None:
    """With whole costs a bound may go up to the next whole number, but not over noise; with others it may not."""
    whole = Evidence(program([-1, 2], [3, 3]))
    whole.claim(-2.7)
    assert whole.bound == -2.0
    noisy = Evidence(program([-1, 2], [3, 3]))
    noisy.claim(-2.0 + 9e-14)
    assert noisy.bound == -2.0
    fractional = Evidence(program([-1.5, 2], [3, 3]))
    fractional.claim(-2.7)
    assert fractional.bound == -2.7


def test_noise_above_the_cost_is_cut_off() -> None:
    """A bound that exceeds the best cost by rounding only becomes that cost."""
    evidence = Evidence(program([-1.5], [2]))
    evidence.offer(points(2))
    evidence.claim(-3.0 + 1e-9)
    evidence.settle()
    assert (evidence.bound, evidence.proved, evidence.notes) == (-3.0, True, [])


def test_a_contradicted_bound_is_dropped() -> None:
    """A bound well above the cost of a verified point is unknown, and a note says so."""
    evidence = Evidence(program([-1.5], [2]))
    evidence.offer(points(2))
    evidence.claim(-2.5)
    evidence.settle()
    assert evidence.bound is None
    assert not evidence.proved
    assert len(evidence.notes) == 1


def test_proofs_are_relative_to_small_costs_too() -> None:
    """Where every cost is tiny, so is the difference that still is a proof."""
    evidence = Evidence(program([-1e-6], [2]))
    evidence.offer(points(2))
    evidence.claim(-2.01e-6)
    assert not evidence.proved
    evidence.claim(-2.000001e-6)
    assert evidence.proved
