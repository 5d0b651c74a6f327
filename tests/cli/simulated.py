"""Running `crop simulate` in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.main import Commands
from crop_cli.cli.simulate import simulate
from tests.simulate.small import cluster_data, trace_data

app = typer.Typer(cls=Commands)
app.command()(simulate)
app.callback()(lambda: None)

Simulate = Callable[..., Result]


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a trace and a cluster."""
    monkeypatch.chdir(folder)
    (folder / "t.json").write_text(json.dumps(trace_data()))
    (folder / "c.json").write_text(json.dumps(cluster_data()))


def started(*arguments: str, trace: str = "t.json", stdin: str | None = None) -> Result:
    """Run `crop simulate` there."""
    return CliRunner().invoke(app, ["simulate", trace, "--cluster", "c.json", *arguments], input=stdin)


def figures(text: str) -> dict[str, list[str]]:
    """Unit and values of each line of the plain table of figures."""
    table = text.split("\n\n")[1].splitlines()[1:]
    edge = table[0].index("unit")
    return {line[:edge].strip(): line[edge:].split() for line in table[1:]}
