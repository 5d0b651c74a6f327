"""How reports, solutions and progress look."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crop_cli.cli.environment import Environment
from crop_cli.cli.progress import JsonStream, Progress
from crop_cli.cli.render_rich import show
from crop_cli.cli.render_solution import nodes_text, solution_csv, solution_report
from crop_cli.cli.render_text import comma_separated, markdown, plain
from crop_cli.cli.report import Report, Table
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Guarantee, InstanceRef, PlacedJob, Runtime, Solution, SolverInfo, UnplacedJob
from crop_cli.solvers.contract import Event
from tests.cli import instances

REPORT = Report(
    facts=[("status", "optimal (proved)"), ("gap", "0 %")],
    tables=[Table("Jobs", ["job", "GPUs"], [["a|b", "8"], ["long-name", "16"]], frozenset({1}))],
)


class _Stream(io.StringIO):
    """A text stream that may claim to be a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        """Whether it claims to be one."""
        return self.terminal


def _environment(*, terminal: bool = False, colour: bool = True) -> tuple[Environment, _Stream, _Stream]:
    out, err = _Stream(terminal=terminal), _Stream(terminal=terminal)
    return Environment(out, err, colour), out, err


def test_plain_text_is_aligned() -> None:
    """Facts and columns are aligned, numbers to the right, and no line ends in spaces."""
    assert plain(REPORT).splitlines() == [
        "status  optimal (proved)",
        "gap     0 %",
        "",
        "Jobs",
        "job        GPUs",
        "a|b           8",
        "long-name    16",
    ]


def test_markdown_escapes_cells() -> None:
    """A bar in a name does not end its cell."""
    text = markdown(REPORT)
    assert "| a\\|b | 8 |" in text
    assert "| --- | ---: |" in text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5), min_size=1, max_size=3))
def test_csv_survives_any_name(cells: list[str]) -> None:
    """Whatever printable text is in a cell, a reader gets it back."""
    text = comma_separated(["x"] * len(cells), [list(cells)])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["x"] * len(cells), cells]


def test_empty_tables_are_left_out() -> None:
    """A table without rows has no title either."""
    report = Report(tables=[Table("Nothing", ["a"], [])])
    assert plain(report) == markdown(report) == ""


