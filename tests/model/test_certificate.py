"""Bound, gap, ratio and status."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crop_cli.model.certificate import TOLERANCE, certify, gap_of, ratio_of, within_gap

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


@given(NUMBERS, st.lists(st.none() | NUMBERS, max_size=4))
def test_a_certificate_never_contradicts_its_objective(objective: float, bounds: list[float | None]) -> None:
    """The bound is at least F, the gap at least 0, the ratio within [0, 1], and the least valid bound is taken."""
    found = certify(objective, bounds)
    slack = TOLERANCE * max(1.0, abs(objective))
    valid = [b for b in bounds if b is not None and b >= objective - slack]
    assert (found.bound is None) == (not valid)
    if found.bound is not None:
        assert found.bound == max(objective, min(valid))
        assert found.gap is None or found.gap >= 0
        assert found.ratio is None or 0 <= found.ratio <= 1
        assert (found.status == "optimal") == (found.bound - objective <= slack)
    assert len(found.refused) == sum(b is not None for b in bounds) - len(valid)


@pytest.mark.parametrize(
    ("objective", "bound", "gap", "ratio"),
    [
        (8.0, 10.0, 0.25, 0.8),
        (0.0, 0.0, 0.0, 1.0),
        (0.0, 5.0, None, 0.0),
        (-2.0, -1.0, 0.5, None),
        (-2.0, 1.0, 1.5, None),
        (5.0, 5.0, 0.0, 1.0),
    ],
)
def test_gap_and_ratio_by_hand(objective: float, bound: float, gap: float | None, ratio: float | None) -> None:
    """Gap is (bound − F)/|F| and ratio F/bound, and both are unknown where the quotient says nothing."""
    found = certify(objective, [bound])
    assert (found.gap, found.ratio) == (gap, ratio)


def test_a_bound_below_a_verified_objective_is_refused() -> None:
    """A wrong bound is dropped and named, and the next valid one counts."""
    found = certify(10.0, [9.0, 12.0])
    assert (found.bound, found.refused, found.status) == (12.0, (9.0,), "feasible")


def test_a_bound_below_by_rounding_proves_optimality_with_gap_zero() -> None:
    """A bound that rounding put just below F is F itself: optimal, gap exactly 0."""
    found = certify(10.0, [10.0 - 5e-6])
    assert (found.bound, found.gap, found.ratio, found.status) == (10.0, 0.0, 1.0, "optimal")


def test_unknown_and_infinite_bounds_are_null() -> None:
    """Without a finite bound there is no bound, gap or ratio, and nothing is optimal."""
    found = certify(3.0, [None, math.inf, math.nan])
    assert (found.bound, found.gap, found.ratio, found.status, found.refused) == (None, None, None, "feasible", ())


def test_the_gap_asked_for_is_met_by_proof_or_by_gap() -> None:
    """An optimal answer meets any gap, another one only a gap that it reaches, and an unknown gap none."""
    assert within_gap(certify(10.0, [10.0]), 0.0)
    assert within_gap(certify(10.0, [10.5]), 0.05)
    assert not within_gap(certify(10.0, [10.5]), 0.04)
    assert not within_gap(certify(0.0, [1.0]), 5.0)


@given(NUMBERS, NUMBERS)
def test_a_bound_that_is_not_above_leaves_no_gap(objective: float, bound: float) -> None:
    """The gap is 0 where the bound is not above F, and the ratio is never above 1."""
    if bound <= objective:
        assert gap_of(objective, bound) == 0
    assert (ratio_of(objective, bound) or 0) <= 1


def test_tiny_weights_are_not_swallowed_by_the_tolerance() -> None:
    """Where all jobs weigh next to nothing, a bound far above F in relation proves nothing."""
    assert certify(6e-8, [1e-7], scale=3e-8).status == "feasible"
    assert certify(6e-8, [6e-8], scale=3e-8).status == "optimal"
