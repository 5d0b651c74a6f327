"""Alibaba's openb pod lists (FGD, ATC 2023): pods with cores, memory, GPUs, allowed GPU types and times."""

from __future__ import annotations

from crop_cli.sources.draft import Skipped
from crop_cli.sources.table import Row, Table
from crop_cli.sources.traces.reading import Reading, Record

SOURCE = (
    "Alibaba openb pods (Weng et al., ATC 2023; hkust-adsl/kubernetes-scheduler-simulator, data/csv, 8f3d641; "
    "alibaba/clusterdata, cluster-trace-gpu-v2023)"
)
LICENCE = "Apache-2.0"

_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_TIMES = ("creation_time", "deletion_time", "scheduled_time")

WHOLE = 1000
"""`gpu_milli` of a whole GPU."""


def read(data: bytes, file: str) -> Reading:
    """Read a pod list, with or without times and GPU types.

    Pods without GPUs and pods that share one are left out: a job's workers have a GPU each.

    Raises
    ------
    InputError
        With every cell that cannot be read.
    """
    table = Table(file)
    reading = Reading("openb", SOURCE, LICENCE)
    seen: dict[str, int] = {}
    timed = False
    for row in table.rows(data, _COLUMNS, some=True):
        name = row.text("name")
        if seen.setdefault(name, row.line) != row.line:
            table.note(row.line, f"{name}, as in line {seen[name]}", "a name that no other pod has", "name")
            continue
        timed = timed or set(_TIMES) <= row.cells.keys()
        _add(reading, row, name)
    table.finish()
    reading.assumptions.append(
        "Every pod is a job of its own, on one node; its cores and memory are shared evenly by its GPUs."
    )
    if not timed:
        reading.assumptions.append("The list states no times: every pod arrives at 0.")
    return reading.sort()


def _add(reading: Reading, row: Row, name: str) -> None:
    reading.counts["pods in the file"] += 1
    gpus, share = row.whole("num_gpu"), row.whole("gpu_milli")
    cores, mebibytes = row.number("cpu_milli"), row.number("memory_mib")
    if gpus == 0:
        reading.skipped.append(Skipped("pod", name, "asks for no GPU"))
        return
    reading.counts["pods with GPUs"] += 1
    reading.counts["GPUs of pods"] += gpus
    if share < WHOLE:
        reading.skipped.append(Skipped("pod", name, "asks for a part of a GPU"))
        return
    arrival, duration = _times(row)
    if duration == 0:
        reading.skipped.append(Skipped("pod", name, "ran for 0 seconds"))
        return
    types = tuple(filter(None, (kind.strip() for kind in row.cells.get("gpu_spec", "").split("|"))))
    resources = {"cpu": cores / 1000 / gpus, "memory_gib": mebibytes / 1024 / gpus}
    reading.records.append(
        Record(
            name,
            gpus,
            arrival,
            duration_s=duration,
            gpu_types=types or None,
            one_node=True,
            resources_per_gpu={key: value for key, value in resources.items() if value > 0},
        )
    )


def _times(row: Row) -> tuple[float, float | None]:
    """Arrival, and seconds from the binding to a node to the end; None for a pod never bound or without times."""
    if not set(_TIMES) <= row.cells.keys():
        return 0.0, None
    arrival = row.number("creation_time")
    if not row.cells["scheduled_time"].strip() or not row.cells["deletion_time"].strip():
        return arrival, None
    return arrival, max(0.0, row.number("deletion_time") - row.number("scheduled_time"))
