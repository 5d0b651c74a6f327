"""The evaluator's rules for a placement that differs from an accepted one in a few jobs and nodes.

A drill repairs thousands of failures; each changes little. What did not change was accepted before and is not looked at
again: the rules (`crop_cli.model.rules`) and outcomes are the evaluator's own, on the nodes and uplinks that changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from crop_cli.errors import BackendError
from crop_cli.model.load import LinkTraffic, free_resources, uplink_traffic
from crop_cli.model.outcome import JobOutcome, outcome_of, reservation_gbps
from crop_cli.model.rules import gang, overbooked, overfull, shape
from crop_cli.model.topology import Vertex
from crop_cli.repair.scene import ByName, Running


class Judge:
    """Accepts repairs of one running placement."""

    def __init__(self, running: Running) -> None:
        self._instance, self._topology = running.fresh, running.topology
        self._jobs = {job.name: job for job in running.fresh.jobs}
        self.outcomes = running.before.jobs
        self._free = free_resources(running.fresh, self.outcomes)
        self._reserved = uplink_traffic(running.fresh, running.topology, self.outcomes)

    def accept(self, down: Iterable[str], gone: Iterable[str], placed: ByName) -> dict[str, JobOutcome]:
        """Outcomes of jobs at their new places.

        Parameters
        ----------
        down
            Nodes that are down.
        gone
            Jobs that left their old places: all of those with a worker on a node that is down.
        placed
            New places of some of them.

        Raises
        ------
        BackendError
            If a rule is broken.
        """
        topology = self._topology
        dead = {name: msgspec.structs.replace(topology.nodes[name], state="down") for name in down}
        after = replace(topology, nodes={**topology.nodes, **dead})
        broken, found = [], {}
        for name, nodes in placed.items():
            faults = gang(self._jobs[name], nodes, after)
            broken += faults
            if not faults:
                broken += shape(self._jobs[name], nodes, after)
                found[name] = outcome_of(self._instance, topology, self._jobs[name], nodes)
        # Only the nodes and uplinks of new places can have become too full.
        free = {name: dict(self._free[name]) for out in found.values() for name in out.nodes}
        touched = {vertex for out in found.values() for vertex in out.cuts}
        gbps: dict[Vertex, float] = defaultdict(float)
        gbps |= {vertex: self._reserved[vertex].gbps for vertex in touched if vertex in self._reserved}
        for sign, outcomes in ((-1, [self.outcomes[name] for name in gone]), (1, list(found.values()))):
            for name, out in zip(gone if sign < 0 else found, outcomes, strict=True):
                job = self._jobs[name]
                for node, x in out.nodes.items():
                    if node in free:
                        for r in free[node]:
                            free[node][r] -= sign * x * (1.0 if r == "gpus" else job.resources_per_gpu.get(r, 0.0))
                for vertex, x in out.cuts.items():
                    if vertex in touched:
                        gbps[vertex] += sign * reservation_gbps(topology, job, x, topology.uplink_gbps[vertex])
        links = {vertex: LinkTraffic(0, 0.0, rate) for vertex, rate in gbps.items()}
        broken += overfull(after, free) + overbooked(self._instance, after, links)
        if broken:
            text = "; ".join(violation.message for violation in broken[:3])
            raise BackendError(f"the evaluator refused a repair: {text}")
        return found
