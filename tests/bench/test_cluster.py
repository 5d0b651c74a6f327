"""Runs on a dask cluster: a real scheduler with workers in processes of their own, some of which are killed."""

from __future__ import annotations

import builtins
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from crop_cli.bench import cluster as cluster_module
from crop_cli.bench.attempt import attempt
from crop_cli.bench.cluster import run_on_cluster
from crop_cli.bench.records import Run, Summary
from crop_cli.cli.main import app
from crop_cli.errors import BackendError, UsageError
from tests.bench.build import member, task, write
from tests.bench.plug_ins import alive, installed, pids
from tests.bench.test_process import gone, timeless
from tests.bench.test_runner import timeless as timeless_summary

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package of misbehaving solvers, also for the workers."""
    with pytest.MonkeyPatch.context() as patch, installed(tmp_path_factory.mktemp("site"), patch) as folder:
        yield folder


@pytest.fixture(scope="module")
def cluster(misbehaving: Path) -> Iterator[Any]:
    """A scheduler and two workers with a thread each."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        yield local


@pytest.fixture(autouse=True)
def no_pids(misbehaving: Path) -> None:
    """Numbers of processes of this test only."""
    (misbehaving / "pids").unlink(missing_ok=True)


def test_records_are_those_of_this_machine(tmp_path: Path, cluster: Any) -> None:
    """Every task comes back once, with the record that a run here gives."""
    of = member(tmp_path / "i.json")
    tasks = [task(of, solver, seed=seed) for solver in ("greedy", "first-fit") for seed in (0, 1)]
    made = {(one.solver, one.seed): one for one in run_on_cluster(tasks, cluster.scheduler_address)}
    assert len(made) == 4
    for one in tasks:
        assert timeless(made[one.solver, one.seed]) == timeless(attempt(one))


def test_failures_come_back_as_records(tmp_path: Path, cluster: Any) -> None:
    """A solver that takes its process with it does not take the worker with it."""
    of = member(tmp_path / "i.json")
    made = list(run_on_cluster([task(of, "x-dies"), task(of, "x-raises")], cluster.scheduler_address))
    assert sorted(str(one.error)[:20] for one in made) == ["ZeroDivisionError: o", "its process died (si"]


def test_a_killed_worker_loses_no_run(tmp_path: Path, cluster: Any, misbehaving: Path) -> None:
    """A worker that is killed in the middle of a run: the run is done again, and every task has its record."""
    of = member(tmp_path / "i.json")
    tasks = [task(of, "x-slow", seed=seed) for seed in range(6)]
    made: list[Run] = []
    killed = False
    for one in run_on_cluster(tasks, cluster.scheduler_address):
        made.append(one)
        if not killed:
            # The runs' processes are the workers' children.
            running = wait_for(lambda: [pid for pid in pids(misbehaving) if alive(pid)])
            worker = parent(running[-1])
            os.kill(worker, signal.SIGKILL)
            killed = True
            assert gone(running[-1:])
    assert sorted(one.seed for one in made) == list(range(6))
    assert {(one.verdict, one.objective, one.error) for one in made} == {("feasible", 4.0, None)}
    assert len(pids(misbehaving)) > 6
    cluster.scale(2)


def wait_for(found: Any) -> Any:
    """What a function finds, once it is something."""
    for _ in range(400):
        if result := found():
            return result
        time.sleep(0.02)
    raise AssertionError("it never came")


def parent(pid: int) -> int:
    """The process that started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_run_that_is_lost_again_and_again(
    tmp_path: Path, cluster: Any, misbehaving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When dask gives up on a run, it is submitted again, and after that its record says that it was lost."""
    monkeypatch.setattr(cluster_module, "RETRIES", 1)
    monkeypatch.setattr(cluster_module, "remote", broken)
    made = list(run_on_cluster([task(member(tmp_path / "i.json"))], cluster.scheduler_address))
    assert [(one.verdict, one.stop_reason) for one in made] == [("failed", "error")]
    assert made[0].error is not None and made[0].error.startswith("lost 2 times on the cluster (no such luck")


def broken(task: bytes) -> bytes:
    """Stands for what dask reports of a run whose workers all died."""
    raise RuntimeError("no such luck")


