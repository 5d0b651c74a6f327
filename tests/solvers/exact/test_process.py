from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.patience import GRACE_AFTER_LIMIT, GRACE_AFTER_STOP
from crop_cli.solvers.exact.process import run_backend
from crop_cli.solvers.exact.sparse_model import IntArray
from crop_cli.solvers.exact.verdict import BackendResult
from tests.solvers.exact.programs import INF, program

FAKE = "tests.solvers.exact.fake_backend"
MODEL = program([-3, -2], [2, 2], [[1, 1]], [-INF], [3])  # the optimum is (2, 1), at −8


def fake(
    act: str,
    time_limit: float | None = 30,
    should_stop: Callable[[], bool] = lambda: False,
    memory_mb: int | None = None,
    **options: str,
) -> BackendResult:
    """Run the fake back end on `MODEL`."""
    return run_backend(
        FAKE,
        MODEL,
        time_limit=time_limit,
        should_stop=should_stop,
        memory_mb=memory_mb,
        options={"act": act, **options},
    )


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files, with a space in its name, watched by the test."""
    directory = tmp_path / "with a space"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody reaps does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether a condition comes true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_a_child_that_ignores_the_limit_is_killed_and_what_it_streamed_is_kept() -> None:
    """After limit and grace the process is ended by force, with its last point and bound in the result."""
    result = fake("hang", time_limit=1.0, point="2,1", bound="-9.5")
    assert (result.stop_reason, result.forced) == ("killed", True)
    assert result.x is not None and result.x.tolist() == [2, 1]
    assert (result.cost, result.bound) == (-8.0, -9.0)  # whole costs: the bound rounds up
    assert result.seconds < 1.0 + GRACE_AFTER_LIMIT + 1.0


def test_a_child_that_ignores_a_stop_is_killed() -> None:
    """`should_stop` ends a run without a limit, by force if need be, and the reason is the caller's."""
    result = fake("hang", time_limit=None, should_stop=lambda: True)
    assert (result.stop_reason, result.forced) == ("interrupted", True)
    assert result.seconds < GRACE_AFTER_STOP + 1.5


def test_an_obedient_child_is_not_killed() -> None:
    """A child that stops when asked ends by itself; the reason says who asked."""
    by_limit = fake("obey", time_limit=0.8)
    assert (by_limit.stop_reason, by_limit.forced, by_limit.version) == ("time_limit", False, "1.2")
    by_flag = fake("obey", should_stop=lambda: True)
    assert (by_flag.stop_reason, by_flag.forced) == ("interrupted", False)


def test_stop_may_depend_on_what_arrives() -> None:
    """Callbacks are called while the child runs, early enough to end it."""
    seen: list[float] = []
    result = run_backend(
        FAKE,
        MODEL,
        time_limit=30,
        options={"act": "hang", "point": "1,1", "bound": "-9"},
        should_stop=lambda: len(seen) == 2,
        on_incumbent=lambda _x, cost: seen.append(cost),
        on_bound=seen.append,
    )
    assert seen == [-5.0, -9.0]
    assert (result.stop_reason, result.cost, result.bound) == ("interrupted", -5.0, -9.0)


def test_a_crash_is_an_error_with_the_log_and_the_last_point() -> None:
    """A segmentation fault ends the child only; its signal, its output, and its point are reported."""
    result = fake("crash", point="1,2")
    assert result.stop_reason == "error"
    assert "SIGSEGV" in result.notes[-1]
    assert "about to crash" in result.log
    assert result.cost == -7.0


@pytest.mark.parametrize(
    ("act", "note", "log"),
    [
        ("exit", "ended with code 3", ""),
        ("raise", "RuntimeError: no such luck", "Traceback"),
        ("babble", "something else than frames", ""),
    ],
)
def test_a_failure_is_an_error_with_its_reason(act: str, note: str, log: str) -> None:
    """An exception or an early exit in the child becomes a result that says so."""
    result = fake(act)
    assert result.stop_reason == "error"
    assert note in result.notes[-1]
    assert log in result.log
    assert (result.x, result.cost, result.bound) == (None, None, None)


def test_a_library_that_cannot_be_imported_is_an_error() -> None:
    """An import failure in the child is reported, not raised."""
    result = run_backend("tests.solvers.exact.no_such_module", MODEL, time_limit=30)
    assert result.stop_reason == "error"
    assert "no_such_module" in result.notes[-1]


