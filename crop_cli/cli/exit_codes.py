"""The exit codes of `crop`, and the one place that maps errors and results to them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from crop_cli.errors import BackendError, CropError, InputError, UsageError, ViolationError

if TYPE_CHECKING:
    from crop_cli.model.solution import Solution


class ExitCode(IntEnum):
    """What the caller of a command learns from its exit code."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    BAD_INPUT = 3
    INFEASIBLE = 4
    NO_SOLUTION = 5
    BACK_END = 6
    VIOLATIONS = 7
    GATE = 8
    INTERRUPTED = 130


def of_error(error: CropError) -> ExitCode:
    """Exit code of an error raised on purpose."""
    if isinstance(error, UsageError):
        return ExitCode.USAGE
    if isinstance(error, InputError):
        return ExitCode.BAD_INPUT
    if isinstance(error, BackendError):
        return ExitCode.BACK_END
    if isinstance(error, ViolationError):
        return ExitCode.VIOLATIONS
    return ExitCode.INTERNAL


def of_solution(solution: Solution, *, interrupted: bool = False) -> ExitCode:
    """Exit code of a finished `solve`; an interrupt is reported even when a solution was written."""
    if interrupted:
        return ExitCode.INTERRUPTED
    if solution.status == "infeasible":
        return ExitCode.INFEASIBLE
    if solution.status == "no_solution":
        return ExitCode.BACK_END if solution.stop_reason == "error" else ExitCode.NO_SOLUTION
    return ExitCode.OK
