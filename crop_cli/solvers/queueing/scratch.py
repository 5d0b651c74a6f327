"""A copy of the view that a rule for the whole queue may change, and rules for one job run over a queue on it."""

from __future__ import annotations

from crop_cli.model.problem import Placement
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.queueing.baseline import Queue, Rule
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.state import State


def scratch(view: View) -> View:
    """The same moment, with what is free and placed copied; the random numbers go on where they are."""
    state = State(view.problem, view.state.free.copy(), view.state.uplink_free.copy())
    return View(view.problem, state, dict(view.placed), view.rng, view.options)


def one_by_one(queue: Queue, view: View, budget: Budget, rule: Rule) -> Placement:
    """Places of the jobs that the rule starts in this order, each on what those before it leave."""
    ahead, found = scratch(view), Placement()
    for job in queue:
        if budget.should_stop:
            break
        counts = rule(job, ahead)
        if counts is not None:
            ahead.take(job, counts)
            found[job] = counts
    return found
