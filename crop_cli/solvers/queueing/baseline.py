"""From one function to a solver: rules that place job by job in queue order, and rules that see the whole queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crop_cli.errors import BackendError, UsageError
from crop_cli.model.problem import Counts, Placement, Problem
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.state import State

Rule = Callable[[int, View], Counts | None]
"""Places one job on what is free, or does not (None)."""

Queue = list[int]
"""Jobs in the order in which they are offered."""

WholeRule = Callable[[Queue, View, Budget], Placement]
"""Places a whole queue at once; ends early, with what it has, when `budget.should_stop`."""

ORDERS = ("queue", "priority")
"""`--set order=`: as in the file, or heavier jobs first; jobs that must run go first in either."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A placement rule as a solver (`crop_cli.solvers.contract.Solver`).

    Running jobs stay where they are. The answer carries no bound. It may overbook uplinks where the rule ignores them:
    whoever runs it has to look (`crop_cli.model.sharing`).

    Attributes
    ----------
    rule
        The function that was published.
    fill
        Applies it to a queue: gives jobs their places in a view, and ends early when the budget says so.
    source
        Where it was published.
    knows
        Keys of `--set` besides `order`.
    """

    rule: Rule | WholeRule
    fill: Callable[[Queue, View, Budget], None]
    source: str
    knows: tuple[str, ...] = ()

    def __call__(self, problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
        """Place the open jobs.

        Raises
        ------
        UsageError
            An unknown option.
        BackendError
            The rule gave a job more or fewer workers than its gang has, or more than a node has room for.
        """
        order = self.order_of(request.options)
        options = {key: value for key, value in request.options.items() if key in self.knows}
        rng = np.random.default_rng(request.seed)
        view = View(problem, State.empty(problem), dict(problem.pinned), rng, options)
        for job, counts in problem.current.items():
            view.take(job, counts)
        self.fill(queue_of(problem, order), view, budget)
        open_jobs = {int(job) for job in problem.open_jobs}
        placement = {job: counts for job, counts in view.placed.items() if job in open_jobs}
        return Answer(placement, budget.stop_reason() if budget.should_stop or view.limited else "completed")

    def order_of(self, options: dict[str, str]) -> str:
        """The order that the options ask for.

        Raises
        ------
        UsageError
            An option that the rule does not know, or no order.
        """
        unknown = sorted(set(options) - {"order", *self.knows})
        if unknown:
            known = ", ".join(("order", *self.knows))
            raise UsageError(f"this baseline has no option {', '.join(map(repr, unknown))} (it knows {known})")
        order = options.get("order", ORDERS[0])
        if order not in ORDERS:
            raise UsageError(f"order={order}: expected {' or '.join(ORDERS)}")
        return order


def job_by_job(*, source: str, knows: tuple[str, ...] = ()) -> Callable[[Rule], Baseline]:
    """A solver from a rule for one job: `place(job, view)` gives workers by node index, or None to let the job wait.

    Parameters
    ----------
    source
        Where the rule was published.
    knows
        Keys of `--set` that it reads from `view.options`.
    """

    def of(rule: Rule) -> Baseline:
        def fill(queue: Queue, view: View, budget: Budget) -> None:
            for job in queue:
                if budget.should_stop:
                    return
                counts = rule(job, view)
                if counts is not None:
                    _grant(view, job, counts)

        return Baseline(rule, fill, source, knows)

    return of


def whole_queue(*, source: str, knows: tuple[str, ...] = ()) -> Callable[[WholeRule], Baseline]:
    """A solver from a rule for the queue: `place(queue, view, budget)` gives the places of the jobs that it starts.

    The view is the rule's to read; the places are taken when it returns. Parameters as for `job_by_job`.
    """

    def of(rule: WholeRule) -> Baseline:
        def fill(queue: Queue, view: View, budget: Budget) -> None:
            for job, counts in rule(queue, view, budget).items():
                _grant(view, job, counts)

        return Baseline(rule, fill, source, knows)

    return of


def queue_of(problem: Problem, order: str) -> Queue:
    """Open jobs that do not run yet, in queue order; those that must run first."""
    waiting = [int(j) for j in problem.open_jobs if int(j) not in problem.current]
    weight = [-problem.kind(j).weight if order == "priority" else 0.0 for j in waiting]
    ranked = sorted(range(len(waiting)), key=lambda i: (not problem.must_place[waiting[i]], weight[i], i))
    return [waiting[i] for i in ranked]


def _grant(view: View, job: int, counts: Counts) -> None:
    """Take the place, after a look that it is one: rules are guests."""
    counts = {int(n): int(x) for n, x in counts.items() if x}
    name, kind = view.problem.job_names[job], view.problem.kind(job)
    if sum(counts.values()) != kind.k or min(counts.values()) < 0:
        raise BackendError(f"the rule gave job {name!r} {sum(counts.values())} workers; its gang has {kind.k}")
    view.take(job, counts)
    for n in counts:
        if (view.state.free[n] < -view.problem.node_slack[n]).any():
            raise BackendError(f"the rule put job {name!r} on node {view.problem.node_names[n]!r}, which has no room")
