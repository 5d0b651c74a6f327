from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from crop_cli.solvers.exact.protocol import Model
from crop_cli.solvers.exact.scaling import COST_BITS, COST_PRECISION, ROW_BITS, integer_cost, integer_rows

INF = float("inf")
COSTS = st.one_of(
    st.floats(-1e4, 1e4),
    st.floats(-1e-4, 1e-4),
    st.integers(-1000, 1000).map(float),
    st.decimals(-100, 100, places=3).map(float),
)
WEIGHTS = st.one_of(st.floats(1e-6, 1e5), st.integers(1, 500).map(float), st.decimals("0.01", 100, places=2).map(float))


def capacity_row(weights: list[float], bound: float, upper: list[int]) -> Model:
    """One capacity row."""
    n = len(weights)
    matrix = csr_array(np.array([weights]))
    return Model(
        cost=np.zeros(n),
        upper=np.array(upper),
        data=matrix.data,
        indices=matrix.indices.astype(np.int64),
        indptr=matrix.indptr.astype(np.int64),
        row_lower=np.array([-INF]),
        row_upper=np.array([bound]),
        integral_row=np.array([False]),
        start=None,
    )


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_rounded_costs_bound_true_costs(data: st.DataObject) -> None:
    """For every point the rounded cost, unscaled, is at most the true cost, hardly less, and far from overflow."""
    cost = np.array(data.draw(st.lists(COSTS, min_size=1, max_size=8)))
    upper = np.array(data.draw(st.lists(st.integers(1, 500), min_size=len(cost), max_size=len(cost))))
    x = np.array([data.draw(st.integers(0, int(u))) for u in upper])
    rounded = integer_cost(cost, upper)
    assert int(np.abs(rounded.coefficients) @ upper) <= 2**COST_BITS + len(cost) * 500
    bound, true = rounded.bound(float(rounded.coefficients @ x)), float(cost @ x)
    magnitude = float(np.abs(cost) @ upper)
    assert bound <= true + 1e-12 * magnitude
    assert bound >= true - 1e-12 * max(1.0, magnitude) - COST_PRECISION * max(1.0, float(np.abs(cost).max()))


def test_decimal_costs_stay_exact_and_small() -> None:
    """Costs with a few decimals are multiplied by the least power of ten that makes them whole."""
    rounded = integer_cost(np.array([0.29, -1.001, 3.0]), np.array([1, 2, 3]))
    assert (rounded.coefficients.tolist(), rounded.scale) == ([290, -1001, 3000], 1000.0)
    assert integer_cost(np.array([5.0, -7.0]), np.array([1, 1])).scale == 1.0


def test_the_smallest_costs_do_not_divide_by_zero() -> None:
    """Costs next to the least double round to nothing, which is a bound of them."""
    for tiny in (5e-324, -5e-324, 1e-300):
        rounded = integer_cost(np.array([tiny]), np.array([1]))
        assert rounded.bound(float(rounded.coefficients[0])) <= tiny + 1e-300


def test_zero_costs_are_fine() -> None:
    """Without a cost the bound is 0."""
    rounded = integer_cost(np.zeros(3), np.array([1, 1, 1]))
    assert (rounded.coefficients.tolist(), rounded.bound(0.0)) == ([0, 0, 0], 0.0)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_rounded_capacity_rows_relax_by_a_hair(data: st.DataObject) -> None:
    """A point that fits still fits, one that fits the rounded row fits the true one to 3e-7, and nothing overflows."""
    weights = data.draw(st.lists(WEIGHTS, min_size=1, max_size=8))
    upper = data.draw(st.lists(st.integers(1, 64), min_size=len(weights), max_size=len(weights)))
    some = np.array([data.draw(st.integers(0, u)) for u in upper])
    bound = float(np.array(weights) @ some) * data.draw(st.sampled_from([1.0, 1.0 + 5e-7, 1.3, 0.7]))
    coefficients, lower, upper_bounds = integer_rows(capacity_row(weights, bound, upper))
    assert lower[0] == -INF
    assert int(coefficients @ np.array(upper)) < 2**62
    assert upper_bounds[0] <= 2.0 ** (ROW_BITS + 1)
    x = np.array([data.draw(st.integers(0, u)) for u in upper])
    true, rounded = float(np.array(weights) @ x), int(coefficients @ x)
    if true <= bound:
        assert rounded <= upper_bounds[0]
    if rounded <= upper_bounds[0]:
        assert true <= bound + 3e-7 * max(1.0, bound)


def test_decimal_rows_stay_small() -> None:
    """Weights with few decimals get the least power of ten, and the slack of the bound disappears in rounding."""
    coefficients, _, upper = integer_rows(capacity_row([0.5, 2.5, 8.0], 16.0 * (1 + 5e-7), [9, 9, 9]))
    assert (coefficients.tolist(), upper.tolist()) == ([5, 25, 80], [160.0])


def test_a_row_without_room_still_forbids() -> None:
    """With a bound of 0 every coefficient stays positive, so that every variable of the row is 0."""
    for weights in ([1e-6, 0.123456789], [3.0, 0.25]):
        coefficients, _, upper = integer_rows(capacity_row(weights, 0.0, [5, 5]))
        assert upper[0] == 0
        assert (coefficients > 0).all()


def test_whole_rows_are_untouched() -> None:
    """Rows of whole numbers keep coefficients and bounds, infinite ones too."""
    model = Model(
        cost=np.zeros(2),
        upper=np.array([1, 1]),
        data=np.array([3.0, -2.0]),
        indices=np.array([0, 1]),
        indptr=np.array([0, 2]),
        row_lower=np.array([-4.0]),
        row_upper=np.array([INF]),
        integral_row=np.array([True]),
        start=None,
    )
    coefficients, lower, upper = integer_rows(model)
    assert (coefficients.tolist(), lower.tolist(), upper.tolist()) == ([3, -2], [-4.0], [INF])