def test_memory_limit_holds() -> None:
    """A child that wants more memory than it may have ends with an error that says so."""
    result = fake("gorge", memory_mb=2000)
    assert result.stop_reason == "error"
    assert "out of memory" in result.notes[-1]


def test_nothing_of_a_library_reaches_our_streams(capfd: pytest.CaptureFixture[str]) -> None:
    """What a library writes to descriptors 1 and 2 ends in the log only."""
    result = fake("shout")
    assert capfd.readouterr() == ("", "")
    for text in ("to standard output", "to standard error", "through python"):
        assert text in result.log


@pytest.mark.parametrize("then", ["return", "hang"])
def test_no_grandchild_lives_on(then: str) -> None:
    """Programs that the library started end with the run, whether the child ends by itself or by force."""
    result = fake("breed", time_limit=1.0, then=then)
    pid = int(result.log.split("bred ")[1].split()[0])
    assert wait_until(lambda: not alive(pid))


def test_nothing_is_left_of_the_private_directory(temporary: Path) -> None:
    """The child works in a private directory, which is removed after a good end, a crash and a kill."""
    result = fake("place")
    assert result.log.count(str(temporary)) == 2
    assert "session True" in result.log
    fake("crash")
    fake("hang", time_limit=0.5)
    assert list(temporary.iterdir()) == []


