"""The `crop` command: its commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from crop_cli._version import __version__
from crop_cli.cli import import_kubernetes, import_slurm, import_trace
from crop_cli.cli.bench import bench
from crop_cli.cli.check import check
from crop_cli.cli.compare import compare
from crop_cli.cli.drill import drill
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode, of_error
from crop_cli.cli.explain import explain
from crop_cli.cli.export import export
from crop_cli.cli.generate import generate
from crop_cli.cli.repair import repair
from crop_cli.cli.schema import schema
from crop_cli.cli.simulate import simulate
from crop_cli.cli.solve import solve
from crop_cli.cli.solvers import solvers
from crop_cli.errors import CropError, InputError


class Commands(TyperGroup):
    """The group of all commands; errors raised on purpose end the process with their own exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            Environment.current().err("crop: interrupted")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except CropError as error:
            _report(Environment.current(), error)
            raise typer.Exit(of_error(error)) from None


def _report(environment: Environment, error: CropError) -> None:
    """One line per problem on standard error."""
    if isinstance(error, InputError):
        for defect in error.defects:
            environment.err(f"crop: {error.file}: {defect}")
        if len(error.defects) > 1:
            environment.err(f"crop: {error.file}: {len(error.defects)} problems; nothing was written")
    else:
        environment.err(f"crop: {error}")


def _version(value: bool) -> None:
    if value:
        sys.stdout.write(f"crop {__version__}\n")
        raise typer.Exit


app = typer.Typer(
    name="crop",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Boxes are for terminals: elsewhere help is plain text.
    rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def crop(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Place deep-learning training jobs on GPU clusters: optimal where that can be proved, certified everywhere."""


imports = typer.Typer(no_args_is_help=True, help="Make instances and traces from clusters and public traces.")
imports.command("slurm")(import_slurm.slurm)
imports.command("kubernetes")(import_kubernetes.kubernetes)
imports.command("trace")(import_trace.trace)
imports.command("topology")(import_trace.topology)

app.command()(solve)
app.command()(check)
app.command()(explain)
app.command()(bench)
app.command()(compare)
app.command()(simulate)
app.command()(drill)
app.command()(repair)
app.add_typer(imports, name="import")
app.add_typer(export, name="export")
app.command()(generate)
app.command()(solvers)
app.command()(schema)


def run() -> None:
    """Entry point of the `crop` script."""
    app()
