"""crop's quick greedy with larger gangs first (`--set effort=quick --set order=large`), under a name of its own."""

from __future__ import annotations

from crop_cli.model.problem import Problem
from crop_cli.solvers import registry
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from crop_cli.solvers.greedy.quick import solve_quickly

NAME = "large-first"


def register() -> None:
    """Make it a solver of this process."""
    registry.ENGINES[NAME] = registry.Engine(
        NAME, "heuristic", "quick greedy, larger gangs first", f"{__name__}:solve", abilities=("simulations",)
    )


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """The quick greedy in the other order."""
    return solve_quickly(problem, budget, larger_first=True)