def test_no_descriptor_leaks() -> None:
    """A run leaves as many open descriptors as it found."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    fake("place")
    fake("exit")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_exception_of_a_callback_ends_the_child(temporary: Path) -> None:
    """Whatever interrupts the parent, Ctrl-C included, leaves no process and no file."""

    def interrupt(_x: IntArray, _cost: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_backend(
            FAKE, MODEL, time_limit=30, options={"act": "breed", "then": "hang", "point": "1,1"}, on_incumbent=interrupt
        )
    assert list(temporary.iterdir()) == []
    assert not any(str(temporary) in line for line in _command_lines())


def test_the_child_does_not_outlive_its_parent(temporary: Path) -> None:
    """When the parent is killed outright, child and grandchild end and the private directory goes."""
    code = (
        "import tempfile; from tests.solvers.exact import test_process as t; "
        f"tempfile.tempdir = {str(temporary)!r}; t.fake('breed', time_limit=None, then='hang')"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[3])
    assert wait_until(lambda: any("bred" in log.read_text() for log in temporary.glob("*/log.txt")))
    log = next(temporary.glob("*/log.txt")).read_text()
    grandchild = int(log.split("bred ")[1].split()[0])
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_until(lambda: not alive(grandchild))
    assert wait_until(lambda: list(temporary.iterdir()) == [])
    assert not any(str(temporary) in line for line in _command_lines())


def _command_lines() -> list[str]:
    lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        if alive(int(entry.name)):
            try:
                lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except (FileNotFoundError, ProcessLookupError):
                continue
    return lines


def test_interrupt_at_the_terminal_does_not_reach_the_child() -> None:
    """A SIGINT for the parent's process group leaves the child alone: the parent alone decides."""
    code = """
import signal
from tests.solvers.exact.test_process import FAKE, MODEL, run_backend
flag = []
signal.signal(signal.SIGINT, lambda *_: flag.append(1))
result = run_backend(
    FAKE, MODEL, time_limit=60, options={"act": "obey", "point": "2,1"},
    should_stop=lambda: bool(flag), on_incumbent=lambda _x, cost: print("found", cost, flush=True),
)
print(result.stop_reason, result.forced)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline().split() == ["found", "-8.0"]
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate(timeout=30)[0].split() == ["interrupted", "False"]


def test_many_frames_arrive_in_order() -> None:
    """A stream far beyond the size of the pipe is read to its end."""
    bounds: list[float] = []
    fake_result = run_backend(FAKE, MODEL, time_limit=60, options={"act": "flood"}, on_bound=bounds.append)
    assert bounds == [-20_000.0 + value for value in range(20_000)]
    assert fake_result.bound == -1.0


@pytest.mark.parametrize("point", ["3,0", "2,2", "-1,1", "1", "1,1,1"])
def test_a_point_that_breaks_the_model_is_refused(point: str) -> None:
    """No claim of a library makes a point feasible: bounds, rows and length are checked."""
    result = fake("end", say="optimal -9", point=point)
    assert (result.x, result.cost) == (None, None)
    assert result.stop_reason == "error"
    assert "refused" in result.notes[0]


def test_a_bound_above_a_verified_point_is_refused() -> None:
    """A contradicted bound is unknown, not reported, and the ending is an error."""
    result = fake("end", say="optimal -6", point="2,1")
    assert (result.cost, result.bound, result.stop_reason) == (-8.0, None, "error")
    assert "refused" in result.notes[0]


def test_infeasible_is_not_believed_against_a_feasible_start() -> None:
    """A verified start contradicts a claim of infeasibility."""
    model = program([-3, -2], [2, 2], [[1, 1]], [-INF], [3], start=[1, 0])
    result = run_backend(FAKE, model, time_limit=30, options={"act": "end", "say": "infeasible"})
    assert (result.infeasible, result.cost, result.stop_reason) == (False, -3.0, "error")


def test_infeasible_is_proved() -> None:
    """A claim of infeasibility that nothing contradicts is a proof without point and bound."""
    result = fake("end", say="infeasible", bound="-4")
    assert (result.infeasible, result.stop_reason) == (True, "proved")
    assert (result.x, result.cost, result.bound) == (None, None, None)


def test_no_solution_is_not_zero() -> None:
    """A run that finds nothing has no point, no cost and no bound."""
    result = fake("end", say="time_limit")
    assert (result.x, result.cost, result.bound) == (None, None, None)
    assert (result.stop_reason, result.infeasible) == ("time_limit", False)


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        ("optimal -8", "proved"),
        ("optimal -8.0000001", "proved"),
        ("optimal -9", "gap_limit"),
        ("time_limit -8", "proved"),
        ("time_limit -9", "time_limit"),
        ("interrupted -9", "interrupted"),
        ("other_limit -9", "completed"),
        ("error -9", "error"),
    ],
)
def test_the_reason_comes_from_point_and_bound(say: str, reason: str) -> None:
    """`proved` needs a verified point that meets the bound, and nothing else does."""
    assert fake("end", say=say, point="2,1").stop_reason == reason


def test_a_gap_that_was_not_allowed_is_noted() -> None:
    """A library that stops short of a proof although no gap was allowed is told on; an allowed gap is no news."""
    options = {"act": "end", "say": "optimal -9", "point": "2,1"}
    strict = run_backend(FAKE, MODEL, time_limit=30, options=options)
    assert "cost of -8 and a bound of -9" in strict.notes[0]
    lax = run_backend(FAKE, MODEL, time_limit=30, options=options, absolute_gap=1.0)
    assert (lax.stop_reason, lax.notes) == ("gap_limit", ())


def test_the_start_is_the_first_incumbent() -> None:
    """A feasible start is never lost, even when the library finds nothing; an infeasible one is refused."""
    options = {"act": "end", "say": "time_limit"}
    good = run_backend(FAKE, program([-3], [2], start=[1]), time_limit=30, options=options)
    assert good.x is not None and (good.x.tolist(), good.cost) == ([1], -3.0)
    bad = run_backend(FAKE, program([-3], [2], start=[5]), time_limit=30, options=options)
    assert bad.x is None
    assert "refused" in bad.notes[0]


def test_worse_points_are_not_reported() -> None:
    """`on_incumbent` hears improvements only."""
    heard: list[float] = []
    model = program([-3, -2], [2, 2], [[1, 1]], [-INF], [3], start=[2, 0])
    options = {"act": "end", "say": "time_limit", "point": "1,0"}
    run_backend(FAKE, model, time_limit=30, options=options, on_incumbent=lambda _x, cost: heard.append(cost))
    assert heard == []


def test_a_model_without_columns_needs_no_library() -> None:
    """No variables: the empty point is optimal if the rows allow it, and the model is infeasible if not."""
    empty = run_backend(FAKE, program([], []), time_limit=30)
    assert empty.x is not None and (len(empty.x), empty.cost, empty.bound, empty.stop_reason) == (0, 0.0, 0.0, "proved")
    impossible = run_backend(FAKE, program([], [], np.zeros((1, 0)), [1], [2]), time_limit=30)
    assert (impossible.infeasible, impossible.stop_reason) == (True, "proved")


def test_an_unknown_back_end_is_a_usage_error() -> None:
    """A name that is none is refused with the names that are."""
    with pytest.raises(UsageError, match="cp-sat"):
        run_backend("cplex", MODEL, time_limit=1)
