"""Jobs of `scontrol show job` in text, with -d or without, a paragraph or (-o) a line per job."""

from __future__ import annotations

import re

from crop_cli.sources.slurm import tres
from crop_cli.sources.slurm.hostlists import expand, numbers, task_ids
from crop_cli.sources.slurm.records import Share, SlurmJob
from crop_cli.sources.slurm.text import Record

_COUNT = re.compile(r"\d+")


def job_of_record(row: Record) -> SlurmJob:
    """The job of a record.

    Raises
    ------
    KeyError, ValueError
        If it lacks its id or state, or a value is none that Slurm prints.
    """
    job_id, get = row.pairs["JobId"], row.get
    array, task = get("ArrayJobId") or None, get("ArrayTaskId")
    listed = task if array and not task.isdecimal() else ""
    waiting, more = task_ids(listed) if listed else (None, False)
    offset = get("HetJobOffset")
    component = bool(get("HetJobId"))
    if component:
        key = f"{get('HetJobId')}+{offset}"
    elif array and waiting is None:
        key = f"{array}_{task}"
    else:
        key = job_id
    tasks_per_node = get("NtasksPerN:B:S:C").split(":")[0]
    limit = get("ArrayTaskThrottle") or (task.partition("%")[2] if listed else "")
    return SlurmJob(
        key=key,
        job_id=job_id,
        name=get("JobName"),
        states=tuple(row.pairs["JobState"].split(",")),
        reason=get("Reason"),
        held=get("Priority") == "0",
        comment=get("Comment"),
        partition=get("Partition"),
        waiting_tasks=waiting,
        more_tasks=more,
        array=array,
        limit=int(limit or 0),
        component=component,
        nodes=tuple(expand(get("NodeList"))),
        shares=_shares(row) if row.details else None,
        node_count=_count(get("NumNodes")),
        tasks=_count(get("NumTasks")),
        tasks_per_node=_count(tasks_per_node),
        sockets_per_node=_count(get("Socks/Node")),
        cpus=_count(get("NumCPUs")),
        per_job=get("TresPerJob"),
        per_node=get("TresPerNode"),
        per_task=get("TresPerTask"),
        per_socket=get("TresPerSocket"),
        cpus_per_gpu=tres.per_gpu(get("CpusPerTres")),
        memory_mb_per_gpu=tres.per_gpu(get("MemPerTres")),
        memory_mb_per_node=tres.megabytes(get("MinMemoryNode") or "0"),
        memory_mb_per_cpu=tres.megabytes(get("MinMemoryCPU") or "0"),
        tres=get("ReqTRES") or get("TRES"),
        tres_allocated=get("AllocTRES") or get("TRES"),
        features=get("Features"),
        required_nodes=tuple(expand(get("ReqNodeList"))),
        excluded_nodes=tuple(expand(get("ExcNodeList"))),
        reservation=get("Reservation"),
        switches=_count(get("Switches")),
        segment=_count(get("SegmentSize")),
        exclusive=get("OverSubscribe") in ("NO", "EXCLUSIVE"),
        requeues="0" not in (get("Requeue"), get("BatchFlag")),
    )


def _shares(row: Record) -> dict[str, Share]:
    """What the job has on each host, of the lines that -d adds."""
    found = {}
    for detail in row.details:
        share = Share(tres.counts(detail.gres), _cpus(detail.cpu_ids), detail.memory_mb)
        found.update(dict.fromkeys(expand(detail.nodes), share))
    return found


def _cpus(ids: str) -> float | None:
    """CPUs of "0-15,32-47"."""
    return float(len(numbers(ids))) if ids and ids not in ("(null)", "N/A") else None


def _count(text: str) -> int:
    """The first number: of "2-4" the fewest nodes; 0 where there is none ("*")."""
    match = _COUNT.match(text)
    return int(match[0]) if match else 0
