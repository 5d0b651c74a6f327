"""`crop export`: placements for Slurm, Kubernetes and spreadsheets, models for other solvers."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment

if TYPE_CHECKING:
    from crop_cli.export.program import Program

export = typer.Typer(no_args_is_help=True, help="Write a placement or a model in the words of other programs.")

First = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Instance file, or the solution file alone; - is standard input."),
]
Second = Annotated[
    str | None,
    typer.Argument(metavar="SOLUTION", help="Solution file; it is checked against the instance.", show_default=False),
]
Output = Annotated[
    str, typer.Option("-o", "--output", metavar="FILE", help="Write there; .gz packs it; - is standard output.")
]


class SlurmForm(StrEnum):
    """Forms of the commands for Slurm."""

    BASH = "bash"
    JSON = "json"


class KubernetesForm(StrEnum):
    """Forms of the patches for Kubernetes."""

    YAML = "yaml"
    JSON = "json"


@export.command()
def slurm(
    first: First,
    second: Second = None,
    output: Output = "-",
    form: Annotated[SlurmForm, typer.Option("--format", help="A bash script, or a list of jobs.")] = SlurmForm.BASH,
    script: Annotated[
        str,
        typer.Option(
            "--script", metavar="PATH", help="Batch script of a job that is not queued yet; {job} is its name."
        ),
    ] = "./{job}.sh",
    queued: Annotated[
        bool | None,
        typer.Option(
            "--queued/--new",
            help="Names that begin with a number are jobs of the queue, or none is.  [default: queued if all names do]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Commands that start the placed jobs in Slurm on exactly their nodes and GPUs.

    Jobs named "NUMBER-NAME", as `crop import slurm` names those of a live
    queue, are updated there; others are submitted. With an instance the
    solution is checked first, and what runs on unmoved is left out.

    Exit codes: 0 done; 2 usage; 3 bad input; 7 the solution does not hold
    for the instance.
    """
    from crop_cli.export.placed import read_exported  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.export.slurm import commands, slurm_json, slurm_script  # noqa: PLC0415

    exported = read_exported(_files(first, second))
    todo = commands(exported, script, queued=queued)
    _write(output, slurm_json(todo) if form is SlurmForm.JSON else slurm_script(exported, todo))


@export.command()
def kubernetes(
    first: First,
    second: Second = None,
    output: Output = "-",
    form: Annotated[
        KubernetesForm, typer.Option("--format", help="Partial objects with commands, or a list of jobs.")
    ] = KubernetesForm.YAML,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Of jobs whose name tells none.")] = "Job",
    gpus_per_pod: Annotated[
        int | None,
        typer.Option(
            "--gpus-per-pod", metavar="N", min=1, help="GPUs of a pod.  [default: as the instance or the split tells]"
        ),
    ] = None,
) -> None:
    """Patches that send the pods of the placed jobs to their nodes.

    Jobs are named "namespace/name" or "namespace/name (Kind)", as `crop
    import kubernetes` names them. Suspended Jobs get a node affinity, gated
    pods a node selector each. With an instance the solution is checked first,
    and what runs on unmoved is left out.

    Exit codes: 0 done; 2 usage; 3 bad input; 7 the solution does not hold
    for the instance.
    """
    from crop_cli.export.kubernetes import kubernetes_json, kubernetes_yaml, pods_of  # noqa: PLC0415
    from crop_cli.export.placed import read_exported  # noqa: PLC0415

    exported = read_exported(_files(first, second))
    jobs = pods_of(exported, kind=kind, gpus_per_pod=gpus_per_pod)
    _write(output, kubernetes_json(jobs) if form is KubernetesForm.JSON else kubernetes_yaml(exported, jobs))


@export.command("csv")
def table(first: First, second: Second = None, output: Output = "-") -> None:
    """A row per placed job and node, and one per job that waits, with the reason.

    With an instance the solution is checked first, and rows tell racks and
    whether the job starts, stays or moves.

    Exit codes: 0 done; 2 usage; 3 bad input; 7 the solution does not hold
    for the instance.
    """
    from crop_cli.export.placed import read_exported  # noqa: PLC0415
    from crop_cli.export.table import csv_text  # noqa: PLC0415

    _write(output, csv_text(read_exported(_files(first, second), placed=False)))


@export.command()
def mps(instance: opt.InstanceFile, output: Output = "-") -> None:
    """The linearised problem as a free MPS file: minimise, F = -1 * objective.

    Exit codes: 0 done; 2 usage; 3 bad input.
    """
    from crop_cli.export.mps import mps_text  # noqa: PLC0415

    _write_model(instance, output, mps_text)


@export.command()
def lp(instance: opt.InstanceFile, output: Output = "-") -> None:
    """The linearised problem as an LP file: maximise F.

    Exit codes: 0 done; 2 usage; 3 bad input.
    """
    from crop_cli.export.lp import lp_text  # noqa: PLC0415

    _write_model(instance, output, lp_text)


def _files(first: str, second: str | None) -> list[str]:
    """One file is the solution."""
    return [first] if second is None else [first, second]


def _write_model(instance: str, output: str, text: Callable[[Program, str], str]) -> None:
    from crop_cli import api  # noqa: PLC0415
    from crop_cli.export.program import Program  # noqa: PLC0415
    from crop_cli.model.files import require_writable  # noqa: PLC0415
    from crop_cli.model.problem import compile_problem  # noqa: PLC0415

    require_writable(output)
    loaded = api.load(instance)
    _write(output, text(Program.of(compile_problem(loaded.instance)), loaded.sha256))


def _write(output: str, text: str) -> None:
    from crop_cli.model.files import write_packed  # noqa: PLC0415

    data = text.encode()
    if output == "-":
        Environment.current().out_bytes(data)
        return
    write_packed(output, data)
