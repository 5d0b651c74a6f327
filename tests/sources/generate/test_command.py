"""`crop generate`: files, streams, exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.generate import generate
from crop_cli.cli.main import Commands
from crop_cli.model.io import load_instance, read_instance
from crop_cli.sources.generate.registry import FAMILIES

PAGE = (Path(__file__).parents[3] / "docs" / "generate.md").read_text(encoding="utf-8")

app = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
app.command()(generate)


@app.callback()
def _group() -> None:
    """Commands of their own name, as in `crop`."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["generate", *arguments])


def test_the_instance_goes_to_a_file_and_the_report_to_standard_error(tmp_path: Path) -> None:
    """Standard output stays empty; counts and assumptions are reported."""
    path = tmp_path / "made.json"
    result = run("rail", "--nodes", "12", "--load", "0.9", "--seed", "4", "--name", "mine", "-o", str(path))
    made = load_instance(path).instance
    assert result.exit_code == 0 and not result.stdout
    assert made.name == "mine" and len(made.cluster.nodes) == 12
    assert "mine: 12 nodes, 96 GPUs" in result.stderr and "assumed: " in result.stderr


def test_standard_output_is_the_default_and_quiet_is_quiet() -> None:
    """The document alone is on standard output."""
    result = run("tight", "--nodes", "3", "-q")
    assert not result.stderr and read_instance(result.stdout_bytes, "-").instance.name == "tight-3-0"


def test_all_families_are_listed() -> None:
    """--list names every family and needs none."""
    result = run("--list")
    assert result.exit_code == 0 and all(name in result.stdout for name in FAMILIES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--list"),
        (("lingjn-like",), "did you mean 'lingjun-like'"),
        (("rail", "--nodes", "0"), "--nodes: 0"),
        (("rail", "--load", "nan"), "--load: nan"),
        (("rail", "--fabric", "tin-cans"), "tin-cans"),
        (("rail", "-o", "/no/such/folder/x.json"), "/no/such/folder/x.json"),
        (("tight", "--nodes", "1"), "--nodes: 1"),
    ],
    ids=str,
)
def test_usage_errors(arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2, a line that names the trouble, and no document."""
    result = run(*arguments)
    assert result.exit_code == 2 and said in result.stderr and not result.stdout


def test_models_of_a_file_are_drawn(tmp_path: Path) -> None:
    """Jobs have the models of the table that is given, and the source says so."""
    table = tmp_path / "mine.csv"
    table.write_text(
        "model,gpu_type,batch,compute_s,message_mb,pattern,overlap,source\nmini,a100,,0.5,10,allreduce,0,me\n"
    )
    made = read_instance(run("rail", "--nodes", "4", "--models", str(table), "-q").stdout_bytes, "-").instance
    assert all(job.name.endswith("-mini") and job.compute_s == 0.5 for job in made.jobs)
    assert f"--models {table}" in made.source


def test_a_bad_table_of_models_is_bad_input(tmp_path: Path) -> None:
    """Exit code 3 and the place in the file."""
    table = tmp_path / "bad.csv"
    table.write_text("model,seconds\n")
    result = run("rail", "--models", str(table))
    assert result.exit_code == 3 and "bad.csv: line 1" in result.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_has_an_example_of_every_family(family: str) -> None:
    """Each family's row in docs/generate.md has a command that works."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{family}` |"))
    command = re.findall(r"`crop generate ([^`]*)`", row)[-1]
    assert command.split()[0] == family
    result = run(*command.split(), "-q")
    assert result.exit_code == 0 and read_instance(result.stdout_bytes, "-").warnings == []


def test_the_command_loads_nothing_heavy() -> None:
    """Importing it for --help or completion must not load numpy."""
    code = "import sys, crop_cli.cli.generate; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
