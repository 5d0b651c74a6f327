"""Fixtures of the command-line tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crop_cli.cli.main import app
from tests.bench.build import write
from tests.cli import instances

Run = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def crop() -> Run:
    """Run a command in this process; standard output and error are apart."""

    def run(*arguments: str, stdin: bytes | str | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return run


@pytest.fixture
def crop_process() -> Process:
    """Run a command in a process of its own."""

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "crop_cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **environment},
        )

    return run


@pytest.fixture
def racks(tmp_path: Path) -> str:
    """A file with eight nodes and eleven jobs."""
    return instances.write(tmp_path / "racks.json", instances.two_racks())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the set "set" of one instance whose optimum is 8."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "set" / "i.json")
    return tmp_path


@pytest.fixture
def bench(crop: Run, folder: Path) -> Run:
    """Run `crop bench set` there."""

    def started(*arguments: str) -> Result:
        return crop("bench", "set", *arguments)

    return started
