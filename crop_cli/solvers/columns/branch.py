"""`--solver columns`: price and branch.

Column generation has given prices, a bound and columns. From there, in rounds:

1. more columns near the LP's optimum (`nearby`), and for the jobs that the assignment program puts into a domain,
   columns inside it;
2. branch and bound over all columns at once (`integer`);
3. diving (`dive`): free one or a few domains of the best placement, price their jobs and those that wait in what is
   left, and branch over these columns alone; the next round has these columns too.

The bound is the better of that of column generation and that of the assignment program, at the same prices: with it
placements are proven good or optimal without branching on the prices themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crop_cli.errors import UsageError
from crop_cli.model.certificate import TOLERANCE, proof_scale
from crop_cli.model.problem import IntArray, Placement, Problem, utility
from crop_cli.model.solution import StopReason
from crop_cli.solvers.columns.assignment import Assignment, assignment
from crop_cli.solvers.columns.bound import ColumnBound, column_bound
from crop_cli.solvers.columns.column import Column, column_of
from crop_cli.solvers.columns.dive import Diver
from crop_cli.solvers.columns.integer import assign, distinct, integer_master, taken_by
from crop_cli.solvers.columns.losses import Losses
from crop_cli.solvers.columns.nearby import Nearby
from crop_cli.solvers.columns.program import minimise, with_start
from crop_cli.solvers.contract import Answer, Budget, Event, Listener, Request
from crop_cli.solvers.dual import lowered

ROUNDS = 6
"""Rounds of columns and branch and bound at most."""

PASSES = 60
"""Passes of pricing at noisy prices per round."""

STRENGTHS = (0.1, 1.0)
"""Of the noise, for equal shares of the passes."""

SLACKS = (0.1, 0.3, 1.0)
"""By round: columns that lose more than this share of bound − F are left aside, those above 1 for good reason."""

PASSES_INSIDE = 10
"""The same for every domain and the jobs assigned to it."""

NODES = 300
"""Nodes of branch and bound over all columns per round."""

ASSIGNMENT_NODES = 300
"""Nodes of branch and bound of the assignment program."""

SHARE = 0.4
"""Most of the time that is left for branch and bound over all columns in one round."""

MOST_COLUMNS = 12_000
"""Columns of the integer master; beyond, those of the first rounds stay."""


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """Best placement and bound by price and branch; see `crop_cli.solvers.contract`.

    The answer is never worse than `request.start`.

    Raises
    ------
    UsageError
        If an option is given: it has none.
    """
    if request.options:
        unknown = ", ".join(map(repr, request.options))
        raise UsageError(f"solver 'columns' has no option {unknown}; before it, the greedy knows level and oracle")
    known = _Known(problem, request, budget, listen)
    relaxation = request.relaxation
    if relaxation is None:
        relaxation = column_bound(problem, budget, start=known.placement, target=known.value, gap=request.gap)
        if relaxation.infeasible:
            return Answer(None, "proved", infeasible=True)
        known.claim(relaxation.value)
    reason = _search(known, relaxation) if len(relaxation.groups) else "completed"
    if known.placement is None and len(relaxation.groups) == 0:
        known.offer({})
    return Answer(known.placement, known.stop_reason(reason), bound=known.bound)


@dataclass(slots=True)
class _Known:
    """The best placement and the best bound so far."""

    problem: Problem
    request: Request
    budget: Budget
    listen: Listener
    placement: Placement | None = None
    value: float | None = None
    bound: float | None = field(init=False)

    def __post_init__(self) -> None:
        self.bound = self.request.bound
        if self.request.start is not None:
            self.placement = self.request.start
            self.value = self._value(self.request.start)

    def offer(self, placement: Placement) -> bool:
        """Keep a feasible placement if it is better, and say whether it is."""
        value = self._value(placement)
        if self.value is not None and value <= self.value + 1e-9 * abs(self.value):
            return False
        self.placement, self.value = placement, value
        self.listen(Event("incumbent", self.budget.elapsed, value))
        return True

    def claim(self, bound: float) -> None:
        """Keep an upper bound of F if it is better."""
        if self.bound is None or bound < self.bound:
            self.bound = bound
            self.listen(Event("bound", self.budget.elapsed, bound))

    @property
    def proved(self) -> bool:
        """Whether bound and value meet."""
        if self.value is None or self.bound is None:
            return False
        scale = max(proof_scale(self.problem.instance), abs(self.value))
        return self.bound - self.value <= 0.5 * TOLERANCE * scale

    @property
    def slack(self) -> float:
        """What a better placement may give away against the bound; 0 when this one is good enough."""
        if self.value is None or self.bound is None:
            return np.inf
        return 0.0 if self.done else self.bound - self.value

    @property
    def done(self) -> bool:
        """Whether the placement is as good as was asked for."""
        if self.proved:
            return True
        if self.value is None or self.bound is None:
            return False
        return self.bound - self.value <= self.request.gap * abs(self.value)

    def stop_reason(self, otherwise: StopReason) -> StopReason:
        """Why it ended, by what is known."""
        if self.proved:
            return "proved"
        if self.budget.should_stop:
            return self.budget.stop_reason()
        return "gap_limit" if self.done else otherwise

    def _value(self, placement: Placement) -> float:
        return self.problem.pinned_value + sum(utility(self.problem, j, counts) for j, counts in placement.items())


def _search(known: _Known, relaxation: ColumnBound) -> StopReason:
    """All rounds."""
    problem, budget, groups = known.problem, known.budget, relaxation.groups
    certificate, jobs = relaxation.certificate, problem.open_jobs
    if known.done or budget.should_stop or certificate is None:
        return "completed"
    # Without the least price of a GPU, the assignment program decides what GPUs are worth; losses stay the same.
    prices, _ = lowered(problem, certificate, np.zeros(len(jobs)), jobs)
    pool = list(relaxation.columns)
    if known.placement is not None:
        pool += [column_of(problem, groups, job, counts) for job, counts in sorted(known.placement.items())]
    nearby = Nearby(problem, groups, prices, known.request.seed)
    program = assignment(problem, groups, prices, budget)
    assigned = None if program is None else _assign(known, program)
    losses = Losses(problem, groups, prices)
    diver = Diver(problem, groups, nearby, losses, known.request.seed)
    for i in range(ROUNDS):
        if known.done or budget.should_stop:
            break
        for strength in STRENGTHS:
            pool += nearby.draw(PASSES // len(STRENGTHS), budget, strength=strength)
        if program is not None and assigned is not None:
            pool += _inside(known, nearby, program, assigned)
        pool = distinct(pool)
        slack = known.slack * SLACKS[min(i, len(SLACKS) - 1)]
        _branch(known, relaxation, losses.within(pool, slack)[:MOST_COLUMNS], nodes=NODES * (1 + i))
        while known.placement is not None and not known.done and not budget.should_stop:
            found = diver.dive(known.placement, pool, budget, known.offer, lambda: known.slack)
            pool = distinct([*pool, *found.columns])
            if not found.improved:
                break
    return "completed"


def _assign(known: _Known, program: Assignment) -> IntArray | None:
    """Solve the assignment program for its bound; how often its best point takes every pair."""
    found = minimise(
        program.model,
        known.budget,
        nodes=ASSIGNMENT_NODES,
        stop=lambda: known.done,
        seed=known.request.seed,
        on_bound=lambda cost: known.claim(program.bound(cost)),
    )
    return found.x


def _inside(known: _Known, nearby: Nearby, program: Assignment, assigned: IntArray) -> list[Column]:
    """Columns in every vertex just above the nodes for the groups that the assignment program has there."""
    problem, found = known.problem, []
    tree = problem.tree
    for d in np.unique(program.vertex[assigned > 0]).tolist():
        here = np.unique(program.group[(assigned > 0) & (program.vertex == d)])
        free = np.zeros_like(problem.free)
        nodes = slice(int(tree.first_node[d]), int(tree.end_node[d]))
        free[nodes] = problem.free[nodes]
        found += nearby.draw(PASSES_INSIDE, known.budget, groups=here, free=free)
    return found


def _branch(known: _Known, relaxation: ColumnBound, pool: list[Column], nodes: int) -> None:
    """Branch and bound over all columns, from the best placement."""
    problem, groups, jobs = known.problem, relaxation.groups, known.problem.open_jobs.tolist()
    model, kept = integer_master(problem, groups, pool, jobs, problem.free, problem.uplink_free)
    if not kept or known.budget.should_stop:
        return
    start = None if known.placement is None else taken_by(groups, kept, known.placement)

    def on_point(x: IntArray) -> None:
        known.offer(assign(problem, groups, kept, jobs, x))

    minimise(
        with_start(model, start),
        known.budget.part(SHARE),
        nodes=nodes,
        gap=0.5 * TOLERANCE * abs(known.value or 0.0),
        seed=known.request.seed,
        stop=lambda: known.done,
        on_point=on_point,
    )
