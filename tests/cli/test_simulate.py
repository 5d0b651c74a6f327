"""`crop simulate`: what it prints and writes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import Result

from crop_cli.cli.render_simulation import JOB_COLUMNS
from crop_cli.simulate.labels import LABELS
from crop_cli.simulate.records import Simulation
from crop_cli.simulate.settings import Settings
from tests.cli.simulated import Simulate, figures, prepare, started
from tests.simulate.small import cluster_data, trace_data

OPTIONS = (
    "--solver greedy --set effort=full --order las --window 5 --round 10m --migrations 2 --migration-minutes 7 "
    "--reaction exclude --quarantine 2d --failures rates --repair-median 90m --repair-sigma 1 --switch-failures 0.01 "
    "--slow 0.5 --slow-factor 2 --slow-hours 3 --sharing max-min --until 1h --seed 4 --format json -q"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a trace and a cluster."""
    prepare(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Simulate:
    """Run `crop simulate` there."""
    return started


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
    assert first.startswith("[1/2] greedy: ")
    assert first.endswith("12 jobs finished, 0 running, 0 waiting, 0 coming, 1 rejected")
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


def test_a_solver_that_fails_later(run: Simulate, folder: Path) -> None:
    """What was simulated before is shown and written; the exit code is that of the failure."""
    done = run("--solver", "spread", "--solver", "greedy", "--set", "greedy.nothing=1", "-o", "s.json")
    assert done.exit_code == 2 and "nothing" in done.stderr
    assert figures(done.stdout)["finished"] == ["jobs", "12"]
    assert json.loads((folder / "s.json").read_bytes())["settings"]["policy"]["solver"] == "spread"
