"""`crop import slurm`: an instance of what Slurm prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli.environment import Environment
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.sources.dress import Imported
    from crop_cli.sources.slurm.records import Input

Nodes = Annotated[
    str,
    typer.Option(
        "--nodes",
        metavar="FILE",
        help="Nodes: scontrol -d show node, scontrol show nodes --json, or sinfo --json; - is standard input.",
    ),
]
TopologyFile = Annotated[
    str | None,
    typer.Option("--topology", metavar="FILE", help="Switches: topology.conf, or scontrol show topology."),
]
JobsFile = Annotated[
    str | None,
    typer.Option(
        "--jobs", metavar="FILE", help="Jobs: squeue --json, scontrol show jobs --json, or scontrol -d show job."
    ),
]
ReservationsFile = Annotated[
    str | None,
    typer.Option("--reservations", metavar="FILE", help="Reservations: scontrol show reservation, also with --json."),
]
Movable = Annotated[bool, typer.Option("--movable", help="Running jobs may be moved (they may never be stopped).")]
IncludeHeld = Annotated[
    bool,
    typer.Option("--include-held", help="Also jobs that are held, wait for others or a time, or meet a limit."),
]
ArrayTasks = Annotated[
    int, typer.Option("--array-tasks", metavar="N", min=1, help="Most tasks of each array that waits.")
]
Partitions = Annotated[
    list[str] | None,
    typer.Option("--partition", metavar="NAME", help="Only nodes and jobs of this partition; may be repeated."),
]
ProfileFile = Annotated[
    str | None,
    typer.Option("--profile", metavar="FILE", help="Table (CSV) of measured models.  [default: the one of crop]"),
]
FabricName = Annotated[
    str, typer.Option("--fabric", metavar="NAME|FILE", help="Bandwidths: the name of a fabric, or a JSON file.")
]
InstanceName = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the instance.")]
InstanceOutput = Annotated[
    str, typer.Option("-o", "--output", metavar="INSTANCE", help="Write the instance there; - is standard output.")
]
QuietReport = Annotated[bool, typer.Option("-q", "--quiet", help="No report on standard error.")]


def slurm(
    nodes: Nodes,
    topology: TopologyFile = None,
    jobs: JobsFile = None,
    reservations: ReservationsFile = None,
    movable: Movable = False,
    include_held: IncludeHeld = False,
    array_tasks: ArrayTasks = 100,
    partition: Partitions = None,
    profile: ProfileFile = None,
    fabric: FabricName = "a100-ib",
    name: InstanceName = "slurm",
    output: InstanceOutput = "-",
    quiet: QuietReport = False,
) -> None:
    """Make an instance of a Slurm cluster and its queue.

    scontrol -d show node > nodes.txt; scontrol -d show job > jobs.txt;
    crop import slurm --nodes nodes.txt --jobs jobs.txt -o instance.json

    Each FILE is the output of any of Slurm's commands for it; the form is
    detected. What Slurm does not know (bandwidths, messages, times) comes
    from --fabric and --profile and is listed in the instance. What is left
    out and why goes to standard error and into the instance.

    Exit codes: 0 the instance was written; 2 usage; 3 bad input.
    """
    from crop_cli.model.files import require_writable, write_packed  # noqa: PLC0415
    from crop_cli.model.io import dump_instance  # noqa: PLC0415
    from crop_cli.sources.dress import dress  # noqa: PLC0415
    from crop_cli.sources.fabric import load_fabric  # noqa: PLC0415
    from crop_cli.sources.profiles import load_profiles  # noqa: PLC0415
    from crop_cli.sources.slurm.draft import Options, read  # noqa: PLC0415

    if [nodes, topology, jobs, reservations].count("-") > 1:
        raise UsageError("standard input (-) can be one of the files only")
    environment = Environment.current()
    require_writable(output)
    wired, profiles = load_fabric(fabric), load_profiles(profile)
    options = Options(name, tuple(partition or ()), movable, include_held, array_tasks)
    draft = read(_input(nodes), _optional(topology), _optional(jobs), _optional(reservations), options)
    imported = dress(draft, profiles, wired)
    document = dump_instance(imported.instance)
    if output == "-":
        environment.out_bytes(document)
    else:
        write_packed(output, document)
    if not quiet:
        _report(environment, imported)


def _input(path: str) -> Input:
    from crop_cli.model.files import read_bytes, shown  # noqa: PLC0415
    from crop_cli.sources.slurm.records import Input  # noqa: PLC0415

    return Input(shown(path), read_bytes(path))


def _optional(path: str | None) -> Input | None:
    return None if path is None else _input(path)


def _report(environment: Environment, imported: Imported) -> None:
    """Counts, what was left out, assumptions and warnings, on standard error."""
    cluster, jobs = imported.instance.cluster, imported.instance.jobs
    said = ", ".join(f"{count} {what}" for what, count in imported.counts.items())
    runs = sum(job.placement is not None for job in jobs)
    gpus = sum(node.gpus for node in cluster.nodes)
    environment.err(f"source    {said}")
    environment.err(
        f"instance  {len(cluster.nodes)} nodes, {gpus} GPUs, {runs} jobs running, {len(jobs) - runs} waiting"
    )
    for text in imported.skipped:
        environment.err(f"left out  {text}")
    for text in imported.instance.assumptions:
        if not text.startswith("Left out: "):
            environment.err(f"assumed   {text}")
    for text in imported.warnings:
        environment.err(f"crop: warning: {text}")
