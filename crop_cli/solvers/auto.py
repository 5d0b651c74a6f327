"""What follows what in one run of an engine.

A heuristic engine is followed by the bound, so that it has a gap too. Refining and exact engines start from the
greedy's placement and the bound. `auto` goes on until the gap is met or time is up: greedy, bound, search (which lowers
the bound too), and then what can prove most in the time left: an exact back end where the model is small enough
(`worth_exact`), else price and branch.
"""

from __future__ import annotations

from dataclasses import replace

from crop_cli.errors import UsageError
from crop_cli.model.problem import Problem
from crop_cli.solvers.contract import Budget, Listener, Request
from crop_cli.solvers.exact.size import exact_size
from crop_cli.solvers.registry import ENGINES, Engine
from crop_cli.solvers.run import Outcome, Run

GREEDY_OPTIONS = frozenset({"level", "oracle"})
"""Keys of `--set` that belong to the greedy; other engines pass all others on."""

AUTO_LARGEST = 15_000
"""Largest `exact_size` for which `auto` runs an exact back end: above, none improved on the greedy within a minute."""

ALONE, FIRST, SEARCH = 0.8, 0.3, 0.6
"""Most of the time left that a heuristic may take before the bound, the greedy before others, and in `auto` the search
before a prover that is likely to prove something."""

BRANCHING = 5_000
"""Nodes times jobs up to which price and branch is likely to prove something."""


def run(engine: Engine, problem: Problem, request: Request, budget: Budget, listen: Listener) -> Outcome:
    """Run an engine on a problem and certify what it found.

    Parameters
    ----------
    engine
        Of the registry.
    problem
        The compiled instance.
    request, budget, listen
        As for any solver; besides the solver's events, "note" events carry one sentence for the user.

    Raises
    ------
    UsageError
        An option that the engine does not know.
    BackendError
        A library failed, or the evaluator refused what it found, and no other verified placement is there.
    """
    engine.require()
    state = Run(problem, budget, listen)
    if engine.role in ("heuristic", "baseline"):
        state.stage(engine, request, budget.part(ALONE))
        state.bound(request.gap)
        return state.outcome(request.gap)
    own, passed = _split_options(engine, request)
    state.stage(ENGINES["greedy"], own, budget.part(FIRST))
    if not state.infeasible:
        state.bound(request.gap)
    if engine.role == "auto":
        _auto(state, passed)
    elif _may_go_on(state):
        state.stage(engine, _known(state, passed), budget)
    return state.outcome(request.gap)


def worth_exact(problem: Problem) -> bool:
    """Whether `auto` tries an exact back end: an `exact_size` of at most `AUTO_LARGEST`."""
    return exact_size(problem) <= AUTO_LARGEST


def _auto(state: Run, request: Request) -> None:
    """Search, then a prover, while the gap is not met and time is left."""
    search, budget = ENGINES["search"], state.budget
    exact = ENGINES["exact"].installed and worth_exact(state.problem)
    prover = ENGINES["exact"] if exact else ENGINES["columns"]
    hopeful = exact or state.problem.n_nodes * len(state.problem.open_jobs) <= BRANCHING
    for engine, time in ((search, budget.part(SEARCH if hopeful else 1.0)), (prover, budget)):
        if state.within(request.gap) or (engine is search and state.placement is None):
            continue
        if not _may_go_on(state):
            return
        state.stage(engine, _known(state, request), time)


def _may_go_on(state: Run) -> bool:
    """Whether another stage makes sense; notes that time ended before."""
    if not state.infeasible and state.budget.should_stop:
        state.cut_short = True
    return not (state.infeasible or state.budget.should_stop)


def _known(state: Run, request: Request) -> Request:
    """The request with all that is known by now."""
    return replace(request, start=state.placement, bound=state.least_bound, relaxation=state.relaxation)


def _split_options(engine: Engine, request: Request) -> tuple[Request, Request]:
    """The greedy's options and those of what follows."""
    own = {key: value for key, value in request.options.items() if key in GREEDY_OPTIONS}
    others = {key: value for key, value in request.options.items() if key not in GREEDY_OPTIONS}
    if others and engine.role == "auto":
        unknown, known = ", ".join(map(repr, others)), ", ".join(sorted(GREEDY_OPTIONS))
        raise UsageError(
            f"solver 'auto' has no option {unknown} (it knows {known}); name a back end with --solver to set its own"
        )
    return replace(request, options=own), replace(request, options=others)
