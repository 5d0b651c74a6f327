"""Runs on this machine: so many processes at a time, one run each."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable

from crop_cli.bench.process import POLL, Worker
from crop_cli.bench.records import Run
from crop_cli.bench.task import Task

Watch = Callable[[list[Worker]], None]


def run_local(tasks: Iterable[Task], parallel: int, watch: Watch = lambda _running: None) -> Generator[Run]:
    """Records as runs finish; closing the iterator kills what still runs.

    Parameters
    ----------
    tasks
        Started in this order.
    parallel
        Processes at a time.
    watch
        Told a few times a second what runs now.
    """
    waiting, running = deque(tasks), list[Worker]()
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                running.append(Worker(waiting.popleft()))
            watch(running)
            ended = [(worker, run) for worker in running if (run := worker.finished()) is not None]
            if not ended:
                time.sleep(POLL)
            for worker, run in ended:
                running.remove(worker)
                yield run
    finally:
        for worker in running:
            worker.end()
