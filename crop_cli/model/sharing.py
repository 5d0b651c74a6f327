"""A placement that overbooks uplinks, scored under fair sharing: what rules that ignore bandwidth really give.

Each job's time on an overbooked uplink is stretched by the uplink's load, the bandwidth reserved on it over φ·B, and
efficiency, goodput, F and all metrics follow from the stretched times by the definitions (model.md, sections 4 and 5).
Where no uplink is overbooked this is the evaluator's own answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.load import free_resources, uplink_traffic
from crop_cli.model.metrics import metrics_of
from crop_cli.model.outcome import outcome_of
from crop_cli.model.rules import UPLINK, ByName, overloads
from crop_cli.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Shared:
    """A placement under fair sharing.

    Attributes
    ----------
    evaluation
        Objective, jobs and metrics with stretched times; its violations are those that sharing cannot make up for.
    loads
        Overbooked uplinks by name, with their load (above 1). Empty: the placement is feasible as it is.
    """

    evaluation: Evaluation
    loads: dict[str, float]


def evaluate_shared(instance: Instance, placement: ByName) -> Shared:
    """The evaluator's word on a placement whose overbooked uplinks are shared fairly.

    Parameters
    ----------
    instance
        A valid instance.
    placement
        Workers per node name for every placed job name, running jobs included.
    """
    strict = evaluate(instance, placement)
    topology = Topology.of(instance.cluster)
    reserved = uplink_traffic(instance, topology, strict.jobs)
    load = overloads(instance, topology, reserved)
    if not load:
        return Shared(strict, {})
    members = {job.name: job for job in instance.jobs}
    jobs = {name: outcome_of(instance, topology, members[name], out.nodes, load) for name, out in strict.jobs.items()}
    evaluation = Evaluation(
        violations=[violation for violation in strict.violations if violation.kind != UPLINK],
        objective=sum(out.utility for out in jobs.values()),
        jobs=jobs,
        metrics=metrics_of(instance, topology, jobs, free_resources(instance, jobs), reserved),
    )
    return Shared(evaluation, {vertex.name: factor for vertex, factor in load.items()})
