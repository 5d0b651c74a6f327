"""Checks of each job by itself, and of what it says about levels, patterns and GPU types (model.md, section 2)."""

from __future__ import annotations

from crop_cli.model.certificate import TOLERANCE
from crop_cli.model.findings import Findings, alike, named, number, one_of, quoted
from crop_cli.model.instance import Instance, Job
from crop_cli.model.patterns import PATTERNS
from crop_cli.model.validate_cluster import LEVELS
from crop_cli.model.validate_fields import check_keys, check_name, check_numbers, check_unique

JOBS = "$.jobs"

LEAST_WORTH = 0.01
"""Σ w·k, which F cannot exceed. Below this the absolute part of the tolerance of proofs is no longer small beside F."""


def check_jobs(findings: Findings, instance: Instance) -> None:
    """Everything about jobs that needs no node: names, numbers, levels, patterns."""
    check_unique(findings, JOBS, [job.name for job in instance.jobs])
    levels = instance.cluster.levels if findings.sound(LEVELS) else None
    for j, job in enumerate(instance.jobs):
        check_job(findings, f"{JOBS}[{j}]", job, levels)


def check_job(findings: Findings, path: str, job: Job, levels: list[str] | None) -> None:
    """Everything about one job; its levels only where those of the cluster are known."""
    owner = named("job", job.name)
    check_name(findings, f"{path}.name", job.name)
    check_numbers(findings, path, job, "job", job.name)
    if job.pattern not in PATTERNS:
        known = f"{one_of(PATTERNS)}{alike(job.pattern, PATTERNS)}"
        findings.add(f"{path}.pattern", f"{quoted(job.pattern)}{owner}", known)
    if isinstance(job.compute_s, dict):
        check_keys(findings, f"{path}.compute_s", job.compute_s, owner)
        if not job.compute_s and findings.sound(f"{path}.compute_s"):
            findings.add(
                f"{path}.compute_s", f"an empty object{owner}", "seconds for at least one GPU type, or a number"
            )
    check_keys(findings, f"{path}.resources_per_gpu", job.resources_per_gpu, owner)
    if "gpus" in job.resources_per_gpu:
        found = f"{number(job.resources_per_gpu['gpus'])}{owner}"
        findings.add(f"{path}.resources_per_gpu.gpus", found, "no resource of this name: a worker takes one GPU")
    if job.segment is not None:
        check_numbers(findings, f"{path}.segment", job.segment, "job", job.name)
        _check_level(findings, f"{path}.segment.level", job.segment.level, levels, owner)
    if job.spread is not None:
        check_numbers(findings, f"{path}.spread", job.spread, "job", job.name)
        _check_level(findings, f"{path}.spread.level", job.spread.level, levels, owner)
    if job.within is not None:
        _check_level(findings, f"{path}.within", job.within, levels, owner)
    if job.placement is not None and not job.placement and findings.sound(f"{path}.placement"):
        found = f"an empty object{owner}"
        findings.add(f"{path}.placement", found, "at least one node; leave it out for a job that does not run")


def _check_level(findings: Findings, path: str, level: str, levels: list[str] | None, owner: str) -> None:
    if levels is not None and level not in levels:
        findings.add(path, f"{quoted(level)}{owner}", f"a level of the cluster, {one_of(levels)}{alike(level, levels)}")


def job_warnings(instance: Instance) -> list[str]:
    """What is allowed but can have no effect, or makes proofs say little."""
    warnings = []
    worth = sum(job.weight * job.gpus for job in instance.jobs)
    if 0 < worth < LEAST_WORTH:
        warnings.append(
            f"{JOBS}: weights are so small that all jobs together are worth {number(worth)} GPUs at most, while "
            f"values that differ by {TOLERANCE:g} count as equal: multiply all weights by the same large number"
        )
    for j, job in enumerate(instance.jobs):
        if job.placement is None:
            idle = [
                field
                for field, given in (("movable", job.movable), ("migration_minutes", job.migration_minutes))
                if given
            ]
            warnings += [
                f"{JOBS}[{j}].{field}: has no effect{named('job', job.name)}, which has no placement" for field in idle
            ]
        elif job.migration_minutes and not job.movable:
            warnings.append(
                f"{JOBS}[{j}].migration_minutes: has no effect{named('job', job.name)}, which is not movable"
            )
    return warnings
