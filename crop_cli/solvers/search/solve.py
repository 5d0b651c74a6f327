"""The search engine: local search and column generation by turns.

The search goes on while it finds something. When it looked at the whole cluster in vain and the bound has not converged
yet, column generation takes a turn, each time a longer one: it lowers the bound, and better prices guide the search.
In the end, where the exact model of the whole is small, it has the last word.
"""

from __future__ import annotations

from dataclasses import replace

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.problem import Problem
from crop_cli.solvers.bounds import EFFORT, Bound, meets
from crop_cli.solvers.columns.bound import ColumnBound, column_bound
from crop_cli.solvers.contract import Answer, Budget, Event, Listener, Request
from crop_cli.solvers.exact.size import exact_size
from crop_cli.solvers.registry import ENGINES
from crop_cli.solvers.search.local import LocalSearch

PATIENCE, LAST_PATIENCE = 1.0, 4.0
"""How often parts without a gain cover the cluster before the bound takes a turn, and before the search ends."""

LEAST_STEPS = 24
"""Parts without a gain before the search ends, however small the cluster."""

WHOLE, WHOLE_SHARE = 2_500, 0.5
"""Largest `exact_size` of a problem that is solved as a whole in the end, and the share of the time left for that."""

LONGER = 3.0
"""Every turn of column generation may take this much more work than the one before."""


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """Improve the placement of the request until the gap is met, nothing more is found, or time is up.

    Raises
    ------
    UsageError
        An option: there are none.
    """
    if request.options:
        raise UsageError(
            f"the search has no option {next(iter(request.options))!r}; before it, the greedy knows level and oracle"
        )
    if request.start is None:
        missing = "the search needs a placement to start from, and the greedy found none"
        return Answer(None, "completed", notes=(missing,))
    started, bounding = budget.elapsed, 0.0
    relaxation, bound, effort = request.relaxation, request.bound, EFFORT
    search = LocalSearch.of(problem, request.start, relaxation, request.seed, budget, listen)
    whole: Answer | None = None
    while not budget.should_stop and not meets(bound, search.value, request.gap):
        open_bound = relaxation is not None and relaxation.ended == "effort"
        if open_bound and search.fruitless >= PATIENCE:
            assert relaxation is not None
            since, effort = budget.elapsed, effort * LONGER
            listen(Event("phase", since, text="bound"))
            relaxation = _lower(problem, relaxation, search, request.gap, effort, budget, listen)
            bound = relaxation.value if bound is None else min(bound, relaxation.value)
            search.follow(relaxation)
            bounding += budget.elapsed - since
            listen(Event("phase", budget.elapsed, text="search"))
        elif search.fruitless >= LAST_PATIENCE and search.idle >= LEAST_STEPS:
            whole = _whole(problem, request, search, bound, budget, listen)
            break
        else:
            search.step()
    placement = search.placement
    if whole is not None:
        # The exact model starts from the search's placement: what it gives back is as good or better.
        placement = whole.placement or placement
        bound = min((b for b in (bound, whole.bound) if b is not None), default=None)
    return Answer(
        placement,
        budget.stop_reason() if budget.should_stop else "completed",
        bound=bound,
        relaxation=relaxation,
        seconds={"solve": budget.elapsed - started - bounding, "bound": bounding},
    )


def _whole(
    problem: Problem, request: Request, search: LocalSearch, bound: float | None, budget: Budget, listen: Listener
) -> Answer | None:
    """The last part is everything, solved by the exact model, where that is small; None where it is not."""
    exact = ENGINES["exact"]
    if not exact.installed or exact_size(problem) > WHOLE:
        return None
    listen(Event("phase", budget.elapsed, text="search: the whole exactly"))
    known = replace(request, start=search.placement, bound=bound, relaxation=None, options={})
    try:
        return exact.load()(problem, known, budget.part(WHOLE_SHARE), listen)
    except BackendError:
        return None


def _lower(
    problem: Problem,
    relaxation: ColumnBound,
    search: LocalSearch,
    gap: float,
    effort: float,
    budget: Budget,
    listen: Listener,
) -> ColumnBound:
    """Go on with column generation from where it ended."""
    return column_bound(
        problem,
        budget,
        bound=Bound(relaxation.value, prices=relaxation.prices),
        start=search.placement,
        target=search.value,
        gap=gap,
        effort=effort,
        known=relaxation.columns,
        listen=listen,
    )
