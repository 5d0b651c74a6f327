"""What a job that waits asks for: GPUs in all and per node, CPUs and memory per GPU."""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.sources.slurm import tres
from crop_cli.sources.slurm.records import SlurmJob

MEBI_PER_GIBI = 1024.0

NO_GPU = "asks for no GPU"


class LeftOutError(Exception):
    """A job that cannot be in the instance; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """GPUs in all, on each node (None: however they fit), the types that are named, and CPUs and GiB per GPU."""

    gpus: int
    per_node: int | None
    types: tuple[str, ...]
    cpu: float
    memory_gib: float


def request(job: SlurmJob) -> Request:
    """What the job asks for; 0 GPUs where it wants whole nodes and names none.

    Raises
    ------
    LeftOutError
        If it asks for no GPU, for shares of GPUs, for several types at once, or in a way that has no number.
    """
    texts = (job.per_job, job.per_node, job.per_task, job.per_socket)
    if any(map(tres.asks_for_shares, texts)):
        raise LeftOutError("asks for shares of GPUs (MPS or shards)")
    per_job, per_node, per_task, per_socket = (tres.counts(text) for text in texts)
    types = {gres_type for asked in (per_job, per_node, per_task, per_socket) for gres_type in asked if gres_type}
    if len(types) > 1:
        raise LeftOutError("asks for GPUs of several types at once")
    nodes = max(1, job.node_count)
    each = sum(per_node.values())
    if not each and job.tasks_per_node:
        each = sum(per_task.values()) * job.tasks_per_node
    if not each and job.sockets_per_node:
        each = sum(per_socket.values()) * job.sockets_per_node
    if per_socket and not each:
        raise LeftOutError("asks for GPUs per socket of nodes whose sockets it does not tell")
    gpus = sum(per_job.values()) or sum(per_node.values()) * nodes or sum(per_task.values()) * max(1, job.tasks)
    gpus = gpus or each * nodes
    if not gpus:
        # Of the TRES in all, where the site accounts for GPUs.
        in_all = tres.counts(job.tres)
        gpus, types = sum(in_all.values()), {gres_type for gres_type in in_all if gres_type}
    if not gpus:
        if job.exclusive:
            return Request(0, None, tuple(sorted(types)), job.cpus, 0.0)
        raise LeftOutError(NO_GPU)
    cpu = max(job.cpus / gpus, job.cpus_per_gpu)
    memory = max(job.memory_mb_per_gpu, job.memory_mb_per_node * nodes / gpus, job.memory_mb_per_cpu * cpu)
    return Request(gpus, each if each and gpus % each == 0 else None, tuple(sorted(types)), cpu, memory / MEBI_PER_GIBI)


def shares_of(job: SlurmJob, hosts: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """GPUs by host and type that a running job has.

    Where the source has no details they are worked out of what it asked for, if that leaves no choice.

    Raises
    ------
    LeftOutError
        If the GPUs on each host cannot be told.
    """
    if job.shares is not None:
        if not job.shares.keys() >= set(hosts):
            raise LeftOutError("runs on nodes of which its details do not tell (is the file cut short?)")
        return {host: dict(job.shares[host].gpus) for host in hosts}
    per_node = tres.counts(job.per_node)
    if per_node:
        return {host: dict(per_node) for host in hosts}
    total = tres.counts(job.tres_allocated) or tres.counts(job.per_job)
    if not total and not (job.per_task or job.per_socket):
        return {host: {} for host in hosts}
    if len(hosts) == 1 and total:
        return {hosts[0]: total}
    if len(total) == 1:
        ((gres_type, gpus),) = total.items()
        if gpus == len(hosts):
            return {host: {gres_type: 1} for host in hosts}
    raise LeftOutError("runs with a number of GPUs per node that is not said (use `scontrol -d show job`)")
