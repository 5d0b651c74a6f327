"""HiGHS through highspy. Imported in a solver process only: its constructor prints, and threads are a global of it."""

from __future__ import annotations

import math

import highspy
import numpy as np
from highspy import HighsStatus

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.protocol import Ending, FloatArray, Model, Outcome, Settings
from crop_cli.solvers.exact.worker import Channel

ENDINGS: dict[str, Ending] = {
    "kOptimal": "optimal",
    "kInfeasible": "infeasible",
    # Every variable has finite bounds, so it cannot be unbounded.
    "kUnboundedOrInfeasible": "infeasible",
    "kTimeLimit": "time_limit",
    "kInterrupt": "interrupted",
    "kHighsInterrupt": "interrupted",
    "kIterationLimit": "other_limit",
    "kSolutionLimit": "other_limit",
    "kObjectiveBound": "other_limit",
    "kObjectiveTarget": "other_limit",
    "kMemoryLimit": "error",
    "kModelEmpty": "error",
    "kUnbounded": "error",
    "kUnknown": "error",
    "kNotset": "error",
    "kLoadError": "error",
    "kModelError": "error",
    "kPresolveError": "error",
    "kSolveError": "error",
    "kPostsolveError": "error",
}
"""Meaning of every member of `HighsModelStatus`."""

RESERVED = frozenset(
    {
        "time_limit",
        "threads",
        "parallel",
        "random_seed",
        "mip_abs_gap",
        "output_flag",
        "log_to_console",
        "log_file",
        "solution_file",
        "write_model_file",
        "write_model_to_file",
        "write_solution_to_file",
    }
)

FEASIBILITY = 1e-7
"""How far HiGHS may exceed a row; what it then calls feasible passes our own verification."""

_FEASIBLE_POINT = 2  # kSolutionStatusFeasible: any other value means that the point is not one


class _HighsError(Exception):
    """A call that did not return kOk where only that will do."""


def solve(model: Model, settings: Settings, channel: Channel) -> Outcome:
    """Minimise the model; see `crop_cli.solvers.exact.worker.Backend`."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    version = str(highs.version())
    # The model first: a time limit that has been set already would cut its loading short.
    _load(highs, model)
    _set_options(highs, settings)
    _listen(highs, channel)
    if model.start is not None:
        _offer(highs, model.start.astype(np.float64))
    remaining = settings.remaining()
    if remaining is not None:
        if remaining <= 0:
            return Outcome("time_limit", version=version)
        _set(highs, "time_limit", float(remaining))
    status = highs.run()
    info, reached = highs.getInfo(), highs.getModelStatus()
    ending = ENDINGS[reached.name]
    if status == HighsStatus.kError:
        ending = "error"
    if info.primal_solution_status == _FEASIBLE_POINT:
        channel.incumbent(np.asarray(highs.getSolution().col_value, dtype=np.float64))
    bound = float(info.mip_dual_bound)
    return Outcome(
        ending,
        bound=bound if math.isfinite(bound) and ending not in ("infeasible", "error") else None,
        message=f"HiGHS: {highs.modelStatusToString(reached)}",
        version=version,
    )


def _load(highs: highspy.Highs, model: Model) -> None:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.n_columns, model.n_rows
    lp.col_cost_ = model.cost
    lp.col_lower_ = np.zeros(model.n_columns)
    lp.col_upper_ = model.upper.astype(np.float64)
    lp.row_lower_ = np.where(np.isinf(model.row_lower), -highspy.kHighsInf, model.row_lower)
    lp.row_upper_ = np.where(np.isinf(model.row_upper), highspy.kHighsInf, model.row_upper)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = model.indptr
    lp.a_matrix_.index_ = model.indices
    lp.a_matrix_.value_ = model.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * model.n_columns
    _require("passModel", highs.passModel(lp))
    if highs.getNumCol() != model.n_columns or highs.getNumRow() != model.n_rows:
        raise _HighsError("HiGHS did not take the whole model")


def _set_options(highs: highspy.Highs, settings: Settings) -> None:
    """Ours first, then the user's."""
    _set(highs, "threads", settings.threads)
    _set(highs, "parallel", "on" if settings.threads > 1 else "off")
    _set(highs, "random_seed", settings.seed % 2**31)
    _set(highs, "mip_rel_gap", 0.0)
    _set(highs, "mip_abs_gap", settings.absolute_gap)
    _set(highs, "mip_feasibility_tolerance", FEASIBILITY)
    for key, text in settings.options.items():
        if key in RESERVED:
            raise UsageError(f"option {key} of highs is set by crop")
        status, kind = highs.getOptionType(key)
        if status != HighsStatus.kOk:
            raise UsageError(f"highs has no option {key}")
        value = _parse(key, text, kind)
        if highs.setOptionValue(key, value) != HighsStatus.kOk:
            raise UsageError(f"option {key} of highs does not take the value {text}")


def _parse(key: str, text: str, kind: highspy.HighsOptionType) -> bool | int | float | str:
    try:
        match kind.name:
            case "kBool":
                return {"true": True, "false": False, "on": True, "off": False}[text.lower()]
            case "kInt":
                return int(text)
            case "kDouble":
                return float(text)
            case _:
                return text
    except (KeyError, ValueError):
        raise UsageError(f"option {key} of highs does not take the value {text}") from None


def _listen(highs: highspy.Highs, channel: Channel) -> None:
    def on_point(event: highspy.HighsCallbackEvent) -> None:
        channel.incumbent(np.asarray(event.data_out.mip_solution, dtype=np.float64))

    def on_progress(event: highspy.HighsCallbackEvent) -> None:
        channel.bound(float(event.data_out.mip_dual_bound))

    def on_pause(event: highspy.HighsCallbackEvent) -> None:
        if channel.stopping.is_set():
            event.interrupt()

    highs.cbMipImprovingSolution += on_point
    highs.cbMipLogging += on_progress
    highs.cbMipInterrupt += on_pause


def _offer(highs: highspy.Highs, start: FloatArray) -> None:
    """Hand over the start when HiGHS asks for points, once.

    `setSolution` will not do: version 1.16 transforms such a point into presolved space incorrectly now and then, takes
    it for better than it is, and then calls it optimal.
    """

    def on_question(event: highspy.HighsCallbackEvent) -> None:
        if event.data_in is not None:
            event.data_in.setSolution(start)
        highs.cbMipUserSolution -= on_question

    highs.cbMipUserSolution += on_question


def _set(highs: highspy.Highs, key: str, value: bool | int | float | str) -> None:
    _require(f"option {key}", highs.setOptionValue(key, value))


def _require(what: str, status: HighsStatus) -> None:
    if status != HighsStatus.kOk:
        raise _HighsError(f"HiGHS: {what} gave {status.name}")
