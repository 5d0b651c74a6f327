"""`crop import kubernetes`: a cluster and its jobs from what `kubectl` prints."""

from __future__ import annotations

from typing import Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.errors import UsageError

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE…", help="Output of `kubectl get … -o json` or -o yaml; - is standard input."),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--level", metavar="NAME=LABEL", help="A level of switches by node label; repeat it, the outermost first."
    ),
]
Movable = Annotated[bool, typer.Option("--movable", help="Running jobs may be moved.")]
ProfileFile = Annotated[
    str | None, typer.Option("--profile", metavar="FILE", help="Table of models (CSV) instead of crop's own.")
]
FabricName = Annotated[
    str | None, typer.Option("--fabric", metavar="NAME|FILE", help="Bandwidths: a named fabric, or a JSON file.")
]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the instance.")]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="INSTANCE", help="Write the instance there.  [default: standard output]"),
]


def kubernetes(
    files: Files,
    level: Levels = None,
    movable: Movable = False,
    profile: ProfileFile = None,
    fabric: FabricName = None,
    name: Name = None,
    output: Output = None,
    quiet: opt.Quiet = False,
) -> None:
    """Make an instance of a Kubernetes cluster and its jobs.

    kubectl get nodes,pods -A -o json | crop import kubernetes - -o cluster.json

    Other objects may be given, too, in any number of files: Jobs, JobSets,
    Kueue's Workloads and Topology, PodGroups, PyTorchJobs, MPIJobs,
    TrainJobs, RayJobs, LeaderWorkerSets, HyperNodes, priority classes.

    Exit codes: 0 the instance was written; 2 usage; 3 bad input.
    """
    environment = Environment.current()

    from crop_cli.model.files import read_bytes, require_writable, shown, write_packed  # noqa: PLC0415
    from crop_cli.model.io import dump_instance  # noqa: PLC0415
    from crop_cli.sources.dress import dress  # noqa: PLC0415
    from crop_cli.sources.fabric import DEFAULT, load_fabric  # noqa: PLC0415
    from crop_cli.sources.kubernetes.documents import Input  # noqa: PLC0415
    from crop_cli.sources.kubernetes.draft import read  # noqa: PLC0415
    from crop_cli.sources.kubernetes.topology import option_levels  # noqa: PLC0415
    from crop_cli.sources.profiles import load_profiles  # noqa: PLC0415

    if files.count("-") > 1:
        raise UsageError("FILE: standard input (-) can be read once only")
    levels = option_levels(level or [])
    if output is not None:
        require_writable(output)
    bandwidths, models = load_fabric(fabric or DEFAULT), load_profiles(profile)
    inputs = [Input(shown(file), read_bytes(file)) for file in files]
    imported = dress(read(inputs, levels, movable=movable, name=name or ""), models, bandwidths)
    document = dump_instance(imported.instance)
    if output is None or output == "-":
        environment.out_bytes(document)
    else:
        write_packed(output, document)
    if quiet:
        return
    for text, count in imported.counts.items():
        environment.err(f"{text:<26}  {count:,}")
    for text in imported.skipped:
        environment.err(f"left out: {text}")
    for text in imported.instance.assumptions:
        if not text.startswith("Left out: "):
            environment.err(f"assumed: {text}")
    for text in imported.warnings:
        environment.err(f"crop: warning: {text}")
