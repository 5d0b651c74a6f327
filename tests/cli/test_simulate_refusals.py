"""`crop simulate`: options and files that it refuses, and how values are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crop_cli.cli.simulate_options import duration, solver_options
from crop_cli.errors import UsageError
from tests.cli.simulated import Simulate, prepare, started
from tests.simulate.small import trace_data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a trace and a cluster."""
    prepare(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Simulate:
    """Run `crop simulate` there."""
    return started


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--solver gredy", "did you mean 'greedy'?"),
        ("--set nothing=1", "nothing"),
        ("--solver greedy --solver spread --set effort=full", "--set effort=: expected SOLVER.KEY=VALUE"),
        ("--window 0", "--window: 0 is not a number of at least 1"),
        ("--migrations -1", "--migrations: -1 is not"),
        ("--round -5", "--round: '-5' is not a time of at least 0"),
        ("--until 0", "--until: '0' is not a positive time such as 45, 30s, 10m, 1h or 2d"),
        ("--slow-factor 1e7", "--slow-factor: 1e+07 is more than 1e6"),
        ("--until 3w", "--until: '3w' is not a positive time"),
        ("--until 1e305d", "--until: '1e305d' is not a positive time"),
        ("--repair-median nan", "--repair-median: 'nan' is not"),
        ("--repair-sigma nan", "--repair-sigma: nan is not"),
        ("--slow inf", "--slow: inf is not"),
        ("--slow-factor 0.5", "--slow-factor: 0.5 is not a number of at least 1"),
        ("--slow-hours 0", "--slow-hours: 0 is not a positive number"),
        ("--seed -1", "--seed: -1 is not"),
        ("--migrations 1 --no-backfill", "--migrations: without backfill"),
        ("--quarantine 1h", "--quarantine is of --reaction exclude"),
        ("--fault-nodes 3", "--fault-nodes is a number of nodes, at least 1, and needs --faults"),
        ("--faults - --cluster -", "only one file can be standard input"),
        ("-o - --format csv", "standard output is for one thing"),
        ("-o - --html -", "standard output is for one thing"),
        ("-o t.json", "-o t.json: TRACE names the same file"),
        ("-o x --html ./x", "--html ./x: -o names the same file"),
        ("--jobs-csv no/where", "no/where cannot be written"),
    ],
)
def test_what_is_refused(run: Simulate, arguments: str, said: str) -> None:
    """Usage errors end with 2 and say which option."""
    done = run(*arguments.split())
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_bad_input(run: Simulate, folder: Path) -> None:
    """Traces, clusters and fault traces that cannot be used end with 3, every defect named."""
    bad = trace_data()
    bad["jobs"][0]["duration_s"], bad["jobs"][1]["gpus"] = -1, 0
    (folder / "bad.json").write_text(json.dumps(bad))
    done = run(trace="bad.json")
    assert done.exit_code == 3
    assert "bad.json: $.jobs[0].duration_s" in done.stderr and "bad.json: $.jobs[1].gpus" in done.stderr
    (folder / "f.csv").write_text("node,start_s,end_s\nn0,5,4\nn1,x,4\n")
    done = run("--faults", "f.csv")
    assert done.exit_code == 3
    assert "f.csv: line 2, end_s" in done.stderr and "f.csv: line 3, start_s" in done.stderr
    assert run("--cluster", "missing.json").exit_code == 3


def test_a_trace_that_does_not_go_with_the_cluster(run: Simulate, folder: Path) -> None:
    """A level that the cluster lacks is named, with the trace and the cluster."""
    odd = trace_data()
    odd["jobs"][0]["within"] = "pod"
    (folder / "t.json").write_text(json.dumps(odd))
    done = run()
    assert done.exit_code == 3 and "dozen on four: " in done.stderr and "pod" in done.stderr


def test_times_and_settings() -> None:
    """Units of time, and whose option a setting is."""
    times = {text: duration(text, "--until") for text in ("45", "30s", "500ms", "10m", "1.5h", "2d", " 1e3 s ")}
    assert list(times.values()) == [45, 30, 0.5, 600, 5400, 172_800, 1000]
    assert duration("0", "--round", zero=True) == 0
    assert solver_options(["a"], ["x=1", "a.y=2", "b.z=3"]) == {"a": {"x": "1", "y": "2", "b.z": "3"}}
    assert solver_options(["a", "b"], ["b.x=1"]) == {"a": {}, "b": {"x": "1"}}
    with pytest.raises(UsageError, match="'x' is given twice"):
        solver_options(["a"], ["x=1", "a.x=2"])
