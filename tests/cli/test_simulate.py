"""`crop simulate`: what it prints and writes, what it refuses, progress, and what an interrupt leaves."""

from __future__ import annotations

import csv
import io
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from typer.testing import CliRunner, Result

from crop_cli.cli.environment import Environment
from crop_cli.cli.main import Commands
from crop_cli.cli.render_simulation import JOB_COLUMNS
from crop_cli.cli.simulate import simulate
from crop_cli.cli.simulate_options import duration, solver_options
from crop_cli.cli.simulate_progress import SimulationProgress
from crop_cli.errors import UsageError
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.labels import LABELS
from crop_cli.simulate.records import Simulation
from tests.cli.test_bench_progress import Terminal
from tests.simulate.small import cluster_data, trace_data

app = typer.Typer(cls=Commands)
app.command()(simulate)
app.callback()(lambda: None)

OPTIONS = (
    "--solver greedy --set effort=full --order las --window 5 --round 10m --migrations 2 --migration-minutes 7 "
    "--reaction exclude --quarantine 2d --failures rates --repair-median 90m --repair-sigma 1 --switch-failures 0.01 "
    "--slow 0.5 --slow-factor 2 --slow-hours 3 --sharing max-min --until 1h --seed 4 --format json -q"
)

Simulate = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a trace and a cluster."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text(json.dumps(trace_data()))
    (tmp_path / "c.json").write_text(json.dumps(cluster_data()))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Simulate:
    """Run `crop simulate` there."""

    def started(*arguments: str, trace: str = "t.json", stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, ["simulate", trace, "--cluster", "c.json", *arguments], input=stdin)

    return started


def figures(text: str) -> dict[str, list[str]]:
    """Unit and values of each line of the plain table of figures."""
    table = text.split("\n\n")[1].splitlines()[1:]
    edge = table[0].index("unit")
    return {line[:edge].strip(): line[edge:].split() for line in table[1:]}


def settings(result: Result) -> dict[str, Any]:
    """The settings in the JSON on standard output."""
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)["settings"]
    return found


def test_what_is_printed(run: Simulate) -> None:
    """Facts, a column per policy, every figure with its unit, why a job was rejected; a line each on standard error."""
    done = run("--solver", "greedy", "--solver", "first-fit")
    assert done.exit_code == 0
    assert done.stdout.startswith("trace     dozen, 13 jobs\ncluster   four, 4 nodes, 16 GPUs\nqueue     by arrival, ")
    shown = figures(done.stdout)
    assert list(shown) == [label.title for label in LABELS]
    assert shown["finished"] == ["jobs", "12", "12"] and shown["rejected"] == ["jobs", "1", "1"]
    assert shown["makespan"][0] == "min" and shown["goodput"][0] == "GPUs" and shown["utilisation"][0] == "%"
    assert "its gang of 64 does not fit into the empty cluster" in done.stdout
    note, first, second = done.stderr.splitlines()
    assert note.startswith("crop: warning: 1 job of the instance, ")
    assert first.startswith("[1/2] greedy: ") and "12 jobs finished, 0 running, 0 waiting, 1 rejected" in first
    assert second.startswith("[2/2] first-fit: ")


def test_json_of_one_and_of_several(run: Simulate, folder: Path) -> None:
    """One simulation is an object, several are a list; the file of -o is what --format json prints, but for times."""
    one = run("--format", "json", "-o", "s.json", "-q")
    assert one.stderr == "" and one.stdout.encode() == (folder / "s.json").read_bytes()
    made = msgspec.json.decode(one.stdout, type=Simulation)
    assert (made.format, made.trace, made.cluster, len(made.jobs)) == ("crop-simulation/1", "dozen", "four", 13)
    assert not made.interrupted
    several = msgspec.json.decode(
        run("-o", "-", "--solver", "first-fit", "--solver", "greedy", "--solver", "first-fit").stdout,
        type=list[Simulation],
    )
    assert [simulation.settings.policy.solver for simulation in several] == ["first-fit", "greedy"]
    assert [job.end for job in several[1].jobs] == [job.end for job in made.jobs]


def test_csv_of_figures(run: Simulate) -> None:
    """A line per policy; every figure under its key, in seconds and shares of one."""
    lines = list(csv.DictReader(io.StringIO(run("--format", "csv", "--solver", "greedy", "--solver", "spread").stdout)))
    assert [line["policy"] for line in lines] == ["greedy", "spread"]
    assert {label.key for label in LABELS} < set(lines[0])
    assert float(lines[0]["makespan_s"]) > 600 and 0 < float(lines[0]["utilisation"]) <= 1


