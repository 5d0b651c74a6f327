"""What a scheduling round does: the window of the queue, what the solver may see, and what it answers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from crop_cli.errors import BackendError
from crop_cli.model.problem import BoolArray, Counts, FloatArray, Placement, Problem, reserved_gbps
from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.queue import Queue
from crop_cli.simulate.settings import DAY, Policy
from crop_cli.solvers import fits, registry
from crop_cli.solvers.auto import FIRST
from crop_cli.solvers.contract import Answer, Budget, Request, Solver, ignore

SHAPE = 0.94
"""Of the Gamma prior of failure rates: how uneven nodes are (negative binomial fit of 400 servers over 348 days,
InfiniteHBD fault trace, SIGCOMM 2025). The prior's mean is the rate of the whole cluster so far."""

Place = tuple[SimJob, Counts]
"""A job and its workers per node."""

ROUND_LIMIT_S = 60.0
"""Wall clock that a solver may take in one round."""


@dataclass(slots=True)
class Scheduler:
    """A policy at work.

    Attributes
    ----------
    whole
        Of the simulation: its interruption is that of the round.
    failures
        (N) failures seen so far: what rates are estimated from.
    last_failure
        (N) time of the last failure, −inf before.
    decisions, decision_s, longest_s
        Rounds that asked the solver, and their wall clock: in all and at most.
    """

    problem: Problem
    policy: Policy
    seed: int
    solver: Solver
    options: dict[str, str]
    failures: FloatArray
    last_failure: FloatArray
    whole: Budget = field(default_factory=Budget)
    decisions: int = 0
    decision_s: float = 0.0
    longest_s: float = 0.0
    empty: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.empty = np.zeros_like(self.problem.failures)

    @classmethod
    def of(cls, problem: Problem, policy: Policy, seed: int, whole: Budget | None = None) -> Scheduler:
        """Load the solver.

        Raises
        ------
        UsageError, BackendError
            If there is none of that name, or it is not installed.
        """
        engine = registry.find(policy.solver)
        engine.require()
        options = dict(policy.options)
        if engine.name == "greedy" and policy.migrations == 0:
            options.setdefault("effort", "quick")
        n = problem.n_nodes
        return cls(problem, policy, seed, engine.load(), options, np.zeros(n), np.full(n, -np.inf), whole or Budget())

    def note_failure(self, node: int, now: float) -> float | None:
        """A node failed; when it will be used again at the earliest, if it is left alone for a while."""
        self.failures[node] += 1
        self.last_failure[node] = now
        if self.policy.reaction != "exclude":
            return None
        return now + 3600.0 * self.policy.quarantine_hours

    def decide(self, now: float, queue: Queue, cluster: SimCluster, *, moves: bool = True) -> list[Place]:
        """Waiting jobs that start now, with their places, and running ones that move.

        Parameters
        ----------
        moves
            Whether any may move in this round.

        Raises
        ------
        BackendError
            If the solver gives a job a place that is none.
        """
        room = self._room(now, cluster)
        if self.policy.backfill:
            found = self._together(now, queue, room, cluster, moves=moves)
        else:
            found = self._in_order(now, queue, room, cluster)
        return found if found or cluster.running else self._whatever_it_is_worth(now, queue, room, cluster)

    def _in_order(self, now: float, queue: Queue, room: Room, cluster: SimCluster) -> list[Place]:
        """One job after the other, up to the first that finds no place."""
        started: list[Place] = []
        for job in queue.first(len(queue)):
            found = self._place([job], [], room, now, cluster) if job.gpus <= room.free[:, 0].sum() else []
            if not found:
                break
            room.take(self.problem, *found[0])
            started += found
        return started

    def _together(self, now: float, queue: Queue, room: Room, cluster: SimCluster, *, moves: bool) -> list[Place]:
        """The window at once."""
        free = float(room.free[:, 0].sum())
        window = [job for job in queue.first(self.policy.window) if job.gpus <= free]
        if not window:
            return []
        movable = self._movable(now, cluster) if moves and self.policy.migrations else []
        found = self._place(window, movable, room, now, cluster)
        if any(not room.usable[n] for _, counts in found for n in counts):
            # Only where a job runs now can a node that is left alone seem to have room.
            found = self._place(window, [], room, now, cluster)
        return found

    def _whatever_it_is_worth(self, now: float, queue: Queue, room: Room, cluster: SimCluster) -> list[Place]:
        """Where nothing runs, the first job of the window that fits: its turn might never come otherwise.

        What maximises F leaves out whom cuts and failures cost more than it brings. That frees GPUs for others; here
        there are none, and perhaps nothing will ever happen again. Rules of other schedulers do not look at F.
        """
        if registry.find(self.policy.solver).role == "baseline":
            return []
        whole = fits.Room(self.problem, room.free, room.uplink_free)
        for job in queue.first(self.policy.window if self.policy.backfill else 1):
            table = self.problem.kind(job.index)
            if job.gpus <= room.free[:, 0].sum() and fits.Fit(whole, table).attainable(
                table.allowed, uplinks=True
            ).fits(table.k):
                return self._place([job], [], room, now, cluster, must=True)
        return []

    def _place(
        self,
        window: list[SimJob],
        movable: list[SimJob],
        room: Room,
        now: float,
        cluster: SimCluster,
        *,
        must: bool = False,
    ) -> list[Place]:
        problem = self._seen(window, movable, room, now, cluster)
        if must:
            problem.must_place[[job.index for job in window]] = True
        began = time.perf_counter()
        answer = self._answer(problem)
        spent = time.perf_counter() - began
        self.decisions, self.decision_s = self.decisions + 1, self.decision_s + spent
        self.longest_s = max(self.longest_s, spent)
        placement = answer.placement or {}
        self._check(problem, placement)
        members = {job.index: job for job in [*window, *movable]}
        return [
            (members[j], counts)
            for j, counts in sorted(placement.items())
            if j in members and counts != members[j].counts
        ]

    def _answer(self, problem: Problem) -> Answer:
        """What the solver says; one that only improves a placement gets that of the greedy first, as in a solve."""
        engine, budget = registry.find(self.policy.solver), RoundBudget(self.whole)
        request = Request(gap=engine.default_gap, seed=self.seed, options=self.options)
        if engine.role in ("heuristic", "baseline"):
            return self.solver(problem, request, budget, ignore)
        first = registry.find("greedy").load()(problem, Request(seed=self.seed), budget.part(FIRST), ignore)
        if budget.should_stop:
            return first
        return self.solver(problem, replace(request, start=first.placement), budget, ignore)

    def _room(self, now: float, cluster: SimCluster) -> Room:
        """What is free for who reacts as this policy does."""
        usable = cluster.up.copy()
        if self.policy.reaction == "exclude":
            usable &= ~cluster.slow & (self.last_failure + 3600.0 * self.policy.quarantine_hours <= now)
        free = np.where(usable[:, None], np.maximum(cluster.free, 0.0), 0.0)
        return Room(usable, free, np.maximum(cluster.limits - cluster.reserved, 0.0))

    def _movable(self, now: float, cluster: SimCluster) -> list[SimJob]:
        """The running jobs that run least efficiently, and have not just been moved."""
        ranked = sorted(cluster.running.values(), key=lambda job: (job.rate, job.index))
        return [job for job in ranked if job.rate > 0 and job.stalled_until <= now][: self.policy.migrations]

    def _seen(
        self, window: list[SimJob], movable: list[SimJob], room: Room, now: float, cluster: SimCluster
    ) -> Problem:
        """The problem of one round, as the policy sees the cluster."""
        base, aware = self.problem, self.policy.reaction == "aware"
        free, uplink_free = room.free, room.uplink_free
        must = np.zeros(base.n_jobs, dtype=bool)
        cost = base.migration_cost
        if movable:
            free, uplink_free, cost = free.copy(), uplink_free.copy(), cost.copy()
            horizon = base.instance.objective.horizon_minutes
            for job in movable:
                must[job.index] = True
                for n, x in job.counts.items():
                    free[n] += x * base.kind(job.index).demand
                assert job.vertices is not None and job.reserved is not None
                uplink_free[job.vertices] += job.reserved
                minutes = base.instance.jobs[job.index].migration_minutes or self.policy.migration_minutes
                cost[job.index] = job.weight * job.gpus * minutes / horizon
        return replace(
            base,
            free=free,
            uplink_free=uplink_free,
            failures=self.rates(now) if aware else self.empty,
            hardware_of=cluster.hardware_of if aware else base.hardware_of,
            up=room.usable,
            current={job.index: job.counts for job in movable},
            must_place=must,
            migration_cost=cost,
            open_jobs=np.array([job.index for job in [*window, *movable]], dtype=np.int64),
        )

    def rates(self, now: float) -> FloatArray:
        """(N) failures per day, estimated from what happened so far: Gamma prior, Poisson counts."""
        days = max(now / DAY, 1e-9)
        fleet = (float(self.failures.sum()) + 0.5) / (self.problem.n_nodes * days + 1.0)
        rates: FloatArray = (SHAPE + self.failures) / (SHAPE / fleet + days)
        return rates

    def _check(self, problem: Problem, placement: Placement) -> None:
        """No gang in parts, no GPU twice: solvers are guests here."""
        free = problem.free.copy()
        for job, counts in {**problem.current, **placement}.items():
            if sum(counts.values()) != problem.kind(job).k:
                raise BackendError(f"{self.policy.solver} placed a part of job {problem.job_names[job]!r}")
            for n, x in counts.items():
                free[n] -= x * problem.kind(job).demand
        if (free < -problem.node_slack).any():
            node = problem.node_names[int(np.flatnonzero((free < -problem.node_slack).any(axis=1))[0])]
            raise BackendError(f"{self.policy.solver} put more on node {node!r} than it has room for")


class RoundBudget(Budget):
    """`ROUND_LIMIT_S` from now, or until the whole simulation is interrupted."""

    def __init__(self, whole: Budget) -> None:
        super().__init__(ROUND_LIMIT_S)
        self._whole = whole


@dataclass(slots=True)
class Room:
    """What a round may take: (N) whether a node takes new work, (N, R) resources and (V) Gbit/s."""

    usable: BoolArray
    free: FloatArray
    uplink_free: FloatArray

    def take(self, problem: Problem, job: SimJob, counts: Counts) -> None:
        """Occupy a place."""
        for n, x in counts.items():
            self.free[n] -= x * problem.kind(job.index).demand
        vertices, rates = reserved_gbps(problem, job.index, counts)
        self.uplink_free[vertices] = np.maximum(self.uplink_free[vertices] - rates, 0.0)
