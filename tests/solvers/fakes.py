"""Solvers that answer what a test wants: engines of the registry name them by "module:function"."""

from __future__ import annotations

from collections.abc import Callable

from crop_cli.model.problem import Problem
from crop_cli.model.solution import Guarantee
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from crop_cli.solvers.registry import ENGINES, Engine, Role

Reply = Callable[[Problem, Request], Answer]

REPLIES: dict[str, Reply] = {}


def answer(problem: Problem, request: Request, budget: Budget, listen: Listener, *, reply: str) -> Answer:
    """The reply that was registered under a name."""
    return REPLIES[reply](problem, request)


def engine(name: str, role: Role, reply: Reply) -> Engine:
    """An engine that gives this reply."""
    REPLIES[name] = reply
    return Engine(name, role, "for tests", "tests.solvers.fakes:answer", {"reply": name})


def nothing(problem: Problem, request: Request) -> Answer:
    """No placement, no bound."""
    return Answer(None, "completed")


def first_fit(problem: Problem, request: Request) -> Answer:
    """Every open job on the first node that has room for all of it."""
    free = problem.free_gpus.copy()
    placement = {}
    for job in problem.open_jobs:
        k = problem.kind(int(job)).k
        for n in range(problem.n_nodes):
            if free[n] >= k:
                free[n] -= k
                placement[int(job)] = {n: k}
                break
    return Answer(placement, "completed", guarantee=Guarantee(a_priori=0.5, relative_to="optimum", why="for tests"))


def overfull(problem: Problem, request: Request) -> Answer:
    """Every open job on node 0, whether it fits or not."""
    return Answer({int(j): {0: problem.kind(int(j)).k} for j in problem.open_jobs}, "proved", bound=1e6)


__all__ = ["ENGINES", "answer", "engine", "first_fit", "nothing", "overfull"]
