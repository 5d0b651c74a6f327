"""The judge: feasibility, F and every metric of a placement, from the definitions alone (model.md, sections 3 to 5).

This module and those it imports read the instance's structs and names, not the compiled arrays, and nothing of the
solvers: a mistake there cannot hide here.
"""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.model.instance import Instance
from crop_cli.model.load import free_resources, uplink_traffic
from crop_cli.model.metrics import metrics_of
from crop_cli.model.outcome import JobOutcome, outcome_of
from crop_cli.model.rules import ByName, Violation, gang, overbooked, overfull, presence, shape, unknown_jobs
from crop_cli.model.solution import Metrics, PlacedJob
from crop_cli.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that follows from an instance and a placement.

    Attributes
    ----------
    violations
        Broken rules; empty when feasible.
    objective
        F over the jobs whose placement can be read (all of them when feasible).
    jobs
        Outcome of every such job, in the order of the instance.
    metrics
        The figures of model.md section 5.
    """

    violations: list[Violation]
    objective: float
    jobs: dict[str, JobOutcome]
    metrics: Metrics

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def evaluate(instance: Instance, placement: ByName) -> Evaluation:
    """Recompute feasibility, objective and metrics.

    Parameters
    ----------
    instance
        A valid instance.
    placement
        Workers per node name for every placed job name, running jobs included.
    """
    topology = Topology.of(instance.cluster)
    violations = unknown_jobs(instance, placement)
    jobs: dict[str, JobOutcome] = {}
    for job in instance.jobs:
        nodes = placement.get(job.name)
        violations += presence(job, nodes)
        if nodes is None:
            continue
        broken = gang(job, nodes, topology)
        violations += broken
        if not broken:
            violations += shape(job, nodes, topology)
            jobs[job.name] = outcome_of(instance, topology, job, nodes)
    free = free_resources(instance, jobs)
    reserved = uplink_traffic(instance, topology, jobs)
    violations += overfull(topology, free) + overbooked(instance, topology, reserved)
    return Evaluation(
        violations=violations,
        objective=sum(outcome.utility for outcome in jobs.values()),
        jobs=jobs,
        metrics=metrics_of(instance, topology, jobs, free, reserved),
    )


def placed_jobs(evaluation: Evaluation) -> list[PlacedJob]:
    """Rows of a solution file, in the order of the instance."""
    return [
        PlacedJob(
            job=name,
            nodes=dict(out.nodes),
            level=out.level,
            compute_s=out.compute_s,
            comm_s=out.comm_s,
            iteration_s=out.iteration_s,
            efficiency=out.efficiency,
            goodput=out.goodput,
        )
        for name, out in evaluation.jobs.items()
    ]
