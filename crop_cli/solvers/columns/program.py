"""Integer programs of column generation, solved by HiGHS: small ones in this process, larger ones in their own.

In this process HiGHS asks now and then whether to go on, there the run's budget is looked at. How often it asked is
counted and limited, so that the same input gives the same output. A large model may keep it from asking for long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import highspy
import numpy as np

from crop_cli.errors import BackendError
from crop_cli.model.problem import FloatArray, IntArray
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.exact.process import run_backend
from crop_cli.solvers.exact.sparse_model import SparseModel
from crop_cli.solvers.in_process import run_highs

SMALL = 400
"""Most variables of a model that is solved in this process."""

QUESTIONS = 1_000
"""How often HiGHS may ask in this process whether to go on before it is told to stop: up to some seconds."""

FEASIBILITY = 1e-9
"""How far HiGHS may exceed a row in this process; far less than the slack that capacities have."""

SAFETY = 1e-8
"""Share of the largest cost and of the bound by which a bound of HiGHS is lowered: it computes in floating point."""

ABOVE = 1e-7
"""Share by which a point has to be better than the limit that is given."""

_FEASIBLE_POINT = 2  # kSolutionStatusFeasible: any other value means that the point is not one


@dataclass(frozen=True, slots=True)
class Found:
    """Best point, whole and within the rows, and a lower bound of the cost; None where unknown."""

    x: IntArray | None
    bound: float | None


def minimise(
    model: SparseModel,
    budget: Budget,
    *,
    nodes: int,
    gap: float = 0.0,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    on_point: Callable[[IntArray], None] = lambda _x: None,
    on_bound: Callable[[float], None] = lambda _bound: None,
) -> Found:
    """Minimise a model until it is solved, or nodes or the budget are used up.

    Parameters
    ----------
    model
        A start helps only a large model.
    nodes
        Most nodes of branch and bound.
    gap
        Absolute: it may end when cost − bound is at most this.
    stop
        Asked all the time; true ends it. Not in a small model.
    on_point, on_bound
        Told of every better point and bound.
    """
    if len(model.cost) <= SMALL:
        found = solve_here(model, nodes=nodes, gap=gap, budget=budget)
        if found.x is not None:
            on_point(found.x)
        if found.bound is not None:
            on_bound(found.bound)
        return found
    margin = SAFETY * _unit(model)
    try:
        result = run_backend(
            "highs",
            model,
            time_limit=budget.remaining,
            seed=seed,
            absolute_gap=gap,
            options={"mip_max_nodes": str(nodes)},
            should_stop=lambda: budget.should_stop or stop(),
            on_incumbent=lambda x, _cost: on_point(x),
            on_bound=lambda bound: on_bound(bound - margin - SAFETY * abs(bound)),
        )
    except BackendError:
        return Found(None, None)
    bound = None if result.bound is None else result.bound - margin - SAFETY * abs(result.bound)
    if result.x is not None:
        on_point(result.x)
    if bound is not None:
        on_bound(bound)
    return Found(result.x, bound)


def solve_here(
    model: SparseModel,
    *,
    nodes: int,
    questions: int = QUESTIONS,
    gap: float = 0.0,
    above: float | None = None,
    enough: float | None = None,
    budget: Budget | None = None,
) -> Found:
    """The same in this process: only points whose cost is below −`above` are of use, one of −`enough` ends it."""
    budget = budget or Budget()
    if budget.should_stop:
        return Found(None, None)
    highs = highspy._Highs()  # type: ignore[attr-defined]  # the interface class above it prints a banner
    unit = _unit(model)
    options = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "mip_rel_gap": 0.0,
        "mip_abs_gap": gap / unit,
        "mip_max_nodes": nodes,
        "mip_feasibility_tolerance": FEASIBILITY,
    }
    if enough is not None:
        options["objective_target"] = -enough / unit
    for option, value in options.items():
        _require(highs.setOptionValue(option, value))
    _require(highs.passModel(_lp(model, unit)))
    if above is not None:
        every = np.arange(len(model.cost), dtype=np.int32)
        most = -above / unit - ABOVE * max(1.0, abs(above) / unit)
        _require(highs.addRow(-np.inf, most, len(every), every, model.cost / unit))
    _stop_after(highs, questions, budget)
    run_highs(highs)
    info = highs.getInfo()
    bound = unit * float(info.mip_dual_bound)
    known = highs.getModelStatus() in _BOUNDED and np.isfinite(bound) and above is None
    return Found(
        x=_whole(model, np.array(highs.getSolution().col_value))
        if info.primal_solution_status == _FEASIBLE_POINT
        else None,
        bound=bound - SAFETY * (unit + abs(bound)) if known else None,
    )


_BOUNDED = (
    highspy.HighsModelStatus.kOptimal,
    highspy.HighsModelStatus.kInterrupt,
    highspy.HighsModelStatus.kObjectiveTarget,
    highspy.HighsModelStatus.kSolutionLimit,
    highspy.HighsModelStatus.kIterationLimit,
)
"""Ends with a bound that means something."""


def _stop_after(highs: highspy._Highs, questions: int, budget: Budget) -> None:  # type: ignore[name-defined]
    """Have HiGHS stop when it asked so often, or when the budget is used up."""
    asked = 0

    def answer(_kind: object, _text: str, _out: object, question: highspy.cb.HighsCallbackInput, _data: object) -> None:
        nonlocal asked
        asked += 1
        if asked >= questions or budget.should_stop:
            question.user_interrupt = True

    _require(highs.setCallback(answer, None))
    _require(highs.startCallback(highspy.cb.HighsCallbackType.kCallbackMipInterrupt))


def with_start(model: SparseModel, start: FloatArray | IntArray | None) -> SparseModel:
    """The model with a point to start from."""
    return model if start is None else replace(model, start=np.rint(start).astype(np.int64))


def _whole(model: SparseModel, point: FloatArray) -> IntArray | None:
    """The point rounded, unless rounding made it infeasible; capacities have more slack than is allowed here."""
    x = np.rint(point).astype(np.int64)
    load = model.matrix @ x
    slack = 10 * FEASIBILITY * np.maximum(1.0, np.abs(load))
    inside = (load <= model.row_upper + slack).all() and (load >= model.row_lower - slack).all()
    return x if inside and (x >= 0).all() and (x <= model.upper).all() else None


def _unit(model: SparseModel) -> float:
    return max(1e-12, float(np.abs(model.cost).max(initial=0.0)))


def _lp(model: SparseModel, unit: float) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = model.matrix.shape
    lp.col_cost_ = model.cost / unit
    lp.col_lower_ = np.zeros(lp.num_col_)
    lp.col_upper_ = model.upper.astype(np.float64)
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = model.matrix.indptr
    lp.a_matrix_.index_ = model.matrix.indices
    lp.a_matrix_.value_ = model.matrix.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * lp.num_col_
    return lp


def _require(status: object) -> None:
    if status != highspy.HighsStatus.kOk:
        raise BackendError(f"HiGHS returned {status}")
