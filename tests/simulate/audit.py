"""The state of a simulation recomputed from scratch: weather, places, books, by what `watch` is told."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from crop_cli.model.instance import Instance
from crop_cli.model.load import uplink_traffic
from crop_cli.model.problem import Counts
from crop_cli.model.rules import UPLINK
from crop_cli.model.sharing import Shared, evaluate_shared
from crop_cli.model.topology import Topology, Vertex
from crop_cli.model.trace import TraceJob, job_of
from crop_cli.simulate.engine import Engine
from crop_cli.simulate.run import problem_of
from crop_cli.simulate.settings import Settings
from crop_cli.simulate.weather import Change, drawn
from tests.simulate.build import change, trace


@dataclass
class Skies:
    """The weather of a simulation, replayed apart from it."""

    changes: Iterable[Change]
    down: Counter[int] = field(default_factory=Counter)
    slow: set[int] = field(default_factory=set)
    last_failure: dict[int, float] = field(default_factory=lambda: defaultdict(lambda: -math.inf))

    def __post_init__(self) -> None:
        self._rest = iter(self.changes)
        self._next = next(self._rest, None)

    def until(self, now: float) -> None:
        """Everything that happens up to a moment."""
        while self._next is not None and self._next.time <= now:
            for n in self._next.nodes:
                if self._next.kind == "fail":
                    if not self.down[n]:
                        self.last_failure[n] = self._next.time
                    self.down[n] += 1
                elif self._next.kind == "repair":
                    self.down[n] -= 1
                elif self._next.kind == "slow":
                    self.slow.add(n)
                else:
                    self.slow.discard(n)
            self._next = next(self._rest, None)


@dataclass
class Places:
    """Notes every start and move: time, job, nodes by name."""

    seen: list[tuple[float, str, dict[str, int]]] = field(default_factory=list)
    _now: dict[str, Counts] = field(default_factory=dict)

    def __call__(self, engine: Engine) -> None:
        names = engine.problem.node_names
        running = {member.name: member.counts for member in engine.cluster.running.values()}
        for name, counts in sorted(running.items()):
            if self._now.get(name) is not counts:
                self.seen.append((engine.now, name, {names[n]: x for n, x in counts.items()}))
        self._now = running

    def of(self, name: str) -> list[tuple[float, dict[str, int]]]:
        """A job's places in order of time."""
        return [(now, nodes) for now, member, nodes in self.seen if member == name]


