"""Rows of results as they come: one JSON line each, so that an evaluation that was ended goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Row = dict[str, Any]
T = TypeVar("T")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def read(path: Path) -> list[Row]:
    """All rows of a file; a last line that was cut off by the end of a run is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def work_off(
    tasks: Iterable[T], name: Callable[[T], str], run: Callable[[T], list[Row]], path: Path, processes: int
) -> list[Row]:
    """Run what has not been run yet, and return the rows of all tasks.

    Parameters
    ----------
    name
        Of a task; its rows carry it as `task`.
    run
        Rows of a task; in a process of the pool, so it has to be a function of a module.
    path
        File of the rows; it grows by one task at a time.
    """
    wanted = {name(task): task for task in tasks}
    rows = read(path)
    done = {row["task"] for row in rows}
    left = [task for key, task in wanted.items() if key not in done]
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file, ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        coming = {pool.submit(run, task): name(task) for task in left}
        for number, future in enumerate(as_completed(coming), start=1):
            found = [{"task": coming[future], **row} for row in future.result()]
            file.write("".join(json.dumps(row) + "\n" for row in found))
            file.flush()
            rows += found
            print(f"{path.stem} {number}/{len(left)}: {coming[future]}", flush=True)
    return [row for row in rows if row["task"] in wanted]
