"""crop's quick greedy with another order: of jobs whose places are about equally good, the larger gang first.

`--set effort=quick` takes jobs by utility per GPU. A job of one GPU never waits for the network, so that it comes
before every gang that does, however little; over many rounds, nodes fill with small jobs and large gangs get what is
left of several. Here utility per GPU and weight is rounded to quarters, and among equals the larger gang comes first.
"""

from __future__ import annotations

from crop_cli.model.problem import Problem
from crop_cli.solvers import registry
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from crop_cli.solvers.greedy import quick
from crop_cli.solvers.oracle import Best

NAME = "large-first"
STEPS = 4


def register() -> None:
    """Make it a solver of this process."""
    registry.ENGINES[NAME] = registry.Engine(NAME, "heuristic", "quick greedy, larger gangs first", f"{__name__}:solve")


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """The quick greedy in the other order."""
    own = quick._density
    quick._density = _density
    try:
        return quick.solve_quickly(problem, budget)
    finally:
        quick._density = own


def _density(problem: Problem, job: int, best: Best | None) -> float:
    if best is None:
        return float("-inf")
    kind = problem.kind(job)
    # Gangs have far fewer than a million workers: their number decides among equals only.
    return kind.weight * (round(STEPS * best.utility / (kind.k * kind.weight)) + 1e-6 * kind.k)
