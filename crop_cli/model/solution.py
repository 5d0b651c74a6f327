"""The solution file `crop-solution/1` as plain structs.

Unknown is `None`, never 0 or infinity. `status` says what is known about the answer, `stop_reason` why the solver
ended: two axes that are never mixed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FORMAT = "crop-solution/1"

Status = Literal["optimal", "feasible", "infeasible", "no_solution"]
StopReason = Literal["proved", "completed", "gap_limit", "time_limit", "interrupted", "killed", "error"]


class Struct(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Base of every struct of the file."""


class InstanceRef(Struct, frozen=True):
    """Which instance the solution belongs to."""

    name: str
    sha256: str | None = None


class SolverInfo(Struct, frozen=True):
    """What produced the solution. `back_end` is the library that ran last, if one did."""

    name: str
    back_end: str | None = None
    back_end_version: str | None = None
    options: dict[str, str | int | float | bool | None] = {}
    seed: int = 0


class Guarantee(Struct, frozen=True):
    """The factor that held before the solver ran, relative to what, and why (or why there is none)."""

    a_priori: float | None = None
    relative_to: str | None = None
    why: str = ""


class LevelTraffic(Struct, frozen=True):
    """Traffic over the uplinks of one level: totals over its uplinks, and the highest load of one of them.

    `gb_per_iteration` sums over jobs the gigabytes of one of their iterations, one direction. `load` is reserved
    bandwidth over φ·B; None where no uplink of the level has a bandwidth.
    """

    level: str
    cuts: int
    gb_per_iteration: float
    reserved_gbps: float
    highest_load: float | None
    highest_loaded_uplink: str | None


class Metrics(Struct, frozen=True):
    """Everything of model.md section 5 that is reported beside F.

    `gpus_total` counts nodes that are up, `gpus_used` what jobs and `used` take of it, `gpus_free` the rest.
    `gpus_stranded` are free GPUs that no unplaced job could use, even if it alone were placed there now (0 when no job
    waits). The blast radius of a node or switch is the weighted goodput of the jobs that touch it; the worst is given.
    """

    weighted_goodput: float
    gpus_total: int
    gpus_used: int
    gpus_free: int
    gpus_stranded: int
    jobs_total: int
    jobs_placed: int
    jobs_moved: int
    communication_overhead: float
    traffic: list[LevelTraffic]
    throughput: float
    failures_per_day: float
    worst_node: str | None
    worst_node_blast: float
    worst_switch: str | None
    worst_switch_blast: float


class Runtime(Struct, frozen=True):
    """Wall-clock seconds per phase."""

    load: float = 0.0
    build: float = 0.0
    solve: float = 0.0
    bound: float = 0.0
    total: float = 0.0


class PlacedJob(Struct, frozen=True):
    """One placed job: GPUs per node, the lowest level whose single domain holds it, and its times and goodput."""

    job: str
    nodes: dict[str, int]
    level: str
    compute_s: float
    comm_s: float
    iteration_s: float
    efficiency: float
    goodput: float


class UnplacedJob(Struct, frozen=True):
    """One job without a place, and why, in numbers."""

    job: str
    reason: str


class NodePrices(Struct, frozen=True):
    """Nodes on which one unit of a resource has the same price, not 0."""

    resource: str
    price: float
    nodes: list[str]


class UplinkPrices(Struct, frozen=True):
    """Vertices of one level whose uplinks have the same price per Gbit/s, not 0."""

    level: str
    price: float
    uplinks: list[str]


class AreaPrice(Struct, frozen=True):
    """What one more GPU is worth in one domain (a vertex just above the nodes) and GPU type.

    `gpus_free` are those that the jobs to place may take, whoever got them; `mean` is weighted by them.
    """

    domain: str
    gpu_type: str
    gpus_free: int
    mean: float
    lowest: float
    highest: float


class PricedOut(Struct, frozen=True):
    """An unplaced job that is worth no more, at its best place, than what it takes there is worth to others.

    `value` is that difference, at most 0; None where it has no place at all. `excluded`: proven that no placement with
    an F as high as this solution's contains the job: the dual value at the prices plus `value` is below it.
    """

    job: str
    value: float | None
    excluded: bool


class SolutionPrices(Struct, frozen=True):
    """Prices π, μ of the bound's closed form (model.md, section 8), in GPUs' worth of perfect work at weight 1.

    They are complete: with the instance they prove that no placement is above `certified_bound`. What is not listed
    has the price 0.
    """

    certified_bound: float
    nodes: list[NodePrices]
    uplinks: list[UplinkPrices]
    areas: list[AreaPrice]
    priced_out: list[PricedOut]


class Solution(Struct, frozen=True):
    """The result of one `solve`. `prices` is None where the bound came without any."""

    format: Literal["crop-solution/1"]
    instance: InstanceRef
    crop_version: str
    solver: SolverInfo
    status: Status
    stop_reason: StopReason
    objective: float | None
    bound: float | None
    gap: float | None
    ratio: float | None
    guarantee: Guarantee
    metrics: Metrics | None
    runtime_s: Runtime
    placements: list[PlacedJob]
    unplaced: list[UnplacedJob]
    prices: SolutionPrices | None = None