def test_stopping_ends_what_runs_on_the_workers(tmp_path: Path, cluster: Any, misbehaving: Path) -> None:
    """Whoever stops reading, as Ctrl-C does, leaves no process on the workers."""
    of = member(tmp_path / "i.json")
    records = run_on_cluster(
        [task(of, "x-slow"), *[task(of, "x-hangs", seed=s) for s in range(3)]], cluster.scheduler_address
    )
    assert next(records).solver == "x-slow"
    wait_for(lambda: len(pids(misbehaving)) >= 3)
    records.close()
    assert gone(pids(misbehaving))
    assert [one.verdict for one in run_on_cluster([task(of)], cluster.scheduler_address)] == ["optimal"]


def test_no_scheduler_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the address; nothing waits for long."""
    monkeypatch.setattr(cluster_module, "CONNECT_S", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(BackendError, match=f"--cluster {address}: no scheduler answers there"):
        next(run_on_cluster([task(member(tmp_path / "i.json"))], address))


@pytest.mark.parametrize("address", ["", "nowhere", "http://host:1", "tcp://host", "tcp://host:port"])
def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    """It is a usage error that says what an address looks like."""
    with pytest.raises(UsageError, match="expected an address such as tcp://host:8786"):
        next(run_on_cluster([task(member(tmp_path / "i.json"))], address))


def test_workers_of_another_version_are_refused(tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of two versions of crop are not mixed."""
    monkeypatch.setattr(cluster_module, "__version__", "0.0.0")
    with pytest.raises(BackendError, match=r"its workers have crop .*, this machine 0\.0\.0"):
        next(run_on_cluster([task(member(tmp_path / "i.json"))], cluster.scheduler_address))


def test_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that has no workers is an error, not a wait without end."""
    monkeypatch.setattr(cluster_module, "CONNECT_S", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(BackendError, match="its workers cannot run crop"),
    ):
        next(run_on_cluster([task(member(tmp_path / "i.json"))], empty.scheduler_address))


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where dask is not installed, the message says what to install."""
    load = builtins.__import__

    def without(name: str, *args: Any, **fields: Any) -> Any:
        if name.partition(".")[0] == "distributed":
            raise ImportError(name)
        return load(name, *args, **fields)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install 'crop-cli\[cluster\]'"):
        next(run_on_cluster([task(member(tmp_path / "i.json"))], "tcp://127.0.0.1:8786"))


def test_the_command_on_a_cluster(tmp_path: Path, cluster: Any) -> None:
    """`crop bench --cluster` gives the summary that it gives on this machine."""
    write(tmp_path / "set" / "i.json")
    found = []
    for name, where in (("here", []), ("there", ["--cluster", cluster.scheduler_address])):
        arguments = [
            str(tmp_path / "set"),
            "--solver",
            "greedy",
            "--solver",
            "first-fit",
            "--quiet",
            "--format",
            "json",
        ]
        made = CliRunner().invoke(app, ["bench", *arguments, *where, "--runs", str(tmp_path / f"{name}.jsonl")])
        assert made.exit_code == 0, made.stderr
        found.append(timeless_summary(msgspec.json.decode(made.stdout.encode(), type=Summary)))
    assert found[0] == found[1]


def test_a_scheduler_that_goes_away(tmp_path: Path, misbehaving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the scheduler dies in the middle of a bench, it ends with an error that says how to go on."""
    monkeypatch.setattr(cluster_module, "CONNECT_S", 2.0)
    there = subprocess.Popen(
        [sys.executable, "-c", SMALL_CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert there.stdout is not None
        address = there.stdout.readline().strip()
        of = member(tmp_path / "i.json")
        records = run_on_cluster([task(of), task(of, "x-hangs")], address)
        assert next(records).verdict == "optimal"
        wait_for(lambda: pids(misbehaving))
        there.kill()
        with pytest.raises(BackendError, match=r"is gone.*--resume"):
            next(records)
        assert gone(pids(misbehaving))
    finally:
        there.kill()
        there.communicate()


SMALL_CLUSTER = """
from distributed import LocalCluster
how = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
with LocalCluster(n_workers=1, threads_per_worker=1, **how) as cluster:
    print(cluster.scheduler_address, flush=True)
    input()
"""
"""Scheduler and worker in one process, which tells its address."""
