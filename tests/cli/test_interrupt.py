"""Limits and interrupts while an exact back end runs: the best solution so far is written, and its bound is valid."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from crop_cli.cli.environment import Environment
from crop_cli.cli.interrupts import interruptible
from crop_cli.model.solution import Solution
from crop_cli.solvers.contract import Budget
from tests.cli import instances
from tests.cli.conftest import Process


def _start(path: str, out: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "crop_cli", "solve", path, "--json-stream", "-o", str(out), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for_back_end(child: subprocess.Popen[str]) -> None:
    """Read the stream until greedy, bound and model are done and the exact back end begins."""
    assert child.stdout is not None
    for line in child.stdout:
        if '"phase"' in line and '"cp-sat: ' in line:
            return
    raise AssertionError("the back end never began")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_writes_the_best_so_far(tmp_path: Path, crop_process: Process, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM during a long exact solve ends with 130, and the file is a verified solution with its bound."""
    path, out = instances.write(tmp_path / "i.json", instances.hard()), tmp_path / "s.json"
    child = _start(path, out, "--solver", "cp-sat", "--time-limit", "5m")
    _wait_for_back_end(child)
    child.send_signal(number)
    rest, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert '"result"' in rest
    solution = msgspec.json.decode(out.read_bytes(), type=Solution)
    assert (solution.status, solution.stop_reason) == ("feasible", "interrupted")
    assert solution.objective is not None and solution.bound is not None
    assert solution.bound >= solution.objective > 0
    assert crop_process("check", path, str(out)).returncode == 0


@pytest.mark.slow
def test_a_limit_writes_the_best_so_far(tmp_path: Path, crop_process: Process) -> None:
    """At the time limit the command ends with 0 and a verified solution with a gap."""
    path, out = instances.write(tmp_path / "i.json", instances.hard(1)), tmp_path / "s.json"
    done = crop_process("solve", path, "--solver", "cp-sat", "--time-limit", "4", "-o", str(out))
    assert done.returncode == 0, done.stderr
    solution = msgspec.json.decode(out.read_bytes(), type=Solution)
    assert solution.status == "feasible"
    assert solution.stop_reason in ("time_limit", "killed")
    assert solution.gap is not None and solution.gap > 0
    assert crop_process("check", path, str(out)).returncode == 0


def test_the_second_interrupt_ends_at_once() -> None:
    """The first signal sets the budget's flag only, the second raises, and handlers are restored afterwards."""
    before = signal.getsignal(signal.SIGINT)
    budget = Budget(None)
    with pytest.raises(KeyboardInterrupt), interruptible(budget, Environment.current()):
        signal.raise_signal(signal.SIGINT)
        assert budget.interrupted
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_install_no_handler() -> None:
    """Outside the main thread, where Python allows no handler, the run goes on without one."""
    entered: list[bool] = []

    def work() -> None:
        with interruptible(Budget(None), Environment.current()):
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]


@pytest.mark.slow
def test_the_second_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    """Two interrupts end the command with 130 and its solver process with it."""
    path, out = instances.write(tmp_path / "i.json", instances.hard(2)), tmp_path / "s.json"
    child = _start(path, out, "--solver", "cp-sat", "--time-limit", "5m")
    _wait_for_back_end(child)
    workers = _children(child.pid)
    for _ in range(20):
        workers = workers or _children(child.pid)
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    assert workers
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            return
        time.sleep(0.1)
    raise AssertionError("the solver process lives on")


def _children(pid: int) -> list[str]:
    """Process ids of the children of a process."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
