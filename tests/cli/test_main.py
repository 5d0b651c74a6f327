"""The command as a whole: help, version, errors, start-up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HEAVY = ("numpy", "scipy", "ortools", "highspy", "pulp", "networkx", "msgspec", "pandas")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["solve", "--help"], ["check", "--help"], ["solvers"]]
)
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    """Help, version and the list of solvers import neither numpy nor any solver library."""
    code = (
        "import sys\n"
        "from crop_cli.cli.main import app\n"
        "try:\n"
        f"    app({arguments!r})\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_help_names_every_command(crop: Run) -> None:
    """The first page lists all commands."""
    shown = crop("--help").stdout
    for command in ("solve", "check", "solvers", "schema"):
        assert f"  {command} " in shown


def test_help_names_every_exit_code(crop: Run) -> None:
    """The help of solve states its exit codes and the default time limit."""
    shown = crop("solve", "--help").stdout
    for text in ("proven infeasible", "130 interrupted", "[default: 60s]"):
        assert text in " ".join(shown.split())


def test_version(crop: Run) -> None:
    """The version is one line of standard output."""
    from crop_cli import __version__

    assert crop("--version").stdout == f"crop {__version__}\n"


def test_an_unknown_command_is_a_usage_error(crop: Run) -> None:
    """An unknown command ends with 2 and writes nothing to standard output."""
    done = crop("slove")
    assert (done.exit_code, done.stdout) == (2, "")


def test_no_command_shows_help(crop: Run) -> None:
    """Without a command the help is shown."""
    done = crop()
    assert "Commands" in done.stdout + done.stderr


def test_completion_knows_the_solvers() -> None:
    """The shell's completion of --solver offers the engines that begin so, and loads no solver for it."""
    code = (
        "import sys; from crop_cli.cli.main import app\n"
        "try:\n"
        "    app([], prog_name='crop')\n"
        "finally:\n"
        f"    print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    )
    words = {"_CROP_COMPLETE": "complete_bash", "COMP_WORDS": "crop solve --solver co", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **words}
    )
    assert (done.stdout.split(), done.stderr.strip()) == (["config-lp", "columns", "contiguous"], "[]")


def test_errors_are_one_line_each_without_a_traceback(crop: Run, tmp_path: Path) -> None:
    """Every problem of a file is a line of standard error that begins with the program and the file."""
    bad = tmp_path / "bad.json"
    bad.write_text(
        '{"format": "crop-instance/1", "cluster": {"levels": ["node"], "nodes": [{"name": 3}]}, "jobs": [1]}'
    )
    done = crop("solve", str(bad))
    assert done.exit_code == 3
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) >= 3
    assert all(line.startswith(f"crop: {bad}: ") for line in lines)
    assert "Traceback" not in done.stderr


def test_an_internal_error_is_exit_code_one(crop: Run, racks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is an internal error, not one of the user's."""
    from crop_cli import api

    def breaks(*_args: object, **_keywords: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(api, "solve", breaks)
    assert crop("solve", racks).exit_code == 1
