"""`crop bench`: progress, and what an interrupt leaves."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from crop_cli.bench.process import Worker
from crop_cli.bench.summary import dump_summary, load_summary
from crop_cli.cli.bench_progress import BenchProgress
from crop_cli.cli.environment import Environment
from tests.bench.build import failed, run
from tests.bench.plug_ins import install, pids
from tests.bench.test_process import gone


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def progress(stream: io.StringIO, *, quiet: bool = False) -> BenchProgress:
    """Progress of two runs on a stream."""
    made = BenchProgress(Environment(io.StringIO(), stream, colour=False), quiet)
    made.begin(2, 0)
    return made


def test_progress_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that is redrawn, also where nobody tells what runs, as on a cluster; at the end it is gone."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    shown = progress(stream)
    shown.watch(list[Worker]())
    assert stream.getvalue().startswith("\r\x1b[K0/2 runs")
    shown.done(run())
    assert "\r\x1b[K1/2 runs" in stream.getvalue()
    shown.done(failed())
    assert "2/2 runs, 1 failed" in stream.getvalue()
    assert "\n" not in stream.getvalue()
    shown.clear()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_elsewhere() -> None:
    """A line per finished run, with what went wrong."""
    stream = io.StringIO()
    shown = progress(stream)
    shown.watch(list[Worker]())
    shown.done(run(gap=0.5, loads={"r": 2.0}))
    shown.done(failed(seed=3))
    shown.clear()
    assert stream.getvalue().splitlines() == [
        "[1/2] s/i greedy: feasible (completed), F 4, gap 50 %, 1 uplink overbooked, 1.00 s",
        "[2/2] s/i greedy seed 3: failed (error), -, 1.00 s: broken",
    ]


def test_progress_is_one_line_per_run_whatever_the_names() -> None:
    """Line ends and control characters of names and errors neither break the line nor act on a terminal."""
    stream = io.StringIO()
    progress(stream).done(failed(instance="s/a\nb\x1b[2J", error="one\r\ntwo"))
    assert stream.getvalue() == "[1/2] s/a b [2J greedy: failed (error), -, 1.00 s: one  two\n"


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["file", "terminal"])
def test_quiet_progress(stream: io.StringIO) -> None:
    """--quiet says nothing anywhere."""
    shown = progress(stream, quiet=True)
    shown.done(run())
    shown.watch([])
    shown.clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(folder: Path, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM: exit code 130, what has ended is summarised, nothing is left running, and --resume goes on."""
    site = install(folder / "site")
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "crop_cli", "bench", "set", "--solver", "first-fit", "--solver", "x-hangs"]
    child = subprocess.Popen(
        [*command, "--jobs", "2", "--format", "json", "-o", "s.json", "--require", "first-fit.ratio>=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    while len(pids(site)) < 2 or b"\n" not in (folder / "runs.jsonl").read_bytes():
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(number)
    printed, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "crop: interrupted: finished runs are in runs.jsonl (1); --resume goes on" in errors
    assert "gate failed" not in errors
    summary: dict[str, Any] = json.loads(printed)
    assert summary["complete"] is False
    assert [row["solver"] for row in summary["rows"]] == ["first-fit"]
    assert gone(pids(site))
    assert dump_summary(load_summary(folder / "s.json")).decode() == printed


def test_a_killed_bench_leaves_nothing_running(folder: Path) -> None:
    """SIGKILL of the bench: its workers notice and end, and their children with them."""
    site = install(folder / "site")
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    child = subprocess.Popen(
        [sys.executable, "-m", "crop_cli", "bench", "set", "--solver", "x-hangs", "--quiet"], env=environment
    )
    while len(pids(site)) < 2:
        assert child.poll() is None
        time.sleep(0.05)
    child.kill()
    child.wait()
    assert gone(pids(site))