@pytest.mark.parametrize("colour", [True, False])
def test_a_narrow_terminal_cuts_nothing(colour: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal of 20 columns long cells wrap, and colour is used only if it may be."""
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    environment, out, _ = _environment(terminal=True, colour=colour)
    long = "reason-" * 12
    show(Report(REPORT.facts, [Table("", ["job"], [[long]])]), environment)
    text = out.getvalue()
    assert ("\x1b[32m" in text) == colour
    assert "…" not in text
    assert text.replace("\n", "").replace(" ", "").count("reason-") == 12


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ({"n1": 8, "n2": 8, "n3": 8, "n4": 2}, "n[1-3]:8 n4:2"),
        ({"a": 1}, "a:1"),
        ({"r1-n1": 4, "r1-n2": 4, "r2-n1": 4}, "r1-n[1-2]:4 r2-n1:4"),
    ],
)
def test_nodes_are_folded(nodes: dict[str, int], text: str) -> None:
    """Neighbours with the same count are one range."""
    assert nodes_text(nodes) == text


def _solution(**changes: Any) -> Solution:
    plain_one = Solution(
        format="crop-solution/1",
        instance=InstanceRef(name="i"),
        crop_version="0",
        solver=SolverInfo(name="greedy"),
        status="feasible",
        stop_reason="completed",
        objective=0.0,
        bound=5.0,
        gap=None,
        ratio=0.0,
        guarantee=Guarantee(),
        metrics=None,
        runtime_s=Runtime(),
        placements=[],
        unplaced=[],
    )
    return msgspec.structs.replace(plain_one, **changes)


@pytest.mark.parametrize(
    ("changes", "fact", "text"),
    [
        ({}, "gap", "undefined: the objective is 0"),
        ({"bound": None, "ratio": None}, "gap", "unknown"),
        ({"bound": None, "ratio": None}, "bound", "unknown"),
        ({"objective": 4.0, "bound": 5.0, "gap": 0.25}, "gap", "25 %"),
        ({"gap": 1e-9}, "gap", "0 % (within 1e-06)"),
        ({"objective": None, "status": "infeasible", "stop_reason": "proved"}, "objective", "unknown"),
        ({"guarantee": Guarantee(why="required jobs")}, "guarantee", "none a priori: required jobs"),
        (
            {"guarantee": Guarantee(a_priori=0.478959, relative_to="optimum", why="two kinds")},
            "guarantee",
            "at least 0.4789 of the optimum a priori: two kinds",
        ),
        (
            {"guarantee": Guarantee(a_priori=0.632, relative_to="optimum", why="identical")},
            "guarantee",
            "at least 0.632 of the optimum a priori: identical",
        ),
    ],
)
def test_unknown_is_said_and_never_zero(changes: dict[str, Any], fact: str, text: str) -> None:
    """What is not known is written in words."""
    instance = msgspec.convert(instances.two_racks(), Instance)
    facts = dict(solution_report(instance, _solution(**changes)).facts)
    assert facts[fact] == text


def test_rows_of_a_solution() -> None:
    """The placement has nodes and times, the rest has reasons, and CSV has the numbers in full."""
    instance = msgspec.convert(instances.two_racks(), Instance)
    row = PlacedJob(
        job="job-0", nodes={"n0": 8, "n1": 8}, level="rack", compute_s=0.3, comm_s=0.2, iteration_s=0.4,
        efficiency=0.75, goodput=12.0,
    )  # fmt: skip
    solution = _solution(placements=[row], unplaced=[UnplacedJob(job="picky", reason="needs 4 GPUs; 0 free")])
    placement, waiting = solution_report(instance, solution).tables
    assert placement.rows == [["job-0", "16", "n[0-1]:8", "rack", "0.4 s", "25 %", "0.7500", "12"]]
    assert waiting.rows == [["picky", "4", "needs 4 GPUs; 0 free"]]
    assert solution_csv(solution).splitlines()[1] == "job-0,16,n0:8 n1:8,rack,0.3,0.2,0.4,0.75,12.0"


def test_verbose_progress_is_a_line_per_news() -> None:
    """Only improvements are logged, each with objective, bound and gap so far."""
    environment, _, err = _environment()
    progress = Progress.of(environment, quiet=False, verbose=True)
    for event in (
        Event("phase", 0.0, text="greedy"),
        Event("incumbent", 0.1, 8.0),
        Event("incumbent", 0.2, 7.0),
        Event("bound", 0.3, 10.0),
    ):
        progress(event)
    lines = [line.split() for line in err.getvalue().splitlines()]
    assert lines[0] == ["seconds", "event", "objective", "bound", "gap"]
    assert lines[1] == ["0.00", "[greedy]"]
    assert lines[2] == ["0.10", "incumbent", "8.000000", "-", "-"]
    assert lines[3] == ["0.30", "bound", "8.000000", "10.000000", "25", "%"]
    assert len(lines) == 4


def test_a_terminal_gets_one_live_line() -> None:
    """On a terminal progress redraws one line and takes it away; elsewhere there is none."""
    environment, _, err = _environment(terminal=True)
    progress = Progress.of(environment, quiet=False, verbose=False)
    progress(Event("phase", 0.0, text="greedy"))
    progress.clear()
    assert err.getvalue().startswith("\r\x1b[K")
    assert err.getvalue().endswith("\r\x1b[K")
    environment, _, err = _environment()
    Progress.of(environment, quiet=False, verbose=False)(Event("phase", 0.0, text="greedy"))
    assert err.getvalue() == ""


def test_notes_are_shown_unless_quiet() -> None:
    """Notes are for everyone who did not ask for silence."""
    for quiet in (False, True):
        environment, _, err = _environment()
        Progress.of(environment, quiet=quiet, verbose=False)(Event("note", 0.0, text="look"))
        assert err.getvalue() == ("" if quiet else "crop: note: look\n")


def test_the_stream_writes_numbers_under_their_names() -> None:
    """Incumbents carry an objective, bounds a bound, phases a text."""
    environment, out, _ = _environment()
    stream = JsonStream(environment)
    stream(Event("incumbent", 1.0, 8.0))
    stream(Event("bound", 2.0, 9.0))
    stream(Event("phase", 3.0, text="greedy"))
    assert [msgspec.json.decode(line) for line in out.getvalue().splitlines()] == [
        {"type": "incumbent", "seconds": 1.0, "objective": 8.0},
        {"type": "bound", "seconds": 2.0, "bound": 9.0},
        {"type": "phase", "seconds": 3.0, "text": "greedy"},
    ]