class Auditor:
    """A `watch` that recomputes the state after every event from the running jobs' places and the definitions."""

    def __init__(self, jobs: list[TraceJob], cluster: Instance, settings: Settings, *, rates: bool = True) -> None:
        self.jobs, self.cluster, self.settings, self.rates = jobs, cluster, settings, rates
        self.problem = problem_of(trace(jobs), cluster, settings)
        self.skies = Skies(drawn(self.problem, settings.weather, settings.seed, settings.until_s or math.inf))
        residents = [j for j in cluster.jobs if j.placement is not None and not j.movable]
        self.pinned = [change(j, name=f"{j.name} that stays") for j in residents]
        self.topology = Topology.of(cluster.cluster)
        self.events = self.overbooked = self.slowed = 0
        self.held = 0.0
        self._last: tuple[float, int] | None = None

    def __call__(self, engine: Engine) -> None:
        self.skies.until(engine.now)
        self.events += 1
        shared = self._shared(engine)
        allowed = {UPLINK, "required job missing"}
        assert [v.message for v in shared.evaluation.violations if v.kind not in allowed] == []
        self._check_nodes(engine)
        self._check_phases(engine)
        self._check_uplinks(engine, shared)
        if self.rates:
            self._check_rates(engine, shared)
        self._integrate(engine)

    def _shared(self, engine: Engine) -> Shared:
        """The running placement as the model's definitions see it, slow nodes slowed down."""
        names = self.problem.node_names
        slow = {names[n] for n in self.skies.slow}
        factor = self.settings.weather.slow_factor
        nodes = [change(n, slowdown=n.slowdown * factor) if n.name in slow else n for n in self.cluster.cluster.nodes]
        everyone = [*map(job_of, self.jobs), *self.pinned]
        instance = change(self.cluster, cluster=change(self.cluster.cluster, nodes=nodes), jobs=everyone)
        placement = {j.name: {names[n]: x for n, x in j.counts.items()} for j in engine.cluster.running.values()}
        placement |= {j.name: {n: x for n, x in (j.placement or {}).items() if x > 0} for j in self.pinned}
        self.instance = instance
        shared = evaluate_shared(instance, placement)
        self.overbooked += bool(shared.loads)
        return shared

    def _check_nodes(self, engine: Engine) -> None:
        """No GPU twice (the evaluator has looked at that), none on a node that is down; what is free adds up."""
        free = self.problem.free.copy()
        for member in engine.cluster.running.values():
            assert sum(member.counts.values()) == member.gpus
            for n, x in member.counts.items():
                assert x > 0
                assert not self.skies.down[n]
                free[n] -= x * self.problem.kind(member.index).demand
        assert (free >= -1e-9 - 1e-6 * np.maximum(1, self.problem.capacity)).all()
        np.testing.assert_allclose(engine.cluster.free, free, atol=1e-9)
        down = np.array([self.skies.down[n] > 0 for n in range(self.problem.n_nodes)])
        np.testing.assert_array_equal(engine.cluster.up, self.problem.up & ~down)

    def _check_phases(self, engine: Engine) -> None:
        """Every job is in exactly one place."""
        waiting, running = {j.index for j in engine.queue}, set(engine.cluster.running)
        coming = {j.index for j in engine.arrivals}
        done = {j.index for j in engine.jobs if j.phase in ("finished", "rejected")}
        assert sum(map(len, (waiting, running, coming, done))) == len(engine.jobs)
        assert waiting | running | coming | done == set(range(len(engine.jobs)))
        assert all(engine.jobs[j].phase == "running" for j in running)

    def _check_uplinks(self, engine: Engine, shared: Shared) -> None:
        """What is reserved is the sum over the jobs that run, those that stay for good included."""
        tree = self.problem.tree
        traffic = uplink_traffic(self.instance, self.topology, shared.evaluation.jobs)
        for v in range(1, tree.n_vertices):
            vertex = Vertex(self.topology.levels[int(tree.depth[v]) - 1], tree.names[v])
            if self.topology.uplink_gbps[vertex] is not None:
                gbps = traffic[vertex].gbps if vertex in traffic else 0.0
                assert math.isclose(engine.cluster.reserved[v], gbps, rel_tol=1e-9, abs_tol=1e-9)

    def _check_rates(self, engine: Engine, shared: Shared) -> None:
        """Work per second is the efficiency under sharing, by the fastest type the job knows."""
        types = {node.gpu_type for node in self.cluster.cluster.nodes}
        for member in engine.cluster.running.values():
            seconds = self.jobs[member.index].compute_s
            known = seconds if isinstance(seconds, dict) else {"": seconds}
            here = {t: s for t, s in known.items() if t in types or t == ""}
            efficiency = shared.evaluation.jobs[member.name].efficiency
            expected = efficiency * min(known.values()) / min(here.values())
            assert math.isclose(member.rate, expected, rel_tol=5e-6)
            self.slowed += any(n in self.skies.slow for n in member.counts)

    def _integrate(self, engine: Engine) -> None:
        if self._last is not None:
            self.held += self._last[1] * (engine.now - self._last[0])
        self._last = (engine.now, sum(sum(j.counts.values()) for j in engine.cluster.running.values()))

    def end(self, now: float) -> None:
        """The time from the last event to the end."""
        if self._last is not None:
            self.held += self._last[1] * (now - self._last[0])
