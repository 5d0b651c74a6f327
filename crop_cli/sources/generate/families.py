"""The families, one small function each: a cluster, its jobs, and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from crop_cli.sources.draft import DraftJob
from crop_cli.sources.generate import clusters, tight
from crop_cli.sources.generate.clusters import Cluster
from crop_cli.sources.generate.distributions import (
    DOWN,
    FAULT_SHAPE,
    FAULTS_PER_DAY,
    LLM_SIZES,
    MIXED_GPUS,
    PHILLY_JOBS,
    PHILLY_RUNNING,
    RESTRICTED,
)
from crop_cli.sources.generate.draw import Draw
from crop_cli.sources.generate.jobs import Ask, Models, draft_jobs, draw_sizes
from crop_cli.sources.generate.taken import TAKEN, take
from crop_cli.sources.profiles import Profiles

SLOW, SLOWEST = 0.02, (1.05, 1.3)
"""Share of slow nodes and the range of their slowdown."""

RESTART_MINUTES, CHECKPOINT_MINUTES = (5.0, 10.0, 20.0), (30.0, 60.0, 120.0)
"""Values of a job, all equally likely."""

HOSTS = "Hosts have 8 A100 (the topology states no GPUs)."

BY_TIME = "Job sizes: as they ask for GPUs at one moment in Philly, so that each size has its share of GPU time."
BY_JOBS = "Job sizes: as frequent as among Philly's jobs."
"""What the sizes are; `CAPPED` says what holds for both."""

CAPPED = "No job asks for more than a quarter of the free GPUs, or 8 if that is more."


@dataclass(slots=True)
class Made:
    """What a family makes.

    Attributes
    ----------
    cluster, jobs
        As they go into the draft.
    assumptions
        What no source states, a sentence each.
    """

    cluster: Cluster
    jobs: list[DraftJob]
    assumptions: list[str] = field(default_factory=list)


def lingjun_like(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Clos pods with Lingjun's rack sizes."""
    cluster = clusters.lingjun(ask.nodes, draw)
    jobs = _jobs(ask, draw, cluster, PHILLY_RUNNING, Models.of(profiles, ("A100",)))
    return Made(cluster, jobs, [HOSTS, BY_TIME, CAPPED])


