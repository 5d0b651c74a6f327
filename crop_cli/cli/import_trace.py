"""`crop import trace` and `crop import topology`: public traces and topologies as files of crop."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.sources.traces.reading import Reading


MOST_LINES = 12
"""Assumptions and warnings that are shown."""


class TraceName(StrEnum):
    """Traces that can be read."""

    PHILLY = "philly"
    GAVEL = "gavel"
    OPENB = "openb"
    ELASTICFLOW = "elasticflow"
    TIRESIAS = "tiresias"


class TopologyName(StrEnum):
    """Topologies that can be read."""

    LINGJUN = "lingjun"
    ZHEJIANG = "zhejiang"
    IBNETDISCOVER = "ibnetdiscover"
    OPENB_NODES = "openb-nodes"


Fabric = Annotated[
    str | None,
    typer.Option("--fabric", metavar="NAME", help="Bandwidths that the cluster's source lacks: a name or a JSON file."),
]


def trace(
    name: Annotated[TraceName, typer.Argument(help="Which trace.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Its files, plain or gzip.")],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Instance of this moment: seconds, or a date; what runs stays, what waits is open.",
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="FROM..TO", help="Instance of all that arrives then, waiting at once."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="FILE", help="Instance or topology to place the jobs on.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Only the first N jobs; at a moment, of those that wait.")
    ] = None,
    seed: opt.Seed = 0,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="FILE", help="Table of measured models (CSV).")
    ] = None,
    fabric: Fabric = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Trace or instance file; - is standard output.")
    ] = "-",
    quiet: opt.Quiet = False,
) -> None:
    """Make a trace, or an instance, of a public job trace.

    Without --at and --window the result is a trace file, with seconds for
    the GPU types of --cluster or else for one A100. With either it is an
    instance on --cluster. What runs at a moment is known only from a queue
    simulated up to there; that and all else that the source does not tell
    is listed in the file.

    Exit codes: 0 the file was written; 2 usage; 3 bad input.
    """
    environment = Environment.current()
    if at is not None and window is not None:
        raise UsageError("--at and --window are two questions: give one")
    if cluster is None and (at is not None or window is not None or fabric is not None):
        raise UsageError("--at, --window and --fabric need --cluster FILE, an instance or a topology")
    if limit is not None and limit < 1:
        raise UsageError(f"--limit: {limit} is not a number of jobs, at least 1")
    if [*files, cluster, profile].count("-") > 1:
        raise UsageError("only one file can be standard input")

    from crop_cli.model.files import require_writable, write_packed  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.model.io import dump_instance  # noqa: PLC0415
    from crop_cli.model.trace import trace_bytes  # noqa: PLC0415
    from crop_cli.sources.profiles import load_profiles  # noqa: PLC0415
    from crop_cli.sources.topologies.registry import load_cluster  # noqa: PLC0415
    from crop_cli.sources.traces.choice import Choice  # noqa: PLC0415
    from crop_cli.sources.traces.times import seconds_of, window_of  # noqa: PLC0415
    from crop_cli.sources.traces.to_instance import instance_of  # noqa: PLC0415
    from crop_cli.sources.traces.to_trace import trace_of  # noqa: PLC0415

    require_writable(output)
    profiles = load_profiles(profile)
    reading = _read(name, files)
    choice = Choice(
        at=None if at is None else seconds_of(at, reading.start, "--at"),
        window=None if window is None else window_of(window, reading.start),
        limit=limit,
        seed=seed,
    )
    place = None if cluster is None else load_cluster(cluster, profiles, fabric)
    if place is None or (choice.at is None and choice.window is None):
        made = trace_of(reading, place, profiles, choice)
        write_packed(output, trace_bytes(made.trace))
        counts, skipped, said, warnings = made.counts, made.skipped, made.trace.assumptions, made.warnings
    else:
        result = instance_of(reading, place, profiles, choice)
        write_packed(output, dump_instance(result.instance))
        counts, skipped, said, warnings = result.counts, result.skipped, result.instance.assumptions, result.warnings
    if not quiet:
        report(environment, counts, skipped, said, warnings)


def topology(
    name: Annotated[TopologyName, typer.Argument(help="Which form.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, plain or gzip; - is standard input.")],
    gpus_per_node: Annotated[
        int | None, typer.Option("--gpus-per-node", metavar="N", help="Where the source has none.  [default: 8]")
    ] = None,
    gpu_type: Annotated[
        str | None,
        typer.Option("--gpu-type", metavar="TYPE", help="Where the source has none.  [default: the usual one]"),
    ] = None,
    fabric: Fabric = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="INSTANCE", help="Instance file; - is standard output.")
    ] = "-",
    quiet: opt.Quiet = False,
) -> None:
    """Make an instance without jobs of a cluster's topology.

    Bandwidths that the source does not tell are those of --fabric (default
    a100-ib); what was assumed is listed in the instance.

    Exit codes: 0 the instance was written; 2 usage; 3 bad input.
    """
    environment = Environment.current()
    if gpus_per_node is not None and not 1 <= gpus_per_node <= 1024:
        raise UsageError(f"--gpus-per-node: {gpus_per_node} is not a number from 1 to 1024")
    if gpu_type is not None and not (gpu_type.strip() and gpu_type.isprintable()):
        raise UsageError(f"--gpu-type: {gpu_type!r} is no name of printable characters")
    if name is TopologyName.OPENB_NODES and (gpus_per_node is not None or gpu_type is not None):
        raise UsageError("--gpus-per-node and --gpu-type are for topologies without them: openb-nodes states both")

    from crop_cli.model.files import read_bytes, require_writable, write_packed  # noqa: PLC0415
    from crop_cli.model.io import dump_instance  # noqa: PLC0415
    from crop_cli.sources.dress import dress  # noqa: PLC0415
    from crop_cli.sources.fabric import DEFAULT, load_fabric  # noqa: PLC0415
    from crop_cli.sources.profiles import load_profiles  # noqa: PLC0415
    from crop_cli.sources.topologies.kind import NodeKind  # noqa: PLC0415
    from crop_cli.sources.topologies.registry import READERS  # noqa: PLC0415

    require_writable(output)
    wires = load_fabric(fabric or DEFAULT)
    draft = READERS[name.value](read_bytes(file), file, NodeKind(gpus_per_node, gpu_type))
    made = dress(draft, load_profiles(), wires)
    write_packed(output, dump_instance(made.instance))
    if not quiet:
        report(environment, made.counts, made.skipped, made.instance.assumptions, made.warnings)


def report(
    environment: Environment, counts: dict[str, int], skipped: list[str], said: list[str], warnings: list[str]
) -> None:
    """Totals, what was left out, what was assumed and what to look at, on standard error."""
    for what, number in counts.items():
        environment.err(f"{what}: {number:,}")
    for text in skipped:
        environment.err(f"left out: {text}")
    assumed = [f"assumed: {text}" for text in said if not text.startswith("Left out: ")]
    for lines, what in ((assumed, "assumptions, in the file"), ([f"crop: warning: {w}" for w in warnings], "warnings")):
        for line in lines[:MOST_LINES]:
            environment.err(line)
        if len(lines) > MOST_LINES:
            environment.err(f"crop: and {len(lines) - MOST_LINES} more {what}")


def _read(name: TraceName, files: list[str]) -> Reading:
    """All files of a trace as one."""
    from crop_cli.model.files import read_bytes  # noqa: PLC0415
    from crop_cli.sources.traces.reading import merged  # noqa: PLC0415
    from crop_cli.sources.traces.registry import READERS  # noqa: PLC0415

    if len(set(files)) < len(files):
        raise UsageError("a file is given twice")
    return merged({file: READERS[name.value](read_bytes(file), file) for file in files})
