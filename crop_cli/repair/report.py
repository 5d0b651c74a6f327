"""What a repair did, job by job and in figures."""

from __future__ import annotations

from crop_cli._version import __version__
from crop_cli.model.evaluate import Evaluation
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Solution
from crop_cli.names import compress, plural
from crop_cli.repair.pinned import How, Pinned
from crop_cli.repair.results import HitJob, MovedJob, RepairReport, StartedJob, Way
from crop_cli.repair.scene import Failure, Running, share


def report_of(
    running: Running,
    failure: Failure,
    instance: Instance,
    after: Evaluation,
    solution: Solution,
    first: Pinned,
    way: Way,
    how: How,
) -> RepairReport:
    """Figures of a repair, all from the evaluator.

    Parameters
    ----------
    running, failure
        What ran, and what is down.
    instance, after, solution
        The degraded instance, the evaluator's word on the repaired placement, and that placement with its bound.
    first
        The repair with nobody else moved.
    way
        Whether others moved in the end.
    how
        What repaired.
    """
    hit = running.hit_by(failure)
    names = {job.name for job in hit}
    before = running.before
    lost = sum(job.weight * before.jobs[job.name].goodput for job in hit)
    kept = sum(
        job.weight * after.jobs[job.name].goodput
        for job in instance.jobs
        if job.name in running.held and job.name in after.jobs
    )
    idle = sum(out.utility for name, out in before.jobs.items() if name not in names)
    up = [node.name for node in running.instance.cluster.nodes if node.state == "up"]
    return RepairReport(
        format="crop-repair/1",
        instance=running.instance.name,
        crop_version=__version__,
        down=list(failure.names),
        nodes_down=len(failure.nodes.intersection(up)),
        way=way,
        pinned_proved=first.proved,
        solver=solution.solver.back_end or "",
        objective_before=before.objective,
        objective_idle=idle,
        objective_after=after.objective,
        goodput_before=running.goodput,
        goodput_lost=lost,
        goodput_after=kept,
        goodput_kept=share(kept, running.goodput),
        status=solution.status,
        bound=solution.bound,
        gap=solution.gap,
        hit=_hit(running, failure, after, solution),
        moved=_moved(running, instance, after),
        started=[
            StartedJob(
                job=job.name,
                gpus=job.gpus,
                weight=job.weight,
                nodes=dict(after.jobs[job.name].nodes),
                goodput=after.jobs[job.name].goodput,
            )
            for job in instance.jobs
            if job.name not in running.held and job.name in after.jobs
        ],
        waiting_before=sum(job.name not in running.held and job.name not in after.jobs for job in instance.jobs),
        notes=_notes(running, failure, after),
        total_s=how.budget.elapsed,
    )


def _hit(running: Running, failure: Failure, after: Evaluation, solution: Solution) -> list[HitJob]:
    reasons = {row.job: row.reason for row in solution.unplaced}
    rows = []
    for job in running.hit_by(failure):
        old, new = running.before.jobs[job.name], after.jobs.get(job.name)
        rows.append(
            HitJob(
                job=job.name,
                gpus=job.gpus,
                weight=job.weight,
                before=dict(old.nodes),
                goodput_before=old.goodput,
                after=None if new is None else dict(new.nodes),
                goodput_after=None if new is None else new.goodput,
                reason=reasons.get(job.name),
            )
        )
    return rows


def _moved(running: Running, instance: Instance, after: Evaluation) -> list[MovedJob]:
    return [
        MovedJob(
            job=job.name,
            gpus=job.gpus,
            weight=job.weight,
            before=dict(running.held[job.name]),
            after=dict(after.jobs[job.name].nodes),
            goodput_before=running.before.jobs[job.name].goodput,
            goodput_after=after.jobs[job.name].goodput,
            cost=job.weight * job.gpus * job.migration_minutes / instance.objective.horizon_minutes,
        )
        for job in instance.jobs
        if job.name in after.jobs and after.jobs[job.name].moved
    ]


def _notes(running: Running, failure: Failure, after: Evaluation) -> list[str]:
    """What the rows do not say."""
    notes = []
    dropped = [job.name for job in running.hit_by(failure) if job.required and job.name not in after.jobs]
    if dropped:
        notes.append(
            f"{plural(len(dropped), 'required job')} without a place: {compress(dropped)}; "
            "not required in the degraded instance, which had no solution otherwise"
        )
    return notes