def rail(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Groups of servers with four rails."""
    cluster = clusters.rail(ask.nodes)
    jobs = _jobs(ask, draw, cluster, PHILLY_RUNNING, Models.of(profiles, ("A100",)))
    ports = (
        "The four ports of a server are one uplink, the four leaf switches of a group one switch with all their ports."
    )
    return Made(cluster, jobs, [ports, BY_TIME, CAPPED])


def dgx_superpod(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Scalable units of DGX below spine switches."""
    cluster = clusters.superpod(ask.nodes)
    # Nothing in the table was measured on H100: what was on A100 is scaled by least.
    jobs = _jobs(ask, draw, cluster, PHILLY_RUNNING, Models.of(profiles, ("A100",)))
    return Made(cluster, jobs, [BY_TIME, CAPPED])


def philly_mix(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Philly's jobs by number."""
    cluster = clusters.plain(ask.nodes, "V100")
    jobs = _jobs(ask, draw, cluster, PHILLY_JOBS, Models.of(profiles, ("V100",)))
    return Made(cluster, jobs, [_PLAIN, BY_JOBS, CAPPED])


def philly_gpu_time(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Philly's jobs by GPU time."""
    cluster = clusters.plain(ask.nodes, "V100")
    jobs = _jobs(ask, draw, cluster, PHILLY_RUNNING, Models.of(profiles, ("V100",)))
    return Made(cluster, jobs, [_PLAIN, BY_TIME, CAPPED])


def llm_mix(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Few large gangs on whole nodes."""
    cluster = clusters.superpod(ask.nodes)
    free = sum(cluster.free().values())
    sizes = draw_sizes(draw, LLM_SIZES, free, ask, free)
    jobs = draft_jobs(draw, sizes, Models.of(profiles, ("A100",)))
    whole = [_with(draft, gpus_per_node=8) for draft in jobs]
    said = "Each size of 64, 128, ..., 1024 GPUs asks for as many GPUs in all as every other; gangs use whole nodes."
    return Made(cluster, whole, [said])


def fragmented(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Lingjun's racks with a share of the GPUs taken."""
    models = Models.of(profiles, ("A100",))
    cluster = clusters.lingjun(ask.nodes, draw)
    running = take(cluster, draw, models)
    jobs = _jobs(ask, draw, cluster, PHILLY_RUNNING, models, taken=sum(draft.job.gpus for draft in running))
    said = (
        f"{TAKEN:.0%} of the GPUs are taken, half of them as used, GPU by GPU, half by running jobs of Philly's sizes "
        "inside one node, which stay where they are; all at random."
    )
    return Made(cluster, [*running, *jobs], [HOSTS, said, BY_TIME, CAPPED])


def heterogeneous(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Racks of V100, P100 and K80; some jobs may use one type only."""
    cluster = clusters.heterogeneous(ask.nodes)
    jobs = _jobs(ask, draw, cluster, PHILLY_RUNNING, Models.of(profiles, tuple(MIXED_GPUS)))
    room: dict[str, int] = {}
    for node in cluster.nodes:
        room[node.gpu_type] = room.get(node.gpu_type, 0) + node.gpus
    chosen = []
    for draft in jobs:
        types = [kind for kind, gpus in room.items() if gpus >= draft.job.gpus]
        kind = draw.pick(types) if types and draw.chance(RESTRICTED) else None
        chosen.append(DraftJob(draft.job, draft.model, None if kind is None else (kind,)))
    said = [
        "Racks by turns of V100 nodes with 8 GPUs and of P100 and K80 nodes with 4 GPUs on PCIe 3.0 (126 Gbit/s), "
        "which together have as many GPUs of each type.",
        "29 % of the jobs may use one type only, all types equally likely (as many of openb's pods name types).",
        BY_TIME,
        CAPPED,
    ]
    return Made(cluster, chosen, said)


def failures(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """Lemon nodes, slow nodes, and jobs that lose work by failures."""
    cluster = clusters.lingjun(ask.nodes, draw)
    nodes = [
        msgspec.structs.replace(
            node,
            failures_per_day=float(f"{draw.gamma(FAULT_SHAPE, FAULTS_PER_DAY):.3g}"),
            slowdown=float(f"{draw.uniform(*SLOWEST):.3g}") if draw.chance(SLOW) else 1.0,
            state="down" if draw.chance(DOWN) else "up",
        )
        for node in cluster.nodes
    ]
    if all(node.state == "down" for node in nodes):
        nodes[0] = msgspec.structs.replace(nodes[0], state="up")
    cluster.nodes = nodes
    jobs = [
        _with(draft, restart_minutes=draw.pick(RESTART_MINUTES), checkpoint_minutes=draw.pick(CHECKPOINT_MINUTES))
        for draft in _jobs(ask, draw, cluster, PHILLY_RUNNING, Models.of(profiles, ("A100",)))
    ]
    said = [
        HOSTS,
        f"Failures per day of a node: Gamma with shape {FAULT_SHAPE} and mean {FAULTS_PER_DAY}; each node is down with "
        "a chance of 7 in 400.",
        "2 % of the nodes compute 5 to 30 % slower; restarts take 5, 10 or 20 minutes, checkpoints are 30, 60 or 120 "
        "minutes apart.",
        BY_TIME,
        CAPPED,
    ]
    return Made(cluster, jobs, said)


def tight_pieces(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """The tight example with its wide jobs in pieces."""
    cluster, jobs = tight.grid(ask, draw, pieces=True)
    return Made(cluster, jobs, [_optimum(ask), f"{_GRID}, whose wide job is cut into pieces of one GPU."])


def tight_coverage(ask: Ask, draw: Draw, profiles: Profiles) -> Made:
    """The tight example of greedy maximum coverage."""
    cluster, jobs = tight.grid(ask, draw)
    m = tight.block_size(ask.nodes)
    ratio = tight.greedy_value(ask.nodes) / tight.optimum(ask.nodes)
    said = [
        _optimum(ask),
        f"The greedy over nodes, before fill and improvement, ends at {ratio:.4f} of it (1 − (1 − 1/{m})^{m} = "
        f"{1 - (1 - 1 / m) ** m:.4f}).",
        f"{_GRID}, and nothing of more value.",
    ]
    return Made(cluster, jobs, said)


_GRID = "Resources and values are made up: a node holds a row or a column of a grid of jobs"

_PLAIN = "Racks of 8 nodes with 8 V100."


def _jobs(
    ask: Ask, draw: Draw, cluster: Cluster, shares: dict[int, float], models: Models, taken: int = 0
) -> list[DraftJob]:
    """Waiting jobs; none asks for more than a quarter of what is free, or for more than 8 GPUs if that is less."""
    free = sum(cluster.free().values()) - taken
    sizes = draw_sizes(draw, shares, free, ask, min(free, max(8, free // 4)))
    return draft_jobs(draw, sizes, models)


def _with(draft: DraftJob, **fields: float) -> DraftJob:
    return DraftJob(msgspec.structs.replace(draft.job, **fields), draft.model, draft.gpu_types)


def _optimum(ask: Ask) -> str:
    return f"The optimum runs every job: F = {tight.optimum(ask.nodes):.6f}."
