"""The instance file `crop-instance/1` as plain structs.

Field names are those of the file. Units are in the names: `_gbps` is gigabits per second, `_mb` is 10^6 bytes,
`_s` seconds, `_minutes` minutes. Absent bandwidths (`None`) mean "unlimited". The structs hold what the file says and
nothing derived; `crop_cli.model.problem.compile_problem` turns them into arrays.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FORMAT = "crop-instance/1"

NodeState = Literal["up", "drained", "down"]


class Struct(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """Base of every struct of the file: unknown fields are errors, defaults are not written."""


class Switch(Struct, frozen=True):
    """An inner vertex of the tree (a rack, a pod, ...) with its uplink to `parent`."""

    name: str
    level: str
    parent: str | None = None
    uplink_gbps: float | None = None


class Node(Struct, frozen=True):
    """A server: its GPUs and other resources, what of them is taken, its links, and its health."""

    name: str
    gpus: int
    parent: str | None = None
    gpu_type: str = "gpu"
    gpu_link_gbps: float | None = None
    fabric_gbps: float | None = None
    uplink_gbps: float | None = None
    resources: dict[str, float] = {}
    used: dict[str, float] = {}
    slowdown: float = 1.0
    failures_per_day: float = 0.0
    state: NodeState = "up"


class Cluster(Struct, frozen=True):
    """A tree of uniform depth: `levels` names the depths below the root, top down; the last one is the nodes'."""

    levels: list[str]
    nodes: list[Node]
    switches: list[Switch] = []
    oversubscription: float = 1.0


class Objective(Struct, frozen=True):
    """Parameters of the objective F (model.md, section 5)."""

    failure_weight: float = 1.0
    cut_penalty: float = 0.001
    horizon_minutes: float = 1440.0


class Segment(Struct, frozen=True):
    """Each domain of `level` holds a multiple of `gpus` workers."""

    gpus: int
    level: str


class Spread(Struct, frozen=True):
    """At most `max_gpus` workers in any one domain of `level`."""

    level: str
    max_gpus: int


class Job(Struct, frozen=True):
    """A gang of `gpus` identical workers, placed all or not at all (model.md, section 2)."""

    name: str
    gpus: int
    weight: float = 1.0
    required: bool = False
    compute_s: float | dict[str, float] = 1.0
    message_mb: float = 0.0
    pattern: str = "allreduce"
    overlap: float = 0.0
    resources_per_gpu: dict[str, float] = {}
    restart_minutes: float = 0.0
    checkpoint_minutes: float = 0.0
    within: str | None = None
    segment: Segment | None = None
    spread: Spread | None = None
    gpus_per_node: int | None = None
    placement: dict[str, int] | None = None
    movable: bool = False
    migration_minutes: float = 0.0


class Instance(Struct, frozen=True):
    """A cluster, the objective's parameters, and the jobs to place.

    `description`, `source`, `licence` and `assumptions` are for people; no solver reads them.
    """

    format: Literal["crop-instance/1"]
    cluster: Cluster
    jobs: list[Job]
    name: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    assumptions: list[str] = []
    objective: Objective = Objective()
