"""When devices fail, are repaired, slow down and recover: drawn from rates, or replayed from a fault trace.

Every node has its own stream of random numbers, so that what happens to it does not depend on the policy or on other
nodes: policies are compared under the same weather.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crop_cli.model.problem import Problem
from crop_cli.simulate.settings import DAY, Weather

Kind = Literal["fail", "repair", "slow", "recover"]

MOST_EXPONENT = 600.0
"""Of a repair time over its median: beyond, times would soon be no numbers any more."""


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """At `time` (s) something happens to nodes; `nodes` are node indices."""

    time: float
    kind: Kind
    nodes: tuple[int, ...]


def drawn(problem: Problem, weather: Weather, seed: int, until: float) -> Iterator[Change]:
    """Changes in order of time, up to a time.

    A node that is down does not fail again: the next failure is drawn from its repair on.
    """
    streams: list[Iterator[Change]] = []
    tree = problem.tree
    for n in range(problem.n_nodes):
        rate = float(problem.failures[n]) if weather.rates else 0.0
        if rate > 0:
            streams.append(_outages((n,), rate, weather, _stream(seed, 0, n), until))
        if weather.slow_per_day > 0:
            streams.append(_slow_spells(n, weather, _stream(seed, 1, n), until))
    if weather.switch_failures_per_day > 0 and tree.max_depth > 1:
        for v in range(int(tree.start[tree.max_depth - 1]), int(tree.start[tree.max_depth])):
            nodes = tuple(range(int(tree.first_node[v]), int(tree.end_node[v])))
            streams.append(_outages(nodes, weather.switch_failures_per_day, weather, _stream(seed, 2, v), until))
    return heapq.merge(*streams)


def replayed(faults: list[tuple[int, float, float]], until: float) -> Iterator[Change]:
    """Changes of a fault trace: (node index, start, end), seconds; faults of one node may overlap."""
    changes = []
    for node, start, end in faults:
        if start < until and end > start:
            changes += [Change(start, "fail", (node,)), Change(end, "repair", (node,))]
    return iter(sorted(changes))


def _outages(
    nodes: tuple[int, ...], rate: float, weather: Weather, rng: np.random.Generator, until: float
) -> Iterator[Change]:
    time = 0.0
    while True:
        time += rng.exponential(DAY / rate)
        if time >= until:
            return
        yield Change(time, "fail", nodes)
        exponent = min(weather.repair_sigma * rng.standard_normal(), MOST_EXPONENT)
        time += 3600.0 * weather.repair_median_h * math.exp(exponent)
        yield Change(time, "repair", nodes)


def _slow_spells(node: int, weather: Weather, rng: np.random.Generator, until: float) -> Iterator[Change]:
    time = 0.0
    while True:
        time += rng.exponential(DAY / weather.slow_per_day)
        if time >= until:
            return
        yield Change(time, "slow", (node,))
        time += rng.exponential(3600.0 * weather.slow_hours)
        yield Change(time, "recover", (node,))


def _stream(seed: int, kind: int, index: int) -> np.random.Generator:
    return np.random.default_rng([seed, kind, index])
