"""From what Slurm prints to a draft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from crop_cli.errors import Defect, InputError
from crop_cli.model.instance import Node
from crop_cli.names import compress, plural
from crop_cli.sources.draft import Draft, DraftJob
from crop_cli.sources.slurm import states
from crop_cli.sources.slurm.eligible import Eligibility
from crop_cli.sources.slurm.jobs import read_jobs
from crop_cli.sources.slurm.machines import Machine, machines
from crop_cli.sources.slurm.nodes import read_nodes
from crop_cli.sources.slurm.notes import Notes
from crop_cli.sources.slurm.records import Input, SlurmJob, SlurmNode
from crop_cli.sources.slurm.reservations import read_reservations
from crop_cli.sources.slurm.running import Running
from crop_cli.sources.slurm.topology import Levels, read_topology, uniform
from crop_cli.sources.slurm.usage import capacities, common_resources, used_of, within_capacity
from crop_cli.sources.slurm.waiting import Waiting

ARRAY_TASKS = 100
"""Tasks of one waiting array that are in an instance unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose.

    Attributes
    ----------
    name
        Of the instance.
    partitions
        Only nodes of these; none: all.
    movable
        Whether running jobs may be moved.
    include_held
        Whether jobs that are held, depend on others or meet a limit wait like others.
    array_tasks
        Most tasks of one waiting array.
    """

    name: str = "slurm"
    partitions: tuple[str, ...] = ()
    movable: bool = False
    include_held: bool = False
    array_tasks: int = ARRAY_TASKS


def read(
    nodes: Input,
    topology: Input | None = None,
    jobs: Input | None = None,
    reservations: Input | None = None,
    options: Options | None = None,
) -> Draft:
    """A cluster and its jobs, of the output of Slurm's commands in any of its forms.

    Raises
    ------
    InputError
        If a file cannot be read, or there is no node with a GPU.
    UsageError
        If a partition that is asked for has no node.
    """
    options = options or Options()
    notes = Notes()
    rows = read_nodes(nodes)
    reserved = read_reservations(reservations) if reservations is not None else []
    queue = read_jobs(jobs) if jobs is not None else []
    found = machines(rows, options.partitions, reserved, notes)
    if not found:
        reason = "no node with a GPU" + (" in these partitions" if options.partitions else "")
        raise InputError(nodes.file, [Defect("nodes", reason, "at least one node with Gres=gpu:...")])
    tree = uniform(read_topology(topology) if topology is not None else None, list(found))
    notes.assumptions += tree.assumptions
    notes.warnings += tree.warnings
    vague = [machine.name for machine in found.values() if machine.node.vague]
    if vague:
        notes.warnings.append(
            f"features and CPUs in use of {plural(len(vague), 'node')} are told by groups, and taken to be alike in "
            f"each (scontrol show nodes --json tells them): {compress(vague)}"
        )
    if topology is None:
        notes.assumptions.append("No topology is given: all nodes hang on one switch.")
    resources = common_resources(found, notes)
    if jobs is None and all(machine.node.gpus_used is None for machine in found.values()):
        notes.warnings.append("GPUs in use are not said (no jobs, and nodes without -d): all are taken as free")
    eligibility = Eligibility(found, frozenset(options.partitions), notes)
    running = Running(found, eligibility, notes, resources, options.movable, tree)
    waiting = _jobs(queue, running, options, resources)
    made = [*within_capacity(running), *waiting]
    return Draft(
        name=options.name,
        levels=tree.levels,
        switches=tree.switches,
        nodes=[_node(machine, running, eligibility, tree, resources) for machine in found.values()],
        jobs=made,
        source=f"Slurm: {', '.join(_base(item) for item in (nodes, topology, jobs, reservations) if item is not None)}",
        description=f"Snapshot of a Slurm cluster: {plural(len(found), 'node')} with GPUs, {plural(len(made), 'job')}.",
        assumptions=notes.all_assumptions(),
        skipped=notes.skipped,
        warnings=notes.warnings,
        counts=_counts(rows, queue),
    )


def _jobs(queue: Sequence[SlurmJob], running: Running, options: Options, resources: frozenset[str]) -> list[DraftJob]:
    """Enter the jobs that have nodes, then those that wait; the latter are returned."""
    notes = running.notes
    kinds: list[tuple[SlurmJob, states.JobKind]] = []
    unknown: Counter[str] = Counter()
    seen: set[str] = set()
    for job in queue:
        kind = states.job_kind(job.states)
        key = f"{job.key} {job.waiting_tasks or ''}"
        if key in seen:
            notes.skip("job", job.key, "comes twice in the source")
            continue
        seen.add(key)
        if kind is None:
            unknown["+".join(job.states)] += 1
            kind = states.JobKind("holds" if job.nodes else "ended", f"is in an unknown state ({'+'.join(job.states)})")
        kinds.append((job, kind))
    for word, n in unknown.items():
        notes.warnings.append(f"unknown state {word!r} of {plural(n, 'job')}, left out")
    tasks: Counter[str] = Counter(
        job.array for job, kind in kinds if kind.kind in ("runs", "holds") and job.array is not None
    )
    reader = Waiting(
        running.eligibility,
        notes,
        running.tree.levels,
        resources,
        options.include_held,
        options.array_tasks,
        tasks,
        any(machine.node.memory_used_mb for machine in running.machines.values()),
    )
    waiting: list[DraftJob] = []
    for job, (state, reason) in kinds:
        if state == "ended" or (state == "held" and not options.include_held):
            notes.skip("job", job.key, reason)
        elif state in ("waits", "held"):
            waiting += reader.jobs(job)
        elif not job.nodes:
            notes.skip("job", job.key, "runs, and its nodes are not said")
        else:
            running.add(job, reason)
    return waiting


def _node(
    machine: Machine, running: Running, eligibility: Eligibility, tree: Levels, resources: frozenset[str]
) -> Node:
    amounts = {name: amount for name, amount in capacities(machine).items() if name in resources}
    amounts |= {name: float(machine.gpus) for name, nodes in eligibility.marked.items() if machine.name in nodes}
    return Node(
        name=machine.name,
        gpus=machine.gpus,
        parent=tree.parent_of.get(machine.name),
        gpu_type=machine.gpu_type,
        resources=amounts,
        used=used_of(machine, running.taken[machine.name], resources),
        state=machine.state,
    )


def _counts(nodes: list[SlurmNode], queue: list[SlurmJob]) -> dict[str, int]:
    """Totals in the source's own words."""
    base = Counter((job.states[0] if job.states else "without a state").lower() for job in queue)
    return {
        "nodes": len(nodes),
        "GPUs": sum(sum(node.gpus.values()) for node in nodes),
        **{f"jobs {state}": n for state, n in sorted(base.items())},
    }


def _base(item: Input) -> str:
    """A file's name without its folder."""
    return PurePath(item.file).name
