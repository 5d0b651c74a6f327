"""`crop generate`: make an instance of a family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.sources.dress import Imported


def _family_names(incomplete: str) -> list[tuple[str, str]]:
    from crop_cli.sources.generate.registry import FAMILIES  # noqa: PLC0415 (only the shell's completion needs it)

    return [(name, family.summary) for name, family in FAMILIES.items() if name.startswith(incomplete)]


def generate(
    family: Annotated[
        str | None,
        typer.Argument(metavar="FAMILY", help="One of --list.", autocompletion=_family_names, show_default=False),
    ] = None,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Nodes of the cluster.")] = 64,
    load: Annotated[
        float | None,
        typer.Option("--load", metavar="L", help="GPUs asked for over free GPUs.  [default: 1.1]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="Number of waiting jobs, in place of --load.")
    ] = None,
    seed: opt.Seed = 0,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the instance.  [default: FAMILY-NODES-SEED]")
    ] = None,
    fabric: Annotated[
        str | None,
        typer.Option("--fabric", metavar="NAME", help="Bandwidths: a fabric or a JSON file.  [default: the family's]"),
    ] = None,
    models: Annotated[
        str | None, typer.Option("--models", metavar="FILE", help="Table of models (CSV) to draw from.")
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="INSTANCE", help="Instance file; - is standard output.")
    ] = "-",
    list_families: Annotated[bool, typer.Option("--list", help="List the families.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make an instance of a family: cluster and jobs drawn from published distributions.

    The same options and version of crop give the same file, byte for byte.
    What no source states is assumed, and listed in the instance.

    Exit codes: 0 the instance was written; 2 usage; 3 a bad table of models
    or fabric.
    """
    environment = Environment.current()
    if list_families:
        _list(environment)
        return
    if family is None:
        raise UsageError("which family? `crop generate --list` shows them")

    from crop_cli.model.files import write_packed  # noqa: PLC0415
    from crop_cli.model.io import dump_instance, require_writable  # noqa: PLC0415
    from crop_cli.sources.fabric import load_fabric  # noqa: PLC0415
    from crop_cli.sources.generate.registry import generate as make  # noqa: PLC0415
    from crop_cli.sources.profiles import load_profiles  # noqa: PLC0415

    require_writable(output)
    made = make(
        family,
        nodes,
        load,
        jobs,
        seed,
        instance_name=name,
        profiles=None if models is None else load_profiles(models),
        fabric=None if fabric is None else load_fabric(fabric),
    )
    document = dump_instance(made.instance)
    if output == "-":
        environment.out_bytes(document)
    else:
        write_packed(output, document)
    if not quiet:
        _report(environment, made)


def _report(environment: Environment, made: Imported) -> None:
    """Counts, assumptions and warnings on standard error."""
    totals = ", ".join(f"{count} {what}" for what, count in made.counts.items() if count)
    environment.err(f"crop: {made.instance.name}: {totals}")
    for text in made.instance.assumptions:
        environment.err(f"crop: assumed: {text}")
    for warning in made.warnings:
        environment.err(f"crop: warning: {warning}")


def _list(environment: Environment) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.report import Report, Table  # noqa: PLC0415
    from crop_cli.sources.generate.registry import FAMILIES  # noqa: PLC0415

    rows = [[family.name, family.summary, family.source] for family in FAMILIES.values()]
    show(environment, opt.Format.TABLE, Report(tables=[Table("", ["family", "what", "source"], rows)]))
