"""The search engine: local search from the greedy's placement, guided by the prices of the bound."""

from __future__ import annotations

from crop_cli.errors import UsageError
from crop_cli.model.problem import Problem
from crop_cli.solvers.bounds import meets
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from crop_cli.solvers.search.local import LocalSearch

IDLE_ROUNDS, IDLE_STEPS = 4.0, 24
"""The search ends by itself after so many parts without a gain that also cover the cluster so many times."""


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """Improve the placement of the request until the gap to its bound is met, nothing more is found, or time is up.

    Raises
    ------
    UsageError
        An option: there are none.
    """
    if request.options:
        raise UsageError(f"the search has no option {next(iter(request.options))!r}; it knows none")
    if request.start is None:
        missing = "the search needs a placement to start from, and the greedy found none"
        return Answer(None, "completed", notes=(missing,))
    started = budget.elapsed
    search = LocalSearch.of(problem, request.start, request.relaxation, request.seed, budget, listen)
    while not (budget.should_stop or exhausted(search) or meets(request.bound, search.board.value, request.gap)):
        search.step()
    reason = budget.stop_reason() if budget.should_stop else "completed"
    return Answer(dict(search.board.placement), reason, seconds={"solve": budget.elapsed - started})


def exhausted(search: LocalSearch) -> bool:
    """Whether it is time to give up."""
    return search.idle >= IDLE_STEPS and search.fruitless >= IDLE_ROUNDS
