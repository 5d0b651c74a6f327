"""The placement that is explained, and variants of its instance in which it is held fixed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np

from crop_cli.explanation.answers import Place
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Cluster, Instance, Job
from crop_cli.model.outcome import JobOutcome, outcome_of
from crop_cli.model.problem import Counts, Placement, Problem, compile_problem, named
from crop_cli.model.topology import Topology
from crop_cli.reasons.unplaced import NOTHING
from crop_cli.solvers.fits import Room
from crop_cli.solvers.oracle import best_placement


@dataclass(frozen=True)
class Scene:
    """An instance with a placement of its open jobs; F is None where there is no feasible one (then it is empty)."""

    instance: Instance
    problem: Problem
    placement: Placement
    objective: float | None
    _fixed: dict[int, Fixed] = field(default_factory=dict)

    @cached_property
    def topology(self) -> Topology:
        """The cluster by names."""
        return Topology.of(self.instance.cluster)

    @cached_property
    def held(self) -> dict[str, dict[str, int]]:
        """Nodes of every placed job by names, pinned ones included."""
        return named(self.problem, self.placement)

    def room(self, job: int) -> Room:
        """What is free beside all other placed jobs."""
        return Room.after(self.problem, {j: counts for j, counts in self.placement.items() if j != job})

    def place(self, job: int, counts: Counts) -> Place:
        """A place for a job, from the definitions."""
        nodes = {self.problem.node_names[n]: x for n, x in sorted(counts.items())}
        return place_of(outcome_of(self.instance, self.topology, self.instance.jobs[job], nodes))

    def fixed(self, job: int) -> Fixed:
        """The variant in which all other placed jobs stay where they are."""
        if job not in self._fixed:
            self._fixed[job] = Fixed.of(self.instance, self.held, self.instance.jobs[job])
        return self._fixed[job]


@dataclass(frozen=True)
class Fixed:
    """An instance of placed jobs that must stay where they are, and of one job to place, the last of the list."""

    instance: Instance

    @classmethod
    def of(cls, instance: Instance, held: dict[str, dict[str, int]], job: Job) -> Fixed:
        """From the names of what is placed; jobs that wait are left out."""
        others = [
            msgspec.structs.replace(each, placement=held[each.name], movable=False)
            for each in instance.jobs
            if each.name in held and each.name != job.name
        ]
        waiting = msgspec.structs.replace(job, required=False, placement=None, movable=False)
        return cls(msgspec.structs.replace(instance, jobs=[*others, waiting]))

    @property
    def job(self) -> Job:
        """The job to place."""
        return self.instance.jobs[-1]

    @cached_property
    def problem(self) -> Problem:
        """The compiled variant."""
        return compile_problem(self.instance)

    @property
    def index(self) -> int:
        """The job's index."""
        return len(self.instance.jobs) - 1

    @cached_property
    def room(self) -> Room:
        """What is free."""
        return Room(self.problem, self.problem.free, self.problem.uplink_free)

    def with_job(self, **fields: object) -> Fixed:
        """The same with other data of the job."""
        job = msgspec.structs.replace(self.job, **fields)
        return Fixed(msgspec.structs.replace(self.instance, jobs=[*self.instance.jobs[:-1], job]))

    def with_cluster(self, cluster: Cluster) -> Fixed:
        """The same in another cluster that has all nodes of this one."""
        return Fixed(msgspec.structs.replace(self.instance, cluster=cluster))

    def admits(self) -> Place | None:
        """The job's best place, if it adds something there and the evaluator accepts it beside all the others."""
        problem = self.problem
        best = best_placement(problem, self.index, problem.free, problem.uplink_free)
        if best is None or best.utility <= NOTHING:
            return None
        evaluation = evaluate(self.instance, named(problem, {self.index: best.counts}))
        return place_of(evaluation.jobs[self.job.name]) if evaluation.feasible else None


def place_of(outcome: JobOutcome) -> Place:
    """What is told of a job's outcome."""
    return Place(nodes=dict(outcome.nodes), level=outcome.level, efficiency=outcome.efficiency, utility=outcome.utility)


def best_place(scene: Scene, job: int, room: Room) -> Place | None:
    """A job's best place in a room."""
    best = best_placement(scene.problem, job, room.free, np.maximum(room.uplink_free, 0.0))
    return None if best is None else scene.place(job, best.counts)
