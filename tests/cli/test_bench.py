"""`crop bench`: files, gates, exit codes, progress and interrupts."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import Result

from crop_cli.bench.journal import read_journal
from crop_cli.bench.process import Worker
from crop_cli.bench.summary import dump_summary, load_summary
from crop_cli.cli.bench_plan import seeds_of
from crop_cli.cli.bench_progress import BenchProgress
from crop_cli.cli.environment import Environment
from crop_cli.errors import UsageError
from tests.bench.build import document, failed, run, write
from tests.bench.plug_ins import install, pids
from tests.bench.test_process import gone
from tests.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the set "set" of one instance whose optimum is 8."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "set" / "i.json")
    return tmp_path


@pytest.fixture
def bench(crop: Run, folder: Path) -> Run:
    """Run `crop bench set` there."""

    def started(*arguments: str) -> Result:
        return crop("bench", "set", *arguments)

    return started


def test_what_is_printed(bench: Run, folder: Path) -> None:
    """Tables on standard output, a line per run on standard error, the records in runs.jsonl."""
    done = bench("--solver", "greedy", "--solver", "first-fit", "--jobs", "1")
    assert done.exit_code == 0
    assert "instances  1, of 1 the optimum is proven" in done.stdout
    assert "greedy" in done.stdout and "first-fit" in done.stdout
    first, second = done.stderr.splitlines()
    assert first.startswith("[1/2] set/i greedy: optimal (proved), F 8, gap ") and first.endswith(" s")
    assert second.startswith("[2/2] set/i first-fit: feasible (completed), F 8, ") and second.endswith(" s")
    assert [made.solver for made in read_journal(folder / "runs.jsonl")] == ["greedy", "first-fit"]


def test_json_is_one_document(bench: Run, folder: Path) -> None:
    """Standard output is the summary and nothing else, equal to the file of -o."""
    done = bench("--format", "json", "-o", "s.json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["format"] == "crop-bench/1"
    assert done.stdout.encode() == (folder / "s.json").read_bytes()


def test_the_summary_on_standard_output(bench: Run) -> None:
    """-o - puts the summary there, and no tables beside it."""
    assert json.loads(bench("-o", "-").stdout)["solvers"] == ["greedy"]


def test_csv_has_every_run(bench: Run) -> None:
    """A line per run, under the names of the figures."""
    done = bench("--format", "csv", "--seeds", "0..2", "--quiet")
    assert done.stderr == ""
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(line["instance"], line["seed"], line["ratio"], line["nodes"]) for line in lines] == [
        ("set/i", seed, "1.0", "2") for seed in "012"
    ]


def test_markdown_and_the_github_summary(bench: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markdown tables; --github-summary appends them to what other steps wrote, without the single runs."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "github.md"))
    (folder / "github.md").write_text("before\n")
    done = bench("--format", "markdown", "--github-summary", "--require", "greedy.ratio>=2")
    assert done.exit_code == 8
    assert "| solver | runs |" in done.stdout
    text = (folder / "github.md").read_text()
    assert text.startswith("before\n## crop bench\n\n") and "| greedy | 1 | 1 |" in text
    assert "ratio is 1, not" in text


def test_outside_github_there_is_no_summary_of_a_job(bench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--github-summary without GitHub's variable is refused before anything runs."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    done = bench("--github-summary")
    assert done.exit_code == 2 and "GITHUB_STEP_SUMMARY" in done.stderr


def test_a_page(bench: Run, folder: Path) -> None:
    """--html writes a page with the instance in it."""
    assert bench("--html", "page.html").exit_code == 0
    assert "set/i" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--require", "greedy.ratio>=1.5"], "greedy.ratio>=1.5: set/i, greedy: ratio is 1, not >= 1.5"),
        (
            ["--require", "greedy.mean_ratio<50%"],
            "greedy.mean_ratio<50%: greedy: mean_ratio is 1, not < 0.5 (worst on set/i)",
        ),
        (
            ["--require", "greedy.objective > best-baseline.objective", "--solver", "greedy", "--solver", "first-fit"],
            "greedy.objective > best-baseline.objective: set/i, greedy: objective is 8, not > 8",
        ),
        (["--require", "greedy.ratio>=best-baseline.ratio"], "the gate checks nothing"),
        (["--max-gap", "1%", "--solver", "first-fit"], "--max-gap 0.01: *: there is no run of crop's own solvers"),
    ],
)
def test_a_gate_that_fails(bench: Run, folder: Path, arguments: list[str], text: str) -> None:
    """Exit code 8, and the message names instance, figure and threshold; the summary is written all the same."""
    done = bench(*arguments, "-o", "s.json", "--junit", "j.xml")
    assert done.exit_code == 8
    (line,) = [line for line in done.stderr.splitlines() if "gate failed" in line]
    assert line.startswith("crop: gate failed: ") and text in line
    assert "Gates that failed" in done.stdout
    assert load_summary(folder / "s.json").rows
    assert ElementTree.parse(folder / "j.xml").getroot().get("failures") == "1"


def test_gates_that_hold(bench: Run, folder: Path) -> None:
    """Exit code 0, and JUnit XML lists what was asked; jobs inside a node have a guarantee."""
    data = document()
    data["jobs"] = [{**job, "within": "node"} for job in data["jobs"]]
    write(folder / "set" / "i.json", data)
    gates = [
        "greedy.ratio>=guarantee",
        "*.ratio >= 95%",
        "greedy.objective>=best-baseline.objective",
        "first-fit.failed<=0",
    ]
    arguments = [part for gate in gates for part in ("--require", gate)]
    solvers = ["--solver", "greedy", "--solver", "first-fit"]
    done = bench(*solvers, *arguments, "--max-gap", "0.001%", "--junit", "j.xml")
    assert done.exit_code == 0, done.stderr
    root = ElementTree.parse(folder / "j.xml").getroot()
    names = [case.get("name") for case in root.findall("testsuite[@name='gates']/testcase")]
    assert names == [*gates, "--max-gap 1e-05"]
    assert (root.get("tests"), root.get("failures")) == ("7", "0")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--require", "greedy.speed>=1"], "no figure 'speed'"),
        (["--require", "search.ratio>=1"], "does not run 'search'"),
        (["--require", "greedy.ratio"], "is not SOLVER.FIGURE"),
        (["--max-gap", "-1"], "is not a fraction"),
        (["--max-slowdown", "2"], "needs --baseline"),
        (["--solver", "gredy"], "did you mean 'greedy'"),
        (["--seeds", "3..1"], "is not a list of seeds"),
        (["--set", "search.x=1"], "expected SOLVER.KEY=VALUE of a solver of this bench (greedy)"),
        (["--set", "greedy=1"], "expected SOLVER.KEY=VALUE"),
        (["--time-limit", "0"], "--time-limit"),
        (["-o", "x", "--junit", "./x"], "-o names the same file"),
        (["-o", "runs.jsonl"], "--runs names the same file"),
        (["-o", "-", "--junit", "-"], "-o names the same file"),
        (["--runs", "-"], "records go to a file"),
        (["-o", "no/such/folder"], "cannot be written"),
        (["--cluster", "nowhere"], "expected an address such as tcp://host:8786"),
        (["nosuchset"], "'nosuchset' is no file"),
    ],
    ids=" ".join,
)
def test_what_is_refused(bench: Run, arguments: list[str], text: str) -> None:
    """Exit code 2 and a message that says what is wrong, before any run."""
    done = bench(*arguments)
    assert done.exit_code == 2
    assert text in done.stderr
    assert "[1/1]" not in done.stderr


@pytest.mark.parametrize("name", ["bad.json", "baseline.json"])
def test_bad_files(bench: Run, folder: Path, name: str) -> None:
    """An instance or an earlier summary that is none is bad input."""
    (folder / name).write_text("{}")
    done = bench(name) if name == "bad.json" else bench("--baseline", name)
    assert done.exit_code == 3 and name in done.stderr


def test_no_solver_for_an_instance_without_a_placement(crop: Run, folder: Path) -> None:
    """A set on which nothing can be placed is summarised, whoever proves it or finds nothing."""
    data = document()
    data["jobs"] = [{**job, "required": True} for job in data["jobs"]]
    write(folder / "none" / "i.json", data)
    solvers = ["--solver", "greedy", "--solver", "cp-sat", "--solver", "first-fit"]
    done = crop("bench", "none", *solvers, "--max-gap", "1%", "--html", "p.html", "--junit", "j.xml")
    assert done.exit_code == 0, done.stderr
    assert "of 1 the optimum is proven" in done.stdout


def test_a_baseline_of_before(bench: Run, folder: Path) -> None:
    """Against its own summary nothing is worse; against one that was better, the run that lost is named."""
    assert bench("-o", "s.json", "--quiet").exit_code == 0
    assert bench("--baseline", "s.json", "--quiet").exit_code == 0
    text = (folder / "s.json").read_text()
    (folder / "better.json").write_text(text.replace('"objective":8.0', '"objective":9.0'))
    done = bench("--baseline", "better.json", "--quiet", "--junit", "j.xml")
    assert done.exit_code == 8
    assert "crop: gate failed: --baseline: set/i, greedy: objective was 9, is 8" in done.stderr
    cases = ElementTree.parse(folder / "j.xml").findall("testsuite[@name='gates']/testcase")
    assert [(case.get("name"), case.find("failure") is not None) for case in cases] == [("--baseline", True)]
    done = bench("--baseline", "s.json", "--quiet", "--time-limit", "61")
    assert done.exit_code == 8 and "settings" in done.stderr
    write(folder / "set" / "i.json", document(jobs=4))
    done = bench("--baseline", "better.json", "--quiet")
    assert done.exit_code == 8 and "checks nothing" in done.stderr


def test_max_slowdown(bench: Run, folder: Path) -> None:
    """A solver that takes longer against the first one than before fails the gate."""
    solvers = ["--solver", "greedy", "--solver", "first-fit", "--quiet"]
    assert bench(*solvers, "-o", "s.json").exit_code == 0
    earlier = json.loads((folder / "s.json").read_text())
    for row in earlier["rows"]:
        row["seconds"] = 99.0 if row["solver"] == "greedy" else 0.0
    (folder / "s.json").write_text(json.dumps(earlier))
    done = bench(*solvers, "--baseline", "s.json", "--max-slowdown", "20")
    assert done.exit_code == 8
    assert "--max-slowdown 20: first-fit: takes " in done.stderr
    assert bench(*solvers, "--baseline", "s.json", "--max-slowdown", "1000").exit_code == 0


def test_best_known_is_updated_only_when_asked(bench: Run, folder: Path) -> None:
    """Without the option the table is read only; with it, better values enter and it says so."""
    (folder / "best-known.json").write_text("{}")
    assert bench("--quiet").exit_code == 0
    assert (folder / "best-known.json").read_text() == "{}"
    done = bench("--quiet", "--update-best-known")
    assert done.stderr.startswith("crop: best known: set/i.json: 8.0 of at most 8.0")
    entry = json.loads((folder / "best-known.json").read_text())["set/i.json"]
    assert (entry["value"], entry["by"], entry["optimal"]) == (8.0, "greedy", True)
    assert bench("--quiet", "--update-best-known").stderr == ""


def test_a_lie_in_the_journal_does_not_enter_the_table(bench: Run, folder: Path) -> None:
    """A record whose placement is not what it claims is not believed by --update-best-known --resume."""
    (folder / "best-known.json").write_text("{}")
    assert bench("--quiet").exit_code == 0
    text = (folder / "runs.jsonl").read_text()
    (folder / "runs.jsonl").write_text(text.replace('"j1":{"b":4}', '"j1":{"a":4}').replace('"b":4', '"a":4'))
    bench("--quiet", "--update-best-known", "--resume")
    assert (folder / "best-known.json").read_text() == "{}"


def test_resume(bench: Run, folder: Path) -> None:
    """Known runs count and are said to; a half-written last line runs again."""
    arguments = ["--solver", "greedy", "--solver", "first-fit", "--jobs", "1", "--format", "csv"]
    first = bench(*arguments)
    data = (folder / "runs.jsonl").read_bytes()
    (folder / "runs.jsonl").write_bytes(data[:-30])
    again = bench(*arguments, "--resume")
    assert again.exit_code == 0
    lines = again.stderr.splitlines()
    assert lines[0] == "crop: 1 of 2 runs are known from before" and lines[1].startswith("[2/2] set/i first-fit")
    drop = {"seconds", "peak_mib"}
    tables = [
        [{key: value for key, value in line.items() if key not in drop} for line in csv.DictReader(io.StringIO(text))]
        for text in (first.stdout, again.stdout)
    ]
    assert tables[0] == tables[1]
    assert len(read_journal(folder / "runs.jsonl")) == 2


def test_resume_refuses_garbage(bench: Run, folder: Path) -> None:
    """A journal with garbage in the middle is bad input, and stays as it is."""
    bench("--quiet")
    data = (folder / "runs.jsonl").read_bytes()
    (folder / "runs.jsonl").write_bytes(data + b"garbage\n" + data)
    done = bench("--resume")
    assert done.exit_code == 3 and "line 2" in done.stderr
    assert (folder / "runs.jsonl").read_bytes() == data + b"garbage\n" + data


def test_an_earlier_journal_is_kept(bench: Run, folder: Path) -> None:
    """Without --resume, records of an earlier bench get another name, and it is said."""
    bench("--quiet")
    before = (folder / "runs.jsonl").read_bytes()
    done = bench()
    assert "runs.jsonl of an earlier bench is now runs.jsonl.1" in done.stderr
    assert (folder / "runs.jsonl.1").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "seeds"), [("0", [0]), ("0..2", [0, 1, 2]), ("1,5,7", [1, 5, 7]), ("5, 1..2,1", [5, 1, 2])]
)
def test_seeds(text: str, seeds: list[int]) -> None:
    """Single ones, ranges and lists, each seed once."""
    assert seeds_of(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "-1", "1.5", "0..", "2..1", "0..10000", "1,,2"])
def test_what_is_no_list_of_seeds(text: str) -> None:
    """Anything else is refused, and so are more seeds than anybody means."""
    with pytest.raises(UsageError, match="--seeds"):
        seeds_of(text)


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
