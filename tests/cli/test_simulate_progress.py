"""`crop simulate`: progress, and what an interrupt leaves."""

from __future__ import annotations

import io
import signal
from pathlib import Path

import msgspec
import pytest

from crop_cli.cli.environment import Environment
from crop_cli.cli.simulate_progress import SimulationProgress
from crop_cli.model.instance import Instance
from crop_cli.model.trace import Trace
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.records import Simulation
from crop_cli.simulate.run import simulate as simulated
from crop_cli.simulate.settings import Settings
from tests.cli.simulated import Simulate, prepare, started
from tests.cli.test_bench_progress import Terminal
from tests.simulate.small import cluster_data, trace_data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a trace and a cluster."""
    prepare(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Simulate:
    """Run `crop simulate` there."""
    return started


def test_an_interrupt_ends_with_what_there_is(run: Simulate, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first Ctrl-C ends the simulation at hand with the figures so far and leaves the others out."""
    watch = SimulationProgress.watch

    def interrupt(progress: SimulationProgress, engine: Engine) -> None:
        watch(progress, engine)
        if progress.policy == "spread" and progress.events == 6:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(SimulationProgress, "watch", interrupt)
    solvers = ["--solver", "greedy", "--solver", "spread", "--solver", "first-fit"]
    done = run(*solvers, "-o", "s.json", "--html", "p.html")
    assert done.exit_code == 130
    whole, part = msgspec.json.decode((folder / "s.json").read_bytes(), type=list[Simulation])
    assert (whole.interrupted, part.interrupted) == (False, True)
    assert whole.figures.finished == 12 and part.figures.finished == 0
    assert part.figures.makespan_s == 300 and part.figures.coming == 6
    assert part.figures.running + part.figures.waiting == 12
    assert "interrupted  spread: figures are those of the first 5 min" in done.stdout
    assert "Interrupted." in (folder / "p.html").read_text()


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line is redrawn: simulated time, jobs, speed; it is taken away at the end."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("crop_cli.cli.simulate_progress.REDRAW_S", 0.0)
    text = _watched(Terminal(), verbose=False)
    lines = text.split("\r\x1b[K")
    assert lines[1].startswith("greedy: 0 s, 0 of 13 jobs ended, 1 run, 0 wait, ") and "times real" in lines[1]
    assert "greedy: 2 min, 0 of 13 jobs ended, " in text
    assert lines[-1].startswith("greedy: ") and lines[-1].endswith("1 rejected\n")


def test_one_is_not_many() -> None:
    """Numbers and their nouns go together."""
    stream = io.StringIO()
    progress = SimulationProgress(Environment(io.StringIO(), stream, colour=False), False, False)
    progress.begin("greedy")
    data = trace_data(count=1)
    trace, cluster = (
        msgspec.convert({**data, "jobs": data["jobs"][:1]}, Trace),
        msgspec.convert(cluster_data(), Instance),
    )
    progress.done(simulated(trace, cluster, Settings(), watch=progress.watch))
    assert "(2 events, 1 decision): 1 job finished, 0 running" in stream.getvalue()


def test_progress_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only -v speaks up before the end, a line now and then."""
    monkeypatch.setattr("crop_cli.cli.simulate_progress.SAY_S", 0.0)
    assert len(_watched(io.StringIO(), verbose=True).splitlines()) > 10
    assert len(_watched(io.StringIO(), verbose=False).splitlines()) == 1


def _watched(stream: io.StringIO, *, verbose: bool) -> str:
    """What is said on a stream while a simulation runs."""
    progress = SimulationProgress(Environment(io.StringIO(), stream, colour=False), False, verbose)
    progress.begin("greedy")
    trace, cluster = msgspec.convert(trace_data(), Trace), msgspec.convert(cluster_data(), Instance)
    progress.done(simulated(trace, cluster, Settings(), watch=progress.watch))
    return stream.getvalue()
