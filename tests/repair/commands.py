"""The two commands as an application of their own."""

from __future__ import annotations

from typing import Any

import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.check import check
from crop_cli.cli.drill import drill
from crop_cli.cli.main import Commands
from crop_cli.cli.repair import repair
from crop_cli.cli.solve import solve

app = typer.Typer(cls=Commands)
for command in (solve, check, repair, drill):
    app.command()(command)


def crop(*arguments: str, **options: Any) -> Result:
    """Run a command in this process; standard output and error are apart."""
    return CliRunner().invoke(app, list(arguments), **options)
