"""Jobs of `squeue --json` and `scontrol show jobs --json`, of releases with plain values and with objects."""

from __future__ import annotations

from typing import Any

import msgspec

from crop_cli.sources.slurm import tres
from crop_cli.sources.slurm.hostlists import expand, task_ids
from crop_cli.sources.slurm.records import Share, SlurmJob
from crop_cli.sources.slurm.values import count, number, text, words


class _Amount(msgspec.Struct):
    """CPUs or memory on a host."""

    count: Any = msgspec.UNSET
    allocated: Any = msgspec.UNSET


class _Host(msgspec.Struct):
    """What a job has on a host, since release 23.02."""

    name: str
    cpus: _Amount | msgspec.UnsetType = msgspec.UNSET
    memory: _Amount | msgspec.UnsetType = msgspec.UNSET


class _OldHost(msgspec.Struct):
    """What a job has on a host, up to release 22.05."""

    nodename: str
    memory_allocated: Any = msgspec.UNSET


class _Hosts(msgspec.Struct):
    """The hosts of a job, since release 23.02."""

    allocation: list[_Host] | msgspec.UnsetType = msgspec.UNSET


class _Resources(msgspec.Struct):
    """`job_resources`: without the lists of single cores, which are nine tenths of a document."""

    nodes: _Hosts | str | msgspec.UnsetType = msgspec.UNSET
    allocated_nodes: list[_OldHost] | dict[str, _OldHost] | msgspec.UnsetType = msgspec.UNSET


_FIELDS = [
    "job_id", "array_job_id", "array_task_id", "array_task_string", "array_max_tasks", "het_job_id",
    "het_job_offset", "name", "job_state", "state_reason", "hold", "priority", "comment", "partition", "nodes",
    "gres_detail", "node_count", "tasks", "tasks_per_node", "sockets_per_node", "cpus", "tres_per_job",
    "tres_per_node", "tres_per_task", "tres_per_socket", "cpus_per_tres", "memory_per_tres", "memory_per_node",
    "memory_per_cpu", "tres_req_str", "tres_alloc_str", "features", "required_nodes", "excluded_nodes", "resv_name",
    "required_switches", "segment_size", "shared", "requeue", "batch_flag",
]  # fmt: skip
"""Fields of a job that are read."""

JobRow = msgspec.defstruct(
    "JobRow",
    [
        *((name, Any, msgspec.UNSET) for name in _FIELDS),
        ("job_resources", _Resources | msgspec.UnsetType | None, msgspec.UNSET),
    ],
)
"""A job as it is decoded: the fields that are read, absent ones unset."""


def job_of_json(row: dict[str, Any]) -> SlurmJob:
    """The job of an object.

    Raises
    ------
    KeyError, ValueError
        If it lacks its id or state, or a value is none that Slurm prints.
    """
    job_id = str(count(row["job_id"]))
    array = count(row.get("array_job_id"))
    task = number(row.get("array_task_id"))
    listed = text(row.get("array_task_string"))
    waiting, more = task_ids(listed) if listed else (None, False)
    het = count(row.get("het_job_id"))
    if het:
        key = f"{het}+{count(row.get('het_job_offset'))}"
    elif waiting is None and task is not None and array:
        key = f"{array}_{int(task)}"
    else:
        key = job_id
    states = words(row["job_state"])
    hosts = tuple(expand(text(row.get("nodes"))))
    priority = number(row.get("priority"))
    return SlurmJob(
        key=key,
        job_id=job_id,
        name=text(row.get("name")),
        states=states,
        reason=text(row.get("state_reason")),
        held=bool(row.get("hold")) or priority == 0,
        comment=text(row.get("comment")),
        partition=text(row.get("partition")),
        waiting_tasks=waiting,
        more_tasks=more,
        array=str(array) if array else (job_id if listed else None),
        limit=count(row.get("array_max_tasks")),
        component=bool(het),
        nodes=hosts,
        shares=_shares(row, hosts),
        node_count=count(row.get("node_count")),
        tasks=count(row.get("tasks")),
        tasks_per_node=count(row.get("tasks_per_node")),
        sockets_per_node=count(row.get("sockets_per_node")),
        cpus=count(row.get("cpus")),
        per_job=text(row.get("tres_per_job")),
        per_node=text(row.get("tres_per_node")),
        per_task=text(row.get("tres_per_task")),
        per_socket=text(row.get("tres_per_socket")),
        cpus_per_gpu=tres.per_gpu(text(row.get("cpus_per_tres"))),
        memory_mb_per_gpu=tres.per_gpu(text(row.get("memory_per_tres"))),
        memory_mb_per_node=number(row.get("memory_per_node")) or 0.0,
        memory_mb_per_cpu=number(row.get("memory_per_cpu")) or 0.0,
        tres=text(row.get("tres_req_str")),
        tres_allocated=text(row.get("tres_alloc_str")),
        features=text(row.get("features")),
        required_nodes=tuple(expand(text(row.get("required_nodes")))),
        excluded_nodes=tuple(expand(text(row.get("excluded_nodes")))),
        reservation=text(row.get("resv_name")),
        switches=count(row["required_switches"]) if "required_switches" in row else None,
        segment=count(row.get("segment_size")),
        exclusive="none" in (word.lower() for word in words(row.get("shared"))),
        requeues=row.get("requeue") is not False and row.get("batch_flag") is not False,
    )


def _shares(row: dict[str, Any], hosts: tuple[str, ...]) -> dict[str, Share] | None:
    """What the job has on each host: GRES of one list, CPUs and memory of another; None if the lists do not match."""
    details = row.get("gres_detail")
    if not hosts or not isinstance(details, list):
        return None
    if details and len(details) != len(hosts):
        return None
    gpus = [tres.counts(text(detail)) for detail in details] or [{}] * len(hosts)
    allocated = _allocated(row.get("job_resources"))
    return {host: Share(here, *allocated.get(host, (None, None))) for host, here in zip(hosts, gpus, strict=True)}


def _allocated(resources: Any) -> dict[str, tuple[float | None, float | None]]:
    """CPUs and megabytes by host; releases before 23.02 do not tell the CPUs."""
    if not isinstance(resources, dict):
        return {}
    nodes = resources.get("nodes")
    if isinstance(nodes, dict):
        rows = nodes.get("allocation") or []
        return {
            str(row["name"]): (
                number((row.get("cpus") or {}).get("count")),
                number((row.get("memory") or {}).get("allocated")),
            )
            for row in rows
        }
    rows = resources.get("allocated_nodes") or []
    if isinstance(rows, dict):  # 21.08: by index
        rows = list(rows.values())
    return {str(row["nodename"]): (None, number(row.get("memory_allocated"))) for row in rows if "nodename" in row}