def test_csv_of_jobs(run: Simulate, folder: Path) -> None:
    """A row per policy and job; what did not happen is an empty cell."""
    assert run("--jobs-csv", "jobs.csv", "--solver", "greedy", "--solver", "spread").exit_code == 0
    with (folder / "jobs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == JOB_COLUMNS
    assert len(rows) == 26 and {row["policy"] for row in rows} == {"greedy", "spread"}
    assert float(rows[0]["end_s"]) - float(rows[0]["arrival_s"]) == float(rows[0]["completion_s"]) >= 600
    assert (rows[12]["name"], rows[12]["state"], rows[12]["end_s"]) == ("giant", "rejected", "")


def test_markdown_and_page(run: Simulate, folder: Path) -> None:
    """A Markdown table; the page is written besides."""
    done = run("--format", "markdown", "--html", "p.html")
    assert "| figure | unit | greedy |" in done.stdout
    assert (folder / "p.html").read_text().startswith("<!doctype html>")


def test_verbose_lists_what_did_not_end(run: Simulate) -> None:
    """Jobs that wait, run or were rejected, with the work they have done."""
    done = run("-v", "--until", "20m")
    assert "Jobs that did not end" in done.stdout and "giant" in done.stdout
    assert "Jobs that did not end" not in run("--until", "20m").stdout


@pytest.mark.parametrize("solver", ["auto", "search", "columns"])
def test_solvers_that_improve_a_placement(run: Simulate, solver: str) -> None:
    """They get the greedy's to start from in every round, and end with all jobs."""
    assert figures(run("--solver", solver, "--until", "1h").stdout)["finished"] == ["jobs", "12"]


def test_options_reach_the_settings(run: Simulate) -> None:
    """Every option is in the file, times in its units."""
    found = settings(run(*OPTIONS.split()))
    assert found == {
        "policy": {
            "solver": "greedy",
            "options": {"effort": "full"},
            "order": "las",
            "backfill": True,
            "window": 5,
            "round_s": 600.0,
            "migrations": 2,
            "migration_minutes": 7.0,
            "reaction": "exclude",
            "quarantine_hours": 48.0,
        },
        "weather": {
            "rates": True,
            "repair_median_h": 1.5,
            "repair_sigma": 1.0,
            "switch_failures_per_day": 0.01,
            "slow_per_day": 0.5,
            "slow_factor": 2.0,
            "slow_hours": 3.0,
        },
        "sharing": "max-min",
        "seed": 4,
        "until_s": 3600.0,
    }


def test_defaults_are_those_of_the_engine(run: Simulate) -> None:
    """Without options the settings are what `Settings()` says."""
    from crop_cli.simulate.settings import Settings

    assert msgspec.convert(settings(run("--format", "json")), Settings) == Settings()


def test_no_backfill_keeps_the_order(run: Simulate, folder: Path) -> None:
    """Jobs start in order of arrival, which they do not with backfill."""
    orders = []
    for arguments in (["--no-backfill"], []):
        run("--jobs-csv", "j.csv", *arguments)
        with (folder / "j.csv").open(newline="") as file:
            starts = [float(row["first_start_s"]) for row in csv.DictReader(file) if row["first_start_s"]]
        orders.append(starts == sorted(starts))
    assert orders == [True, False]


def test_the_same_weather_for_all(run: Simulate, folder: Path) -> None:
    """Nodes are down for the same time under every policy until a set end, and runs repeat."""
    (folder / "c.json").write_text(json.dumps(cluster_data(failures_per_day=20)))
    arguments = ["--failures", "rates", "--repair-median", "5m", "--repair-sigma", "0", "--until", "5h"]
    both = ["--solver", "greedy", "--solver", "first-fit", "--format", "json"]
    one, other = (json.loads(run(*arguments, *both).stdout) for _ in range(2))
    shares = [made["figures"]["node_down_share"] for made in one]
    assert shares[0] == pytest.approx(shares[1]) and shares[0] > 0
    assert [made["jobs"] for made in one] == [made["jobs"] for made in other]


def test_faults_are_replayed(run: Simulate, folder: Path) -> None:
    """Jobs of the failed node are interrupted, and it is said how nodes were matched."""
    (folder / "f.csv").write_text("node,start_s,end_s\nn0,300,900\nn1,300,900\nn2,300,900\nn3,300,900\n")
    done = run("--faults", "f.csv")
    assert "; replayed: 4 faults, nodes by name" in done.stdout
    assert int(figures(done.stdout)["interruptions"][0]) >= 2
    (folder / "g.csv").write_text("node,start_s,end_s\nx,300,900\n")
    assert "2 nodes of the trace" in run("--faults", "g.csv", "--fault-nodes", "2").stdout


def test_a_trace_on_standard_input(run: Simulate, folder: Path) -> None:
    """- reads it there."""
    assert run(trace="-", stdin=(folder / "t.json").read_text()).exit_code == 0


def test_a_trace_without_jobs(run: Simulate, folder: Path) -> None:
    """Nothing happens, and that is no error; the page says so too."""
    (folder / "t.json").write_text(json.dumps({**trace_data(), "jobs": []}))
    done = run("--html", "p.html")
    assert done.exit_code == 0 and figures(done.stdout)["completion time, mean"] == ["s", "-"]


def test_nothing_can_fail(run: Simulate, folder: Path) -> None:
    """Rates of a cluster that has none, and of switches that are not there, are worth a warning; -q says nothing."""
    assert "no node has failures_per_day" in run("--failures", "rates").stderr
    assert "--switch-failures" not in run("--switch-failures", "0.01", "--until", "1h").stderr
    flat = cluster_data(parent="")
    flat["cluster"]["levels"], flat["cluster"]["switches"] = ["node"], []
    for node in flat["cluster"]["nodes"]:
        del node["parent"]
    (folder / "c.json").write_text(json.dumps(flat))
    assert "no switch between its root and its nodes" in run("--switch-failures", "1", "--until", "1h").stderr
    assert run("--failures", "rates", "-q").stderr == ""


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
        ("--until 3w", "--until: '3w' is not a positive time"),
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


def test_a_solver_that_fails_later(run: Simulate, folder: Path) -> None:
    """What was simulated before is shown and written; the exit code is that of the failure."""
    done = run("--solver", "spread", "--solver", "greedy", "--set", "greedy.nothing=1", "-o", "s.json")
    assert done.exit_code == 2 and "nothing" in done.stderr
    assert figures(done.stdout)["finished"] == ["jobs", "12"]
    assert json.loads((folder / "s.json").read_bytes())["settings"]["policy"]["solver"] == "spread"


def test_times_and_settings() -> None:
    """Units of time, and whose option a setting is."""
    times = {text: duration(text, "--until") for text in ("45", "30s", "500ms", "10m", "1.5h", "2d", " 1e3 s ")}
    assert list(times.values()) == [45, 30, 0.5, 600, 5400, 172_800, 1000]
    assert duration("0", "--round", zero=True) == 0
    assert solver_options(["a"], ["x=1", "a.y=2", "b.z=3"]) == {"a": {"x": "1", "y": "2", "b.z": "3"}}
    assert solver_options(["a", "b"], ["b.x=1"]) == {"a": {}, "b": {"x": "1"}}
    with pytest.raises(UsageError, match="'x' is given twice"):
        solver_options(["a"], ["x=1", "a.x=2"])


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
    assert part.figures.makespan_s == 300 and part.figures.running + part.figures.waiting >= 6
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


def test_progress_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only -v speaks up before the end, a line now and then."""
    monkeypatch.setattr("crop_cli.cli.simulate_progress.SAY_S", 0.0)
    assert len(_watched(io.StringIO(), verbose=True).splitlines()) > 10
    assert len(_watched(io.StringIO(), verbose=False).splitlines()) == 1


def _watched(stream: io.StringIO, *, verbose: bool) -> str:
    """What is said on a stream while a simulation runs."""
    from crop_cli.model.instance import Instance
    from crop_cli.model.trace import Trace
    from crop_cli.simulate.run import simulate as simulated
    from crop_cli.simulate.settings import Settings

    progress = SimulationProgress(Environment(io.StringIO(), stream, colour=False), False, verbose)
    progress.begin("greedy")
    trace, cluster = msgspec.convert(trace_data(), Trace), msgspec.convert(cluster_data(), Instance)
    progress.done(simulated(trace, cluster, Settings(), watch=progress.watch))
    return stream.getvalue()
