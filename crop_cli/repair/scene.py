"""A solution's placement as jobs that run, and the failure of some of the cluster's vertices."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property

import msgspec

from crop_cli.errors import UsageError, ViolationError
from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Cluster, Instance, Job
from crop_cli.model.solution import Solution
from crop_cli.model.topology import Topology
from crop_cli.names import compress, one
from crop_cli.verify import verify

ByName = dict[str, dict[str, int]]
"""Workers per node name of every placed job name."""


@dataclass(frozen=True)
class Running:
    """Jobs where a solution has them.

    Attributes
    ----------
    instance
        As the solution found it.
    held
        Where every placed job runs.
    """

    instance: Instance
    held: ByName

    @cached_property
    def topology(self) -> Topology:
        """The cluster by names."""
        return Topology.of(self.instance.cluster)

    @cached_property
    def fresh(self) -> Instance:
        """The instance with every job free to be placed anywhere: no migration is paid, nothing is required."""
        jobs = [msgspec.structs.replace(j, placement=None, movable=False, required=False) for j in self.instance.jobs]
        return msgspec.structs.replace(self.instance, jobs=jobs)

    @cached_property
    def before(self) -> Evaluation:
        """The evaluator's word on the running jobs; migrations that led to it are over and cost nothing any more."""
        return evaluate(self.fresh, self.held)

    @cached_property
    def goodput(self) -> float:
        """Weighted goodput of all running jobs."""
        return self.before.metrics.weighted_goodput

    def hit_by(self, failure: Failure) -> list[Job]:
        """Running jobs with a worker on a node that is down, in file order."""
        return [j for j in self.instance.jobs if not failure.nodes.isdisjoint(self.held.get(j.name, ()))]


@dataclass(frozen=True, slots=True)
class Failure:
    """Vertices that fail together: their names, and all nodes at or below them."""

    names: tuple[str, ...]
    nodes: frozenset[str]


def running(instance: Instance, solution: Solution, sha256: str | None = None) -> Running:
    """The jobs of a solution as running ones.

    Parameters
    ----------
    instance
        A valid instance.
    solution
        A solution of it.
    sha256
        Of the instance file; None where there is none.

    Raises
    ------
    ViolationError
        If the solution does not hold for the instance, or has no placement.
    """
    report = verify(instance, solution, sha256)
    if not report.ok:
        more = f" and {len(report.violations) - 1} more" if len(report.violations) > 1 else ""
        raise ViolationError(
            f"the solution does not hold for this instance: {report.violations[0].message}{more} (see crop check)"
        )
    if report.evaluation is None:
        raise ViolationError(f"the solution has no placement (it is {solution.status}): no job of it can be hit")
    return Running(instance, {name: dict(out.nodes) for name, out in report.evaluation.jobs.items()})


def failure_of(cluster: Cluster, texts: list[str]) -> Failure:
    """The failure of named nodes and switches.

    Parameters
    ----------
    cluster
        A valid cluster.
    texts
        Names, or several separated by commas.

    Raises
    ------
    UsageError
        For a name that no node or switch has, with those most like it, or if there is no name at all.
    """
    topology = Topology.of(cluster)
    known = {vertex.name for vertex in topology.uplink_gbps}
    names: dict[str, None] = {}
    for text in texts:
        # A name may contain a comma itself.
        for name in [text] if text in known else [part.strip() for part in text.split(",")]:
            if name and name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=3)
                hint = f"; did you mean {one(list(map(repr, near)))}?" if near else ""
                raise UsageError(f"--down: the cluster has no node or switch {name!r}{hint}")
            if name:
                names[name] = None
    if not names:
        raise UsageError("--down: no node or switch is named")
    nodes = frozenset(node for node, chain in topology.chain.items() if any(vertex.name in names for vertex in chain))
    return Failure(tuple(names), nodes)


def degraded(running: Running, failure: Failure, migration_minutes: float) -> Instance:
    """The instance after a failure, as a file could say it: nodes down, jobs running where they are.

    Jobs that were hit have no place any more. The others may be moved at a cost, unless the original instance pins
    them. A job's own `migration_minutes` count where they are not 0, those given elsewhere.
    """
    hit = {job.name for job in running.hit_by(failure)}
    nodes = [
        msgspec.structs.replace(node, state="down") if node.name in failure.nodes else node
        for node in running.instance.cluster.nodes
    ]
    jobs = []
    for job in running.instance.jobs:
        if job.name in hit:
            jobs.append(msgspec.structs.replace(job, placement=None, movable=False))
        elif job.name not in running.held or pinned(job):
            jobs.append(job)
        else:
            minutes = job.migration_minutes or migration_minutes
            place = running.held[job.name]
            jobs.append(msgspec.structs.replace(job, placement=place, movable=True, migration_minutes=minutes))
    original = running.instance
    return msgspec.structs.replace(
        original,
        name=f"{original.name.removesuffix('-degraded')}-degraded",
        description=f"{original.name or 'The instance'} after the failure of {compress(failure.names)}: "
        "the jobs of a solution run where it has them, those that were hit wait.",
        cluster=msgspec.structs.replace(original.cluster, nodes=nodes),
        jobs=jobs,
    )


def pinned(job: Job) -> bool:
    """Whether the instance itself forbids to move a job."""
    return job.placement is not None and not job.movable


def only(instance: Instance, names: set[str]) -> Instance:
    """The instance with some of its jobs."""
    return msgspec.structs.replace(instance, jobs=[job for job in instance.jobs if job.name in names])


def standing(instance: Instance) -> Instance:
    """The instance in which no running job may be moved."""
    jobs = [msgspec.structs.replace(job, movable=False) if job.movable else job for job in instance.jobs]
    return msgspec.structs.replace(instance, jobs=jobs)


def not_required(instance: Instance, names: set[str]) -> Instance:
    """The instance in which some jobs need not be placed."""
    jobs = [msgspec.structs.replace(job, required=False) if job.name in names else job for job in instance.jobs]
    return msgspec.structs.replace(instance, jobs=jobs)


def share(part: float, whole: float) -> float | None:
    """A quotient where the whole is positive."""
    return part / whole if whole > 0 else None
