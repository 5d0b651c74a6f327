"""The commands: files, options, reports and exit codes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.import_trace import TopologyName, TraceName, topology, trace
from crop_cli.cli.main import Commands
from crop_cli.model.io import load_instance
from crop_cli.model.trace_io import load_trace
from crop_cli.sources.topologies.registry import READERS as TOPOLOGIES
from crop_cli.sources.traces.registry import READERS as TRACES
from tests.sources.public import EXCERPTS

Run = Callable[..., Result]

app = typer.Typer(cls=Commands)
app.command()(trace)
app.command()(topology)


@pytest.fixture
def crop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in an empty folder; files of the excerpts are named by their name alone."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes | None = None) -> Result:
        found = [str(EXCERPTS / word) if (EXCERPTS / word).is_file() else word for word in arguments]
        return CliRunner().invoke(app, found, input=stdin)

    return run


def test_the_names_are_those_of_the_readers() -> None:
    """Every reader has a command line."""
    assert {name.value for name in TraceName} == TRACES.keys()
    assert {name.value for name in TopologyName} == TOPOLOGIES.keys()


def test_a_trace_is_written_and_reported(crop: Run) -> None:
    """Standard output stays empty, the report goes to standard error."""
    result = crop("trace", "philly", "philly.csv", "-o", "t.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "jobs in the trace: 20" in result.stderr
    assert "assumed: " in result.stderr
    assert len(load_trace("t.json").jobs) == 20


def test_standard_output_gets_the_document_alone(crop: Run) -> None:
    """It is the default; -q leaves the report out."""
    result = crop("trace", "tiresias", "tiresias.csv", "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["format"] == "crop-trace/1"


def test_equal_runs_write_equal_files(crop: Run) -> None:
    """Byte for byte; another seed draws other models."""
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert crop("trace", "philly", "philly.csv", "--seed", seed, "-o", name, "-q").exit_code == 0
    assert Path("a").read_bytes() == Path("b").read_bytes()
    assert [job.message_mb for job in load_trace("a").jobs] != [job.message_mb for job in load_trace("c").jobs]


def test_a_moment_on_a_topology(crop: Run) -> None:
    """A topology serves as a cluster; dates are those of the trace."""
    result = crop(
        "trace", "philly", "philly.csv", "--at", "2017-10-09T06:15", "--cluster", "lingjun.csv", "-o", "i.json"
    )
    assert result.exit_code == 0, result.stderr
    instance = load_instance("i.json").instance
    assert len(instance.cluster.nodes) == 24
    assert instance.jobs
    assert all(job.placement for job in instance.jobs)


def test_a_window_on_an_instance(crop: Run) -> None:
    """The instance that `topology` writes, packed; several files of one trace."""
    assert crop("topology", "zhejiang", "zhejiang.csv", "-o", "c.json", "-q").exit_code == 0
    Path("c.json.gz").write_bytes(gzip.compress(Path("c.json").read_bytes()))
    Path("x.trace").write_bytes((EXCERPTS / "gavel.trace").read_bytes())
    result = crop(
        "trace", "gavel", "gavel.trace", "x.trace", "--window", "0..1e9", "--cluster", "c.json.gz", "--limit", "9",
        "-o", "i.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    names = [job.name for job in load_instance("i.json").instance.jobs]
    assert len(names) == 9
    assert {"gavel-g0", "x-g0"} <= set(names)


def test_a_fabric_fills_what_an_instance_lacks(crop: Run) -> None:
    """Without one, absent bandwidths are unlimited."""
    node = {"name": "n", "gpus": 8, "gpu_type": "A100"}
    document = {"format": "crop-instance/1", "cluster": {"levels": ["node"], "nodes": [node]}, "jobs": []}
    Path("c.json").write_text(json.dumps(document))
    common = ("trace", "tiresias", "tiresias.csv", "--window", "0..99", "--cluster", "c.json", "-q")
    assert crop(*common, "-o", "a.json").exit_code == 0
    assert crop(*common, "--fabric", "pcie-eth", "-o", "b.json").exit_code == 0
    assert load_instance("a.json").instance.cluster.nodes[0].uplink_gbps is None
    assert load_instance("b.json").instance.cluster.nodes[0].uplink_gbps == 25


def test_a_table_of_models_may_be_ones_own(crop: Run) -> None:
    """Models of a trace are looked up in it."""
    Path("m.csv").write_text(
        "model,gpu_type,batch,compute_s,message_mb,pattern,overlap,source\nvgg19,a100,,7,1,alltoall,0,me\n"
    )
    assert crop("trace", "tiresias", "tiresias.csv", "--profile", "m.csv", "-o", "t.json", "-q").exit_code == 0
    job = load_trace("t.json").jobs[0]
    assert (job.compute_s, job.pattern) == (7, "alltoall")


def test_nodes_of_a_topology_may_be_given(crop: Run) -> None:
    """GPUs, type and fabric."""
    options = ("--gpus-per-node", "4", "--gpu-type", "V100", "--fabric", "v100-eth")
    result = crop("topology", "lingjun", "-", *options, "-o", "c.json", stdin=(EXCERPTS / "lingjun.csv").read_bytes())
    assert result.exit_code == 0, result.stderr
    node = load_instance("c.json").instance.cluster.nodes[0]
    assert (node.gpus, node.gpu_type, node.uplink_gbps) == (4, "V100", 100)
    assert "racks: " in result.stderr


TRACE = ("trace", "philly", "philly.csv")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((*TRACE, "--at", "5"), 2, "need --cluster"),
        ((*TRACE, "--window", "0..5"), 2, "need --cluster"),
        ((*TRACE, "--fabric", "a100-ib"), 2, "need --cluster"),
        ((*TRACE, "--at", "5", "--window", "0..5", "--cluster", "lingjun.csv"), 2, "give one"),
        ((*TRACE, "--at", "noon", "--cluster", "lingjun.csv"), 2, "'noon' is no time"),
        ((*TRACE, "--window", "5", "--cluster", "lingjun.csv"), 2, "is not FROM..TO"),
        ((*TRACE, "--limit", "0"), 2, "--limit: 0"),
        ((*TRACE, "philly.csv"), 2, "given twice"),
        ((*TRACE, "-", "--cluster", "-"), 2, "only one file"),
        ((*TRACE, "-o", "no/such/folder"), 2, "cannot be written"),
        (("trace", "venus", "philly.csv"), 2, "venus"),
        (("trace", "philly", "none.csv"), 3, "no such file"),
        (("trace", "philly", "tiresias.csv"), 3, "columns timestamp"),
        ((*TRACE, "--cluster", "philly.csv"), 3, "an instance (JSON) or a topology"),
        ((*TRACE, "--profile", "philly.csv"), 3, "line 1"),
        ((*TRACE, "--cluster", "lingjun.csv", "--fabric", "gold"), 2, "there is no fabric 'gold'"),
        (("trace", "gavel", "gavel.trace", "--at", "2017-10-09", "--cluster", "lingjun.csv"), 2, "has no dates"),
        (("trace", "openb", "openb_untimed.csv"), 2, "states no run times"),
        (("trace", "openb", "openb_untimed.csv", "--at", "5", "--cluster", "lingjun.csv"), 2, "states no run times"),
        (("topology", "lingjun", "zhejiang.csv"), 3, "columns ip"),
        (("topology", "lingjun", "lingjun.csv", "--gpus-per-node", "0"), 2, "--gpus-per-node: 0"),
        (("topology", "lingjun", "lingjun.csv", "--fabric", "gold"), 2, "there is no fabric 'gold'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_said(crop: Run, arguments: tuple[str, ...], code: int, words: str) -> None:
    """With the exit code of its kind; nothing is written."""
    result = crop(*arguments)
    assert result.exit_code == code, result.stderr
    assert words in result.stderr
    assert result.stdout == ""


def test_a_time_outside_the_trace_is_pointed_at(crop: Run) -> None:
    """A date of another year makes an instance without jobs, which a warning explains."""
    result = crop("trace", "philly", "philly.csv", "--cluster", "lingjun.csv", "--at", "2016-01-01", "-o", "i.json")
    assert result.exit_code == 0
    assert "crop: warning: no job runs or waits: the trace's jobs arrive from 0 to " in result.stderr


def test_jobs_that_run_beyond_all_measure_are_left_out(crop: Run) -> None:
    """What is written can be read again."""
    line = "A3C\tc\t-n\t1\t{}\t0\t1\n"
    Path("g.trace").write_text(line.format(1e-12) + line.format(1e12) + line.format(5), encoding="utf-8")
    result = crop("trace", "gavel", "g.trace", "-o", "t.json")
    assert "left out: 1 job (g0): its run time is not a number from 1e-9 to 1e12, in seconds" in result.stderr
    assert [job.name for job in load_trace("t.json").jobs] == ["g1", "g2"]


@pytest.mark.parametrize(
    ("name", "file", "options", "words"),
    [
        ("lingjun", "lingjun.csv", ("--gpu-type", ""), "is no name of printable characters"),
        ("lingjun", "lingjun.csv", ("--gpu-type", "a\nb"), "is no name of printable characters"),
        ("openb-nodes", "openb_nodes.csv", ("--gpus-per-node", "4"), "openb-nodes states both"),
        ("openb-nodes", "openb_nodes.csv", ("--gpu-type", "T4"), "openb-nodes states both"),
    ],
    ids=["empty-type", "broken-type", "gpus-known", "type-known"],
)
def test_nodes_that_cannot_be_given_are_refused(
    crop: Run, name: str, file: str, options: tuple[str, ...], words: str
) -> None:
    """One line instead of one per node, and no option without effect."""
    result = crop("topology", name, file, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
