"""Runs a back end in a process of its own, with a deadline that holds whatever the library does.

The library may overrun its time limit, swallow signals, print to standard output, crash, or exhaust memory: none of it
reaches this process. Incumbents and bounds arrive through a pipe as they are found and survive the end of the child.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.backends import module_of
from crop_cli.solvers.exact.child import Child
from crop_cli.solvers.exact.evidence import Evidence
from crop_cli.solvers.exact.patience import Patience
from crop_cli.solvers.exact.protocol import Bound, Decoder, Incumbent, Model, Outcome, Settings, write_task
from crop_cli.solvers.exact.sparse_model import IntArray, SparseModel
from crop_cli.solvers.exact.verdict import BackendResult, Ended, verdict

POLL = 0.02
"""Seconds between looks at the clock and at `should_stop`."""


def run_backend(
    name: str,
    model: SparseModel,
    *,
    time_limit: float | None,
    seed: int = 0,
    threads: int = 1,
    absolute_gap: float = 0.0,
    options: dict[str, str] | None = None,
    memory_mb: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    on_incumbent: Callable[[IntArray, float], None] = lambda _x, _cost: None,
    on_bound: Callable[[float], None] = lambda _bound: None,
) -> BackendResult:
    """Minimise a model with a library, in a process that ends with this call.

    Parameters
    ----------
    name
        `cp-sat`, `highs`, `scip`, `cbc`, or the dotted name of a module with a
        `solve(model, settings, channel)` (see `crop_cli.solvers.exact.worker.Backend`).
    model
        Not changed. Its start, if feasible, is the first incumbent and is handed to the library.
    time_limit
        Wall-clock seconds, everything included; kept within about a second. None for no limit.
    seed, threads
        Passed on. With one thread and no limit in the way the same input gives the same output.
    absolute_gap
        The library may stop when cost − bound is at most this; 0 asks for a proof. Relative gaps of F are the
        caller's: it knows the constant, and can stop through `should_stop`.
    options
        Raw options of the library.
    memory_mb
        Most address space of the child in 10^6 bytes.
    should_stop
        Asked every few hundredths of a second; true ends the run within about a second.
    on_incumbent, on_bound
        Told of every improvement: a verified point with its cost, and a lower bound of the cost.

    Raises
    ------
    UsageError
        If `name` or an option is not known.
    BackendError
        If the library is not installed.
    """
    began = time.monotonic()
    module = module_of(name)
    evidence = Evidence(model)
    if model.start is not None:
        evidence.offer(model.start)
    task = _task(model, use_start=evidence.x is not None)
    if task is None:
        return verdict(evidence, Ended(Outcome("infeasible")), began)
    if task.n_columns == 0:
        evidence.offer(np.zeros(0, dtype=np.int64))
        return verdict(evidence, Ended(Outcome("optimal", bound=0.0)), began)
    settings = Settings(
        module=module,
        deadline=None if time_limit is None else began + time_limit,
        absolute_gap=absolute_gap,
        seed=seed,
        threads=threads,
        options=dict(options or {}),
        memory_mb=memory_mb,
    )
    patience = Patience(settings.deadline, should_stop)
    with tempfile.TemporaryDirectory(prefix="crop-", ignore_cleanup_errors=True) as directory:
        write_task(Path(directory), task, settings)
        child = Child(Path(directory))
        try:
            outcome = _attend(child, patience, evidence, on_incumbent, on_bound)
        finally:
            exit_code = child.end()
        log = child.log_tail()
    if outcome is not None and outcome.ending == "usage":
        raise UsageError(outcome.message)
    return verdict(evidence, Ended(outcome, absolute_gap, patience.asked, patience.over, exit_code, log), began)


def _attend(
    child: Child,
    patience: Patience,
    evidence: Evidence,
    on_incumbent: Callable[[IntArray, float], None],
    on_bound: Callable[[float], None],
) -> Outcome | None:
    """Read frames until the outcome (returned), the end of the pipe, or the end of patience."""
    decoder = Decoder()
    while not patience.exhausted(child.ask_to_stop):
        data = child.read(POLL)
        if data is None:
            continue
        if not data:
            return None
        try:
            frames = list(decoder.feed(data))
        except ValueError as error:
            return Outcome("error", message=f"its pipe carries something else than frames ({error})")
        for frame in frames:
            match frame:
                case Incumbent(x):
                    if evidence.offer(x) and evidence.cost is not None:
                        on_incumbent(x, evidence.cost)
                case Bound(value):
                    if evidence.claim(value) and evidence.bound is not None:
                        on_bound(evidence.bound)
                case Outcome():
                    return frame
    return None


def _task(model: SparseModel, use_start: bool) -> Model | None:
    """The model in the child's form, without empty rows and explicit zeros; None if an empty row cannot hold."""
    matrix = csr_array(model.matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    filled = np.diff(matrix.indptr) > 0
    if not ((model.row_lower[~filled] <= 0) & (model.row_upper[~filled] >= 0)).all():
        return None
    matrix = matrix[np.flatnonzero(filled)]
    return Model(
        cost=np.asarray(model.cost, dtype=np.float64),
        upper=np.asarray(model.upper, dtype=np.int64),
        data=matrix.data.astype(np.float64),
        indices=matrix.indices.astype(np.int64),
        indptr=matrix.indptr.astype(np.int64),
        row_lower=np.asarray(model.row_lower, dtype=np.float64)[filled],
        row_upper=np.asarray(model.row_upper, dtype=np.float64)[filled],
        integral_row=np.asarray(model.integral_row, dtype=np.bool_)[filled],
        start=model.start if use_start else None,
    )
