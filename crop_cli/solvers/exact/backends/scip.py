"""SCIP through OR-Tools MathOpt. Imported in a solver process only."""

from __future__ import annotations

import datetime
import importlib
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import ortools
from ortools.math_opt import model_pb2
from ortools.util.python.solve_interrupter import SolveInterrupter

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.protocol import Ending, FloatArray, Model, Outcome, Settings
from crop_cli.solvers.exact.worker import Channel

mathopt: Any = importlib.import_module("ortools.math_opt.python.mathopt")  # its types are not exported

ENDINGS: dict[str, Ending] = {
    "OPTIMAL": "optimal",
    "INFEASIBLE": "infeasible",
    # Every variable has finite bounds, so it cannot be unbounded.
    "INFEASIBLE_OR_UNBOUNDED": "infeasible",
    "UNBOUNDED": "error",
    "IMPRECISE": "error",
    "NUMERICAL_ERROR": "error",
    "OTHER_ERROR": "error",
    # A limit, which `LIMITS` explains.
    "FEASIBLE": "other_limit",
    "NO_SOLUTION_FOUND": "other_limit",
}
"""Meaning of every member of `TerminationReason`."""

LIMITS: dict[str, Ending] = {
    "TIME": "time_limit",
    "INTERRUPTED": "interrupted",
    "ITERATION": "other_limit",
    "NODE": "other_limit",
    "CUTOFF": "other_limit",
    "OBJECTIVE": "other_limit",
    "SOLUTION": "other_limit",
    "NORM": "other_limit",
    "SLOW_PROGRESS": "other_limit",
    "OTHER": "other_limit",
    "UNDETERMINED": "other_limit",
    "MEMORY": "error",
}
"""Meaning of every member of `Limit`, where the reason is one."""

RESERVED = frozenset(
    {
        "limits/time",
        "limits/absgap",
        "parallel/maxnthreads",
        "randomization/randomseedshift",
        "display/verblevel",
        "misc/catchctrlc",
    }
)

FEASIBILITY = 1e-7
"""How far SCIP may exceed a row, relatively; what it then calls feasible passes our own verification."""

_TABLE_DIGITS = 7  # of the numbers in SCIP's progress table


def solve(model: Model, settings: Settings, channel: Channel) -> Outcome:
    """Minimise the model; see `crop_cli.solvers.exact.worker.Backend`."""
    version = ortools.__version__
    parameters = mathopt.SolveParameters(
        threads=settings.threads,
        random_seed=settings.seed % 2**31,
        relative_gap_tolerance=0.0,
        absolute_gap_tolerance=settings.absolute_gap,
    )
    parameters.gscip.real_params["numerics/feastol"] = FEASIBILITY
    for key, text in settings.options.items():
        _set_option(parameters, key, text)
    program = mathopt.Model.from_model_proto(_proto(model))
    variables = list(program.variables())
    hints = []
    if model.start is not None:
        values = dict(zip(variables, model.start.astype(float).tolist(), strict=True))
        hints.append(mathopt.SolutionHint(variable_values=values))

    def point(values: dict[Any, float]) -> FloatArray:
        return np.array([values[variable] for variable in variables], dtype=np.float64)

    def on_solution(event: Any) -> Any:
        if event.solution is not None:
            channel.incumbent(point(event.solution))
        # The event's own dual bound is not used: before the search it is 0, whatever the model.
        return mathopt.CallbackResult()

    def on_log(lines: Sequence[str]) -> None:
        for line in lines:
            print(line)
            channel.bound(table_bound(line))

    interrupter = SolveInterrupter()
    channel.on_stop(interrupter.interrupt)
    remaining = settings.remaining()
    if remaining is not None:
        if remaining <= 0:
            return Outcome("time_limit", version=version)
        parameters.time_limit = datetime.timedelta(seconds=remaining)
    result = mathopt.solve(
        program,
        mathopt.SolverType.GSCIP,
        params=parameters,
        model_params=mathopt.ModelSolveParameters(solution_hints=hints),
        msg_cb=on_log,
        callback_reg=mathopt.CallbackRegistration(events={mathopt.Event.MIP_SOLUTION}),
        cb=on_solution,
        interrupter=interrupter,
    )
    termination = result.termination
    ending = ENDINGS[termination.reason.name]
    if ending == "other_limit" and termination.limit is not None:
        ending = LIMITS[termination.limit.name]
    if result.has_primal_feasible_solution():
        channel.incumbent(point(result.variable_values()))
    bound = termination.objective_bounds.dual_bound
    return Outcome(
        ending,
        bound=bound if math.isfinite(bound) and ending not in ("infeasible", "error") else None,
        message=f"SCIP: {termination.reason.name}, {termination.detail}",
        version=version,
    )


def table_bound(line: str) -> float:
    """Lower bound in a line of SCIP's progress table, its rounding undone downwards; NaN when there is none."""
    cells = line.split("|")
    if len(cells) < 5 or not re.fullmatch(r"\s*-?\d\.\d+e[+-]\d+\s*", cells[-4]):
        return math.nan
    value = float(cells[-4])
    return (
        value - 10.0 ** (math.floor(math.log10(abs(value))) + 1 - _TABLE_DIGITS) if value else -(10.0**-_TABLE_DIGITS)
    )


def _proto(model: Model) -> model_pb2.ModelProto:
    """The model as MathOpt's protocol buffer, filled directly: its modelling layer would cost most of the time."""
    proto = model_pb2.ModelProto()
    columns, rows = range(model.n_columns), range(model.n_rows)
    proto.variables.ids.extend(columns)
    proto.variables.lower_bounds.extend(itertools.repeat(0.0, model.n_columns))
    proto.variables.upper_bounds.extend(model.upper.astype(float).tolist())
    proto.variables.integers.extend(itertools.repeat(True, model.n_columns))
    used = np.flatnonzero(model.cost)
    proto.objective.linear_coefficients.ids.extend(used.tolist())
    proto.objective.linear_coefficients.values.extend(model.cost[used].tolist())
    proto.linear_constraints.ids.extend(rows)
    proto.linear_constraints.lower_bounds.extend(model.row_lower.tolist())
    proto.linear_constraints.upper_bounds.extend(model.row_upper.tolist())
    matrix = proto.linear_constraint_matrix
    matrix.row_ids.extend(np.repeat(np.arange(model.n_rows), np.diff(model.indptr)).tolist())
    matrix.column_ids.extend(model.indices.tolist())
    matrix.coefficients.extend(model.data.tolist())
    return proto


def _set_option(parameters: Any, key: str, text: str) -> None:
    """Set a SCIP parameter, of whatever type it turns out to be: SCIP itself says on an empty model what it accepts."""
    if key in RESERVED:
        raise UsageError(f"option {key} of scip is set by crop")
    empty = mathopt.Model()
    for table, value in _readings(text):
        getattr(parameters.gscip, table)[key] = value
        try:
            mathopt.solve(empty, mathopt.SolverType.GSCIP, params=parameters)
        except Exception:  # MathOpt's own class of errors cannot be relied on
            del getattr(parameters.gscip, table)[key]
        else:
            return
    raise UsageError(f"scip has no parameter {key} that takes the value {text}")


def _readings(text: str) -> Iterator[tuple[str, bool | int | float | str]]:
    """Every type that a text may have, as table of `GScipParameters` and value."""
    if text.lower() in ("true", "false"):
        yield "bool_params", text.lower() == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        if abs(int(text)) < 2**31:
            yield "int_params", int(text)
        yield "long_params", int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text, re.IGNORECASE):
        yield "real_params", float(text)
    if len(text) == 1:
        yield "char_params", text
    yield "string_params", text
