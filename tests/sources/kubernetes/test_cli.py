"""The command, as the process would run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.import_kubernetes import kubernetes
from crop_cli.cli.main import Commands
from crop_cli.model.io import load_instance, read_instance

DATA = Path(__file__).resolve().parents[1] / "data" / "kubernetes"
PLAIN, KUEUE = str(DATA / "nodes-pods.json"), str(DATA / "kueue.yaml")
Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run the command by itself; standard output and error are apart."""
    app = typer.Typer(cls=Commands)
    app.command()(kubernetes)
    app.callback()(lambda: None)

    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(app, ["kubernetes", *arguments], input=stdin)

    return invoke


def test_to_a_file(run: Run, tmp_path: Path) -> None:
    """The instance goes to the file and is valid, the report to standard error."""
    out = tmp_path / "cluster.json"
    result = run(PLAIN, KUEUE, "--name", "mine", "-o", str(out))
    assert result.exit_code == 0
    assert result.stdout == ""
    loaded = load_instance(out)
    assert (loaded.instance.name, loaded.instance.cluster.levels) == ("mine", ["block", "rack", "node"])
    for words in ("GPUs                        65", "left out: 1 node (control-1)", "assumed: ", "crop: warning: "):
        assert words in result.stderr


def test_from_standard_input(run: Run) -> None:
    """- is standard input; without -o standard output is the instance and nothing else; -q is silent."""
    result = run("-", "--level", "rack=topology.example.com/rack", "-q", stdin=Path(PLAIN).read_bytes())
    assert (result.exit_code, result.stderr) == (0, "")
    assert read_instance(result.stdout.encode(), "x").instance.cluster.levels == ["rack", "node"]


def test_movable_and_fabric(run: Run) -> None:
    """--movable and --fabric reach the instance."""
    made = json.loads(run(PLAIN, "--movable", "--fabric", "h100-ib", "-q").stdout)
    assert [job["movable"] for job in made["jobs"] if "placement" in job] == [True] * 3
    assert made["cluster"]["nodes"][0]["uplink_gbps"] == 3200


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no-such.json"], 3, "no such file"),
        (["-", "-"], 2, "once only"),
        ([PLAIN, "--level", "rack"], 2, "--level"),
        ([PLAIN, "--level", "rack=nothing"], 2, "no node with GPUs has this label"),
        ([PLAIN, "--fabric", "carrier-pigeon"], 2, "--fabric"),
        ([PLAIN, "--profile", "no-such.csv"], 3, "no such file"),
        ([PLAIN, "-o", "/no/such/folder/x.json"], 2, "cannot be written"),
        ([KUEUE], 3, "no node"),
        ([], 2, "Missing argument"),
    ],
)
def test_errors(run: Run, arguments: list[str], code: int, words: str) -> None:
    """Bad usage and bad files end with their exit codes and a message, and nothing is written."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
