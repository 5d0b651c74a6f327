"""What is in use on every node besides the jobs of the instance, so that both together never exceed what it has."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from crop_cli.names import compress, plural
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.slurm.machines import Machine
from crop_cli.sources.slurm.notes import Notes
from crop_cli.sources.slurm.requests import MEBI_PER_GIBI
from crop_cli.sources.slurm.running import CPU, MEMORY, Running, Taken

_LEAST = 1e-6
"""Amounts of CPUs and GiB below this are rounding."""


def capacities(machine: Machine) -> dict[str, float]:
    """CPUs and GiB of a node, as far as they are said."""
    node = machine.node
    found = {}
    if node.cpus is not None:
        found[CPU] = node.cpus
    if node.memory_mb is not None:
        found[MEMORY] = round(max(0.0, node.memory_mb) / MEBI_PER_GIBI, 6)
    return found


def common_resources(machines: Mapping[str, Machine], notes: Notes) -> frozenset[str]:
    """Resources that every node states; one that some lack would keep jobs away from those."""
    stated = [capacities(machine).keys() for machine in machines.values()]
    some = frozenset().union(*stated)
    common = some.intersection(*stated)
    for name in sorted(some - common):
        notes.warnings.append(f"not every node states its {name}: it is left out")
    return common


def gpus_in_use(machine: Machine, taken: Taken) -> int:
    """GPUs in use by what is not in the instance.

    Slurm's own count, where there is one, less those of jobs in the instance; at least those of jobs that were left
    out. In an exclusive node whatever its job does not use is in use as well.
    """
    others = taken.others
    if machine.node.gpus_used is not None:
        by_type = machine.node.gpus_used
        counted = by_type.get(machine.gres_type, 0) + (by_type.get("", 0) if machine.gres_type else 0)
        others = max(others, counted + machine.node.shared_used - taken.placed)
    if taken.exclusive:
        others = machine.gpus
    return max(0, min(others, machine.gpus - taken.placed))


def used_of(machine: Machine, taken: Taken, resources: frozenset[str]) -> dict[str, float]:
    """All that is in use on a node by what is not in the instance."""
    gpus = gpus_in_use(machine, taken)
    used: dict[str, float] = {"gpus": gpus} if gpus else {}
    node = machine.node
    counted = {
        CPU: node.cpus_used,
        MEMORY: None if node.memory_used_mb is None else node.memory_used_mb / MEBI_PER_GIBI,
    }
    for name, capacity in capacities(machine).items():
        if name not in resources:
            continue
        load, allocated = taken.load.get(name, 0.0), counted[name]
        others = taken.other_load.get(name, 0.0) if allocated is None else allocated - load
        others = min(others, capacity - load)
        if others > _LEAST:
            used[name] = round(others, 6)
    return used


def within_capacity(running: Running) -> list[DraftJob]:
    """The running jobs, with CPUs and memory cut down where those on a node exceed what it has (oversubscription)."""
    factor: dict[tuple[str, str], float] = {}
    for host, taken in running.taken.items():
        machine = running.machines.get(host)
        has = capacities(machine) if machine else {}
        for name, load in taken.load.items():
            if load > has.get(name, 0.0):
                factor[host, name] = has.get(name, 0.0) / load
    if not factor:
        return running.jobs
    crowded = sorted({host for host, _ in factor})
    running.notes.warnings.append(
        f"jobs on {plural(len(crowded), 'node')} have more CPUs or memory than there are, cut down: {compress(crowded)}"
    )
    jobs = []
    for draft in running.jobs:
        demand = dict(draft.job.resources_per_gpu)
        for name in (CPU, MEMORY):
            cut = min((factor.get((host, name), 1.0) for host in draft.job.placement or {}), default=1.0)
            if name in demand and cut < 1:
                demand[name] *= cut
                for host, gpus in (draft.job.placement or {}).items():
                    running.taken[host].load[name] -= draft.job.resources_per_gpu[name] * gpus * (1 - cut)
        jobs.append(
            DraftJob(msgspec.structs.replace(draft.job, resources_per_gpu=demand), draft.model, draft.gpu_types)
        )
    return jobs
