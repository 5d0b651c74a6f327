"""Runs on many machines: tasks go to an existing dask.distributed scheduler, records come back as they finish.

A worker that is lost in the middle of a run takes no run with it: dask gives the run to another worker, and if it gives
up on one (`allowed-failures` workers died with it), the run is submitted again, up to `RETRIES` times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import msgspec

from crop_cli._version import __version__
from crop_cli.bench.process import POLL, lost, run_task
from crop_cli.bench.records import Run
from crop_cli.bench.task import Task
from crop_cli.errors import BackendError, UsageError

if TYPE_CHECKING:
    from distributed import Client

RETRIES = 3
"""Times that a run is submitted again after dask gave up on it."""

CONNECT_S = 15
"""Seconds to reach the scheduler."""


def remote(task: bytes) -> bytes:
    """Run on a worker: a task in, its record out, in a process of its own, as on the machine that submits."""
    return msgspec.msgpack.encode(run_task(msgspec.msgpack.decode(task, type=Task), _cancelled()))


def _cancelled() -> Callable[[], bool]:
    """Whether the task of this thread is cancelled: dask tells nobody, and lets it run to its end."""
    from distributed import get_worker  # noqa: PLC0415 (an extra)
    from distributed.worker import thread_state  # noqa: PLC0415

    tasks, key = get_worker().state.tasks, thread_state.key

    def cancelled() -> bool:
        task = tasks.get(key)
        return task is None or task.state == "cancelled"

    return cancelled


def run_on_cluster(tasks: list[Task], address: str) -> Generator[Run]:
    """Records as runs finish; closing the iterator cancels what still runs.

    Workers need crop of the same version. Each runs as many tasks at a time as it has threads.

    Raises
    ------
    UsageError
        If dask is not installed, or the address is none.
    BackendError
        If there is no scheduler at the address, or the workers have no crop, or another version of it; or
        if the scheduler goes away in the middle.
    """
    client = _connect(address)
    try:
        yield from _collect(client, tasks, address)
    finally:
        client.close()


def _connect(address: str) -> Client:
    try:
        from distributed import Client  # noqa: PLC0415 (an extra)
        from distributed.comm.addressing import parse_address, parse_host_port  # noqa: PLC0415
        from distributed.comm.registry import get_backend  # noqa: PLC0415
    except ImportError:
        raise UsageError("--cluster needs dask.distributed: pip install 'crop-cli[cluster]'") from None
    try:
        # Of what is no address a client would say so only after a long while.
        scheme, location = parse_address(address)
        get_backend(scheme)
        parse_host_port(location)
    except ValueError as error:
        raise UsageError(f"--cluster {address!r}: {error} (expected an address such as tcp://host:8786)") from None
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise BackendError(f"--cluster {address}: no scheduler answers there ({error})") from None
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
        versions = set(client.run(version).values())
    except Exception as error:  # whatever a worker raises comes through here
        client.close()
        raise BackendError(f"--cluster {address}: its workers cannot run crop ({error})") from None
    if versions != {__version__}:
        client.close()
        there = ", ".join(sorted(versions))
        raise BackendError(f"--cluster {address}: its workers have crop {there}, this machine {__version__}")
    return client


def version() -> str:
    """The worker's version of crop."""
    return __version__


def _collect(client: Client, tasks: list[Task], address: str) -> Generator[Run]:
    from distributed import as_completed  # noqa: PLC0415

    left: dict[str, tuple[Task, int]] = {}

    def submit(task: Task, attempts: int) -> Any:
        future: Any = client.submit(remote, msgspec.msgpack.encode(task), pure=False, retries=RETRIES)
        left[future.key] = (task, attempts)
        return future

    finished: Any = as_completed([submit(task, 1) for task in tasks], loop=client.loop)
    try:
        while not finished.is_empty():
            if client.status == "closed":
                raise BackendError(f"the scheduler at {address} is gone (--resume goes on with the runs that are left)")
            if not finished.has_ready():
                time.sleep(POLL)
                continue
            future = next(finished)
            task, attempts = left.pop(future.key)
            error = future.exception() if future.status == "error" else None
            if future.status == "finished":
                yield msgspec.msgpack.decode(future.result(), type=Run)
            elif attempts <= RETRIES:
                finished.add(submit(task, attempts + 1))
            else:
                yield lost(task, "error", f"lost {attempts} times on the cluster ({error or future.status})", 0.0)
            future.release()
    finally:
        if client.status == "running":
            client.cancel(list(finished.futures), force=True)
