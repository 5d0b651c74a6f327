"""Tiny random instances that together use every feature of the model, small enough to enumerate.

`random_instance` draws from a seed; the hypothesis strategy `instances` draws the same structure piece by piece, so
that it shrinks to few nodes, few jobs and default values.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Objective, Segment, Spread, Switch
from tests.bruteforce import World, enumerate_job

T = TypeVar("T")

LEVELS = ("zone", "pod", "rack", "node")
TYPES = ("a100", "a100", "v100")


class Source(Protocol):
    """Where choices come from. The first of the options is the plainest."""

    def integer(self, low: int, high: int) -> int: ...

    def pick(self, options: Sequence[T]) -> T: ...


@dataclass(frozen=True)
class Bounds:
    """How large an instance may be, and whether some jobs may run already."""

    max_nodes: int = 5
    max_gpus: int = 4
    min_levels: int = 1
    max_levels: int = 3
    max_jobs: int = 4
    max_workers: int = 5
    running: bool = True


class _Random:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)


class _Drawn:
    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def pick(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))


def random_instance(seed: int, **bounds: int | bool) -> Instance:
    """A valid tiny instance; equal seeds and bounds (fields of `Bounds`) give equal instances."""
    return _build(_Random(seed), Bounds(**bounds), f"tiny-{seed}")


@st.composite
def _instances(draw: DrawFn, bounds: Bounds) -> Instance:
    return _build(_Drawn(draw), bounds, "tiny")


def instances(**bounds: int | bool) -> SearchStrategy[Instance]:
    """Hypothesis strategy of valid tiny instances; keywords are fields of `Bounds`."""
    return _instances(Bounds(**bounds))


def _build(source: Source, bounds: Bounds, name: str) -> Instance:
    levels = list(LEVELS[-source.integer(bounds.min_levels, bounds.max_levels) :])
    cluster = Cluster(
        levels=levels,
        nodes=[_node(source, bounds, i) for i in range(_large(source, bounds.max_nodes))],
        oversubscription=source.pick([1.0, 1.0, 2.0, 0.5]),
    )
    cluster = _with_switches(source, cluster)
    instance = Instance(
        format=FORMAT,
        name=name,
        cluster=cluster,
        objective=Objective(
            failure_weight=source.pick([1.0, 0.0, 3.0]),
            cut_penalty=source.pick([0.001, 0.0, 0.02, 0.2]),
            horizon_minutes=source.pick([1440.0, 600.0]),
        ),
        jobs=[_job(source, bounds, levels, i) for i in range(source.integer(1, bounds.max_jobs))],
    )
    return _with_running(source, instance) if bounds.running else instance


def _large(source: Source, high: int) -> int:
    """A number from 1 to `high`, more often a large one: most jobs should find room."""
    return max(source.integer(min(1, high), high), source.integer(min(1, high), high))


def _node(source: Source, bounds: Bounds, i: int) -> Node:
    gpus = _large(source, bounds.max_gpus) if source.pick([True] * 7 + [False]) else 0
    resources = source.pick([{"cpu": 8.0}, {"cpu": 16.0, "memory_gib": 16.0}, {"cpu": 4.5, "memory_gib": 10.3}, {}])
    used: dict[str, float] = {}
    if source.pick([False, False, False, True]):
        used["gpus"] = source.integer(0, min(gpus, 2))
        used |= {resource: source.pick([0.0, 1.5]) for resource in resources}
    return Node(
        name=f"n{i + 1}",
        gpus=gpus,
        gpu_type=source.pick(TYPES),
        gpu_link_gbps=source.pick([None, 100.0, 20.0, 5.0]),
        fabric_gbps=source.pick([None, 200.0, 30.0, 8.0]),
        uplink_gbps=source.pick([None, 40.0, 10.0, 2.0, 0.5]),
        resources=resources,
        used=used,
        slowdown=source.pick([1.0, 1.0, 1.25, 2.0]),
        failures_per_day=source.pick([0.0, 0.0, 0.01, 0.3]),
        state=source.pick(["up"] * 10 + ["drained", "down"]),
    )


def _with_switches(source: Source, cluster: Cluster) -> Cluster:
    """Give every node a parent, every parent a parent, up to the top; only switches with something below them."""
    switches: list[Switch] = []
    nodes = list(cluster.nodes)
    children = [node.name for node in nodes]
    parent_of: dict[str, str] = {}
    for level in reversed(cluster.levels[:-1]):
        groups = source.integer(1, max(1, min(3, len(children))))
        chosen = [f"{level}-{source.integer(1, groups)}" for _ in children]
        parent_of.update(zip(children, chosen, strict=True))
        children = sorted(set(chosen))
        switches += [
            Switch(name=name, level=level, uplink_gbps=source.pick([None, 40.0, 10.0, 2.0, 0.5])) for name in children
        ]
    return msgspec.structs.replace(
        cluster,
        nodes=[msgspec.structs.replace(node, parent=parent_of.get(node.name)) for node in nodes],
        switches=[msgspec.structs.replace(switch, parent=parent_of.get(switch.name)) for switch in switches],
    )


def _job(source: Source, bounds: Bounds, levels: list[str], i: int) -> Job:
    gpus = source.integer(1, bounds.max_workers)
    divisors = [d for d in range(1, gpus + 1) if gpus % d == 0]
    shape = source.pick(["", "", "", "", "", "within", "segment", "spread", "gpus_per_node", "two"])
    return Job(
        name=f"j{i + 1}",
        gpus=gpus,
        weight=source.pick([1.0, 1.0, 2.5, 0.5]),
        required=source.pick([False] * 7 + [True]),
        compute_s=source.pick(
            [
                1.0,
                0.4,
                {"a100": 0.5, "v100": 0.75},
                {"h100": 0.1, "a100": 0.3, "v100": 0.7},
                {"a100": 0.5},
                {"v100": 0.8},
            ]
        ),
        message_mb=source.pick([0.0, 10.0, 66.6, 200.0, 600.0]),
        pattern=source.pick(["allreduce", "alltoall"]),
        overlap=source.pick([0.0, 0.0, 0.3, 1.0]),
        resources_per_gpu=source.pick([{}, {}, {}, {"cpu": 2.0}, {"cpu": 1.5, "memory_gib": 4.1}]),
        restart_minutes=source.pick([0.0, 10.0, 90.0]),
        checkpoint_minutes=source.pick([0.0, 30.0]),
        within=source.pick(levels) if shape in ("within", "two") else None,
        segment=Segment(gpus=source.pick(divisors), level=source.pick(levels)) if shape == "segment" else None,
        spread=Spread(level=source.pick(levels), max_gpus=_large(source, gpus)) if shape in ("spread", "two") else None,
        gpus_per_node=source.pick(divisors) if shape == "gpus_per_node" else None,
    )


def _with_running(source: Source, instance: Instance) -> Instance:
    """Start some of the jobs, one after the other, where there is room; some of them may be moved."""
    world = World(instance)
    jobs = []
    for job in instance.jobs:
        where = list(enumerate_job(world, job)) if source.pick([False, False, False, True]) else []
        running = job
        if where:
            running = msgspec.structs.replace(
                job,
                placement=where[source.integer(0, len(where) - 1)],
                movable=source.pick([False, True]),
                migration_minutes=source.pick([0.0, 30.0, 300.0]),
            )
            world.take(job, running.placement)
        jobs.append(running)
    return msgspec.structs.replace(instance, jobs=jobs)
