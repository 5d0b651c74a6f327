"""`crop bench`: gates and their exit codes, and what is refused before any run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from crop_cli.bench.summary import load_summary
from crop_cli.cli.bench_plan import seeds_of
from crop_cli.errors import UsageError
from tests.bench.build import document, write
from tests.cli.conftest import Run


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
        (["--max-gap", "-1"], "--max-gap: '-1' is not a fraction"),
        (["--max-slowdown", "2"], "needs --baseline"),
        (["--solver", "gredy"], "did you mean 'greedy'"),
        (["--seeds", "3..1"], "is not a list of seeds"),
        (["--set", "search.x=1"], "expected SOLVER.KEY=VALUE of a solver of this bench (greedy)"),
        (["--set", "greedy=1"], "expected SOLVER.KEY=VALUE"),
        (["--solver", "kai", "--set", "kai.nonsense=1"], "--set kai: this baseline has no option 'nonsense'"),
        (["--solver", "kai", "--set", "kai.order=size"], "--set kai: order=size: expected queue or priority"),
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


@pytest.mark.parametrize("more", [[], ["--resume"]], ids=["anew", "resumed"])
def test_records_go_to_a_regular_file_only(bench: Run, folder: Path, more: list[str]) -> None:
    """A pipe, like a device, is refused before any run and stays what and where it is."""
    os.mkfifo(folder / "pipe")
    done = bench("--runs", "pipe", *more)
    assert done.exit_code == 2 and "pipe is no regular file" in done.stderr
    assert (folder / "pipe").is_fifo() and not (folder / "pipe.1").exists()


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
    assert "instances  1, of 0 the optimum is proven, of 1 that no placement exists" in done.stdout


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
