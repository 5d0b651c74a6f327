"""What Slurm says of a node, a job and a reservation, whichever command and release said it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Input:
    """A file: its name for messages, and its content."""

    file: str
    data: bytes


@dataclass(slots=True)
class SlurmNode:
    """A node.

    Attributes
    ----------
    state
        Its base state and flags, or sinfo's short form with suffixes: "MIXED+DRAIN", "idle*"; None: not said.
    gpus
        GPUs by GRES type; type "" where the GRES names none.
    gpus_used
        GPUs in use; None: not said. Those of which others hold a share (MPS, shards) count as used.
    cpus, memory_mb
        What jobs may use: without cores and memory set aside for the system. None: not said.
    cpus_used, memory_used_mb
        Allocated to jobs; None: not said.
    features
        Active features.
    vague
        Whether features or CPUs in use are told of a group of nodes only.
    """

    name: str
    state: str | None
    gpus: dict[str, int] = field(default_factory=dict)
    gpus_used: dict[str, int] | None = None
    shared_used: int = 0
    cpus: float | None = None
    memory_mb: float | None = None
    cpus_used: float | None = None
    memory_used_mb: float | None = None
    features: frozenset[str] = frozenset()
    partitions: tuple[str, ...] = ()
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """What a running job has on one node: GPUs by type, CPUs and memory (None: not said)."""

    gpus: dict[str, int]
    cpus: float | None = None
    memory_mb: float | None = None


@dataclass(slots=True)
class SlurmJob:
    """A job, an array (tasks that wait together) or a component of a heterogeneous job.

    Attributes
    ----------
    key
        As squeue shows it: "12", "12_3", "12_[0-9%2]", "12+1".
    states
        Base state first, then flags.
    reason
        Why it waits.
    waiting_tasks
        Task ids of an array that waits; None for a single job. `more_tasks`: Slurm cut the list short.
    array, limit
        Job id of the array that it belongs to, and how many of its tasks may run at a time (0: any number).
    component
        Whether it is a part of a heterogeneous job.
    nodes
        Hosts that it runs on.
    shares
        What it has on each host; None where the source does not tell, so that it has to be worked out.
    node_count, tasks, cpus
        Asked for: the fewest nodes, tasks in all, CPUs in all.
    per_job, per_node, per_task, per_socket
        TRES asked for, as text.
    cpus_per_gpu, memory_mb_per_gpu, memory_mb_per_node, memory_mb_per_cpu
        Asked for; 0: not.
    tres, tres_allocated
        TRES in all, as text.
    switches
        Most leaf switches that it wants to span; 0: any number; None: the source does not tell.
    segment
        Nodes per segment of topology/block; 0: none.
    exclusive
        Whether it wants whole nodes.
    requeues
        Whether it could be requeued: Slurm refuses that to jobs of salloc and srun, and to those with --no-requeue.
    """

    key: str
    job_id: str
    name: str
    states: tuple[str, ...]
    reason: str = ""
    held: bool = False
    comment: str = ""
    partition: str = ""
    waiting_tasks: tuple[int, ...] | None = None
    more_tasks: bool = False
    array: str | None = None
    limit: int = 0
    component: bool = False
    nodes: tuple[str, ...] = ()
    shares: dict[str, Share] | None = None
    node_count: int = 0
    tasks: int = 0
    tasks_per_node: int = 0
    sockets_per_node: int = 0
    cpus: float = 0.0
    per_job: str = ""
    per_node: str = ""
    per_task: str = ""
    per_socket: str = ""
    cpus_per_gpu: float = 0.0
    memory_mb_per_gpu: float = 0.0
    memory_mb_per_node: float = 0.0
    memory_mb_per_cpu: float = 0.0
    tres: str = ""
    tres_allocated: str = ""
    features: str = ""
    required_nodes: tuple[str, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    reservation: str = ""
    switches: int | None = 0
    segment: int = 0
    exclusive: bool = False
    requeues: bool = True


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation of nodes; before its start it is not active."""

    name: str
    nodes: tuple[str, ...]
    active: bool
