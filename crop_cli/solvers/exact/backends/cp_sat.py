"""OR-Tools CP-SAT, on the model with whole-number costs and rows. Imported in a solver process only."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import ortools
from ortools.sat.python import cp_model

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.protocol import Ending, IntArray, Model, Outcome, Settings
from crop_cli.solvers.exact.scaling import integer_cost, integer_rows
from crop_cli.solvers.exact.worker import Channel

ENDINGS: dict[str, Ending] = {
    "OPTIMAL": "optimal",
    "INFEASIBLE": "infeasible",
    # Stopped by a limit or by request; which of them is told apart by the request.
    "FEASIBLE": "time_limit",
    "UNKNOWN": "time_limit",
    "MODEL_INVALID": "error",
}
"""Meaning of every member of `CpSolverStatus`."""

RESERVED = frozenset(
    {
        "max_time_in_seconds",
        "num_workers",
        "num_search_workers",
        "random_seed",
        "absolute_gap_limit",
        "log_search_progress",
        "log_to_stdout",
        "log_to_response",
        "catch_sigint_signal",
        "enumerate_all_solutions",
    }
)

OPEN = 2**62
"""Stands for an infinite bound of a row; CP-SAT accepts domains up to here."""


def solve(model: Model, settings: Settings, channel: Channel) -> Outcome:
    """Minimise the model; see `crop_cli.solvers.exact.worker.Backend`."""
    version = ortools.__version__
    cost = integer_cost(model.cost, model.upper)
    program = _program(model, cost.coefficients)
    solver = cp_model.CpSolver()
    _set_parameters(solver.parameters, settings, cost.scale)
    # The domain of the objective must fit, or the answer is MODEL_INVALID without a reason in it.
    complaint = program.validate()
    if complaint:
        return Outcome("error", message=f"CP-SAT refuses the model: {complaint}", version=version)
    remaining = settings.remaining()
    if remaining is not None:
        if remaining <= 0:
            return Outcome("time_limit", version=version)
        solver.parameters.max_time_in_seconds = remaining

    def on_bound(value: float) -> None:
        channel.bound(cost.bound(value))

    solver.best_bound_callback = on_bound
    solver.log_callback = print
    channel.on_stop(solver.stop_search)
    status = solver.solve(program, _Reporter(channel))
    ending = ENDINGS[status.name]
    bound = None
    response = solver.response_proto
    if status.name in ("OPTIMAL", "FEASIBLE"):
        # UNKNOWN comes with a bound of 0 that means nothing; what was proved before arrived by the callback.
        bound = cost.bound(response.best_objective_bound)
        channel.incumbent(np.array(list(response.solution), dtype=np.int64))
    if ending == "time_limit" and channel.stopping.is_set():
        ending = "interrupted"
    return Outcome(ending, bound=bound, message=f"CP-SAT: {status.name}", version=version)


class _Reporter(cp_model.CpSolverSolutionCallback):
    """Streams every solution."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def on_solution_callback(self) -> None:
        self._channel.incumbent(np.array(list(self.response_proto.solution), dtype=np.int64))


def _program(model: Model, cost: IntArray) -> cp_model.CpModel:
    """The model as CP-SAT's protocol buffer, filled directly: its modelling layer would cost most of the time."""
    program = cp_model.CpModel()
    proto: Any = program.proto
    for upper in model.upper.tolist():
        proto.variables.add().domain.extend([0, upper])
    coefficients, lower, upper_bounds = integer_rows(model)
    indices, values, starts = model.indices.tolist(), coefficients.tolist(), model.indptr.tolist()
    for i, (low, high) in enumerate(zip(lower.tolist(), upper_bounds.tolist(), strict=True)):
        row = proto.constraints.add().linear
        row.vars.extend(indices[starts[i] : starts[i + 1]])
        row.coeffs.extend(values[starts[i] : starts[i + 1]])
        row.domain.extend([int(low) if low > -OPEN else -OPEN, int(high) if high < OPEN else OPEN])
    used = np.flatnonzero(cost)
    proto.objective.vars.extend(used.tolist())
    proto.objective.coeffs.extend(cost[used].tolist())
    if model.start is not None:
        proto.solution_hint.vars.extend(range(model.n_columns))
        proto.solution_hint.values.extend(model.start.tolist())
    return program


def _set_parameters(parameters: Any, settings: Settings, scale: float) -> None:
    """Ours first, then the user's."""
    parameters.num_workers = settings.threads
    parameters.random_seed = settings.seed % 2**31
    parameters.log_search_progress = True
    parameters.log_to_stdout = False
    parameters.catch_sigint_signal = False
    parameters.relative_gap_limit = 0.0
    parameters.absolute_gap_limit = settings.absolute_gap * scale
    for key, value in settings.options.items():
        if key in RESERVED:
            raise UsageError(f"option {key} of cp-sat is set by crop")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key) or not re.fullmatch(r"[\w.+-]+", value):
            raise UsageError(f"option {key}={value} of cp-sat is not a parameter and a plain value")
        if not (_merge(parameters, f"{key}: {value}") or _merge(parameters, f'{key}: "{value}"')):
            raise UsageError(f"cp-sat has no parameter {key} that takes the value {value}")


def _merge(parameters: Any, text: str) -> bool:
    merged: bool = parameters.merge_text_format(text)
    return merged
