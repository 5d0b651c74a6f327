"""A run in a process of its own: whatever becomes of it, there is a record, and nothing is left running."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from crop_cli.bench import process
from crop_cli.bench.attempt import attempt
from crop_cli.bench.local import run_local
from crop_cli.bench.process import Worker, run_task
from crop_cli.bench.records import Run, Settings
from tests.bench.build import member, task
from tests.bench.plug_ins import alive, pids

SHORT = Settings(time_limit=0.2, gap=None, threads=1)


def timeless(made: Run) -> Run:
    """A record without what no two runs share."""
    trace = [msgspec.structs.replace(point, seconds=0.0) for point in made.trace]
    return msgspec.structs.replace(made, seconds={}, peak_mib=None, trace=trace)


def gone(numbers: list[int]) -> bool:
    """Whether all processes end within a few seconds."""
    for _ in range(200):
        if not any(map(alive, numbers)):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("solver", ["greedy", "first-fit"])
def test_the_record_is_that_of_the_same_run_here(tmp_path: Path, solver: str) -> None:
    """A spawned process gives the same record as this one."""
    one = task(member(tmp_path / "i.json"), solver)
    assert timeless(run_task(one)) == timeless(attempt(one))


@pytest.mark.parametrize(
    ("solver", "error"),
    [
        ("x-dies", "its process died (signal 9): last words"),
        ("x-exits", "its process died (exit code 3)"),
        ("x-unknown", "its process died (exit code 1): crop_cli.errors.UsageError: there is no solver 'x-unknown'"),
    ],
)
def test_a_process_that_dies(tmp_path: Path, misbehaving: Path, solver: str, error: str) -> None:
    """Its record is a failed one that says how it died and what it said last."""
    made = run_task(task(member(tmp_path / "i.json"), solver))
    assert (made.verdict, made.stop_reason, made.role, made.verified) == ("failed", "error", "baseline", False)
    assert made.error is not None and made.error.startswith(error)
    assert made.size.gpus == 8


def test_a_process_that_hangs_is_killed(tmp_path: Path, misbehaving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond limit and grace it is killed with all that it started, and its record says so."""
    monkeypatch.setattr(process, "GRACE", 3.0)
    made = run_task(task(member(tmp_path / "i.json"), "x-hangs", SHORT))
    assert (made.verdict, made.stop_reason) == ("failed", "killed")
    assert made.error == "it did not end within 3 s of its time limit and was killed"
    assert len(pids(misbehaving)) == 2 and gone(pids(misbehaving))


def test_a_talkative_solver(tmp_path: Path, misbehaving: Path) -> None:
    """What a solver prints blocks nothing and is not part of the record."""
    made = run_task(task(member(tmp_path / "i.json"), "x-prints"))
    assert (made.verdict, made.objective, made.error) == ("feasible", 4.0, None)


def test_an_unwanted_run_is_ended(tmp_path: Path, misbehaving: Path) -> None:
    """A run that nobody waits for any more ends with its processes."""
    made = run_task(task(member(tmp_path / "i.json"), "x-hangs"), lambda: len(pids(misbehaving)) == 2)
    assert (made.verdict, made.stop_reason) == ("failed", "interrupted")
    assert gone(pids(misbehaving))


def test_a_worker_ends_when_its_leash_does(tmp_path: Path, misbehaving: Path) -> None:
    """When whoever started it dies, standard input closes, and the process ends by itself with all that it started."""
    worker = Worker(task(member(tmp_path / "i.json"), "x-hangs"))
    while len(pids(misbehaving)) < 2:
        time.sleep(0.05)
    worker._process.stdin.close()
    assert gone(pids(misbehaving))
    worker.end()


def test_runs_at_a_time(tmp_path: Path) -> None:
    """No more than so many processes run at a time, and every task gives a record."""
    of, most = member(tmp_path / "i.json"), []
    tasks = [task(of, "first-fit", seed=seed) for seed in range(5)]
    records = list(run_local(tasks, 2, lambda running: most.append(len(running))))
    assert sorted(made.seed for made in records) == list(range(5))
    assert max(most) == 2


def test_closing_the_records_ends_what_runs(tmp_path: Path, misbehaving: Path) -> None:
    """Whoever stops reading leaves no process behind."""
    of = member(tmp_path / "i.json")
    records = run_local([task(of, "x-hangs"), task(of, "x-slow"), task(of, "x-hangs")], 2)
    assert next(records).solver == "x-slow"
    records.close()
    assert len(pids(misbehaving)) >= 1 and gone(pids(misbehaving))
