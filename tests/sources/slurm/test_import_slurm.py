"""`crop import slurm`: files in, an instance out, a report on standard error, exit codes."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.import_slurm import slurm
from crop_cli.cli.main import Commands
from crop_cli.model.io import load_instance
from crop_cli.sources.fabric import DEFAULT
from crop_cli.sources.slurm.draft import ARRAY_TASKS, Options
from tests.sources.slurm.files import DATA

MIXED = DATA / "mixed-24.11"
SAMPLES = Path(__file__).parents[3] / "instances" / "samples" / "slurm"


def run(*arguments: str | Path, given: str | None = None) -> Result:
    """Run the command as a part of `crop`."""
    app = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command()(slurm)
    return CliRunner().invoke(app, ["slurm", *map(str, arguments)], input=given)


def test_file_and_report(tmp_path: Path) -> None:
    """The instance is valid and names what was assumed and left out; the report has the source's totals."""
    output = tmp_path / "i.json"
    files = ("--topology", MIXED / "topology.conf", "--jobs", MIXED / "squeue.json")
    result = run("--nodes", MIXED / "sinfo.json", *files, "--name", "ours", "-o", output)
    assert result.exit_code == 0, result.output
    instance = load_instance(output).instance
    assert (instance.name, len(instance.cluster.nodes)) == ("ours", 8)
    assert "source    8 nodes, 48 GPUs, 16 jobs pending, 10 jobs running, 1 jobs suspended" in result.stderr
    assert "left out" in result.stderr
    assert any(text.startswith("Left out: ") for text in instance.assumptions)
    assert result.stdout == ""


def test_standard_streams() -> None:
    """`-` is standard input, and without -o the instance goes to standard output, alone."""
    text = (MIXED / "scontrol_show_node_details.txt").read_text()
    result = run("--nodes", "-", "-q", given=text)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["format"] == "crop-instance/1"
    assert result.stderr == ""


def test_options(tmp_path: Path) -> None:
    """Partition, movable, held jobs and array tasks do what they say."""
    output = tmp_path / "i.json"
    files = ("--nodes", MIXED / "scontrol_show_nodes.json", "--jobs", MIXED / "scontrol_show_job_details.txt")
    more = ("--partition", "h100", "--movable", "--include-held", "--array-tasks", "1", "--fabric", "h100-ib")
    result = run(*files, *more, "-q", "-o", output)
    assert result.exit_code == 0, result.output
    instance = load_instance(output).instance
    assert {node.name for node in instance.cluster.nodes} == {"gpu01", "gpu02", "gpu03", "gpu04"}
    assert all(job.movable for job in instance.jobs if job.placement)
    assert {node.uplink_gbps for node in instance.cluster.nodes} == {3200}


def test_profile(tmp_path: Path) -> None:
    """A table of measured models of one's own takes the place of crop's."""
    table = tmp_path / "models.csv"
    head = "model,gpu_type,batch,compute_s,message_mb,pattern,overlap,source\n"
    table.write_text(f"{head}llama,h100,,0.5,100,alltoall,0.2,ours\n")
    files = ("--nodes", MIXED / "scontrol_show_nodes.json", "--jobs", MIXED / "squeue.json")
    result = run(*files, "--profile", table, "-q")
    assert result.exit_code == 0, result.output
    jobs = {job["name"]: job for job in json.loads(result.stdout)["jobs"]}
    assert jobs["1-llama"]["compute_s"] == {"h100": 0.5}
    assert jobs["1-llama"]["pattern"] == "alltoall"


def test_defaults_are_those_of_the_modules() -> None:
    """The command's own defaults, which it states without loading anything, are those of the importer."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(slurm).parameters.items()}
    assert defaults["fabric"] == DEFAULT
    assert defaults["array_tasks"] == ARRAY_TASKS
    assert defaults["name"] == Options().name


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--nodes", "absent.txt"), 3, "no such file"),
        (("--nodes", MIXED / "squeue.json"), 3, "scontrol show node"),
        (("--nodes", MIXED / "sinfo.json", "--jobs", MIXED / "sinfo.json"), 3, "squeue --json"),
        (("--nodes", MIXED / "sinfo.json", "--partition", "none"), 2, "expected a100, h100 or main"),
        (("--nodes", MIXED / "sinfo.json", "--fabric", "none"), 2, "no fabric"),
        (("--nodes", "-", "--jobs", "-"), 2, "one of the files only"),
        (("--nodes", MIXED / "sinfo.json", "-o", "absent/i.json"), 2, "cannot be written"),
        ((), 2, "--nodes"),
    ],
    ids=["absent", "jobs", "nodes-as-jobs", "partition", "fabric", "stdin-twice", "output", "nothing"],
)
def test_exit_codes(arguments: tuple[str | Path, ...], code: int, message: str) -> None:
    """A bad file is exit code 3, a bad option 2, and the message says what was expected."""
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


def test_samples_for_users() -> None:
    """The samples that come with crop import as their page says."""
    files = ("--topology", SAMPLES / "topology.conf", "--jobs", SAMPLES / "jobs.txt")
    result = run("--nodes", SAMPLES / "nodes.txt", *files, "--movable")
    assert result.exit_code == 0, result.output
    assert "source    8 nodes, 56 GPUs, 4 jobs pending, 10 jobs running" in result.stderr
    assert "instance  8 nodes, 56 GPUs, 8 jobs running, 2 waiting" in result.stderr


@pytest.mark.parametrize("fabric", ["a100-ib", "h100-ib", "v100-eth", "pcie-eth"])
def test_any_fabric(fabric: str) -> None:
    """Whatever fabric is assumed, jobs that run make a valid instance."""
    files = ("--nodes", MIXED / "scontrol_show_nodes.json", "--jobs", MIXED / "squeue.json")
    result = run(*files, "--topology", MIXED / "topology.conf", "--fabric", fabric)
    assert result.exit_code == 0, result.output
