"""What bound pods take of their nodes."""

from __future__ import annotations

import math
from collections import defaultdict

from crop_cli.model.instance import Node
from crop_cli.model.rules import exceeds
from crop_cli.sources.kubernetes.cluster import Cluster
from crop_cli.sources.kubernetes.nodes import KubeNode, Part
from crop_cli.sources.kubernetes.notes import Notes
from crop_cli.sources.kubernetes.quantities import GIB
from crop_cli.sources.kubernetes.resources import Request

UNITS = {"cpu": ("cpu", 1.0), "memory": ("memory_gib", GIB)}
"""Names and units of the instance: cores, and GiB."""


class Usage:
    """Loads of the nodes of the instance.

    Parameters
    ----------
    cluster
        Whose nodes they are.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._taken: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def take(self, node: str, request: Request) -> None:
        """A pod is on a node with GPUs.

        Its cores and memory count for the kind of GPUs that it uses; without GPUs for all kinds by their share.
        """
        kube = self.cluster.nodes[node]
        parts = [part for part in kube.parts if part.resource in request.gpus]
        for part in parts:
            self._taken[part.name]["gpus"] += request.gpus[part.resource] * request.share
        for part in parts[:1] or kube.parts:
            fraction = 1.0 if parts else part.fraction
            for name, amount in request.pooled.items():
                self._taken[part.name][name] += amount * fraction

    def give_back(self, part: str, gpus: int, pooled: dict[str, float]) -> None:
        """A running job of the instance has these, so that they are not used by others."""
        taken = self._taken[part]
        taken["gpus"] -= gpus
        for name, amount in pooled.items():
            taken[name] = max(0.0, taken[name] - amount)

    def overfull(self) -> set[str]:
        """Nodes of which more is taken than they have."""
        found = set()
        for kube in self.cluster.nodes.values():
            for part in kube.parts:
                taken = self._taken.get(part.name, {})
                if any(exceeds(amount, _has(kube, part, name)) for name, amount in taken.items()):
                    found.add(part.name)
        return found

    def node(self, kube: KubeNode, part: Part, parent: str | None, notes: Notes) -> Node:
        """The node of the instance; what is taken beyond what there is, is cut off with a warning."""
        used = {}
        for name, amount in self._taken.get(part.name, {}).items():
            has = _has(kube, part, name)
            if exceeds(amount, has):
                notes.warn(f"pods take more {name} than the node offers: all of it counts as used", "node", part.name)
            # Shares of GPUs leave none of it for a whole worker.
            whole = math.ceil(amount - 1e-9) if name == "gpus" else amount
            own, unit = UNITS.get(name, (name, 1.0))
            if whole > 0 and has > 0:
                used[own] = _tidy(min(whole, has) / unit)
        resources = {
            UNITS[name][0]: _tidy(amount * part.fraction / UNITS[name][1]) for name, amount in kube.pooled.items()
        }
        return Node(
            name=part.name,
            gpus=part.gpus,
            parent=parent,
            gpu_type=part.gpu_type,
            resources=resources,
            used={name: min(amount, resources.get(name, part.gpus)) for name, amount in used.items()},
            state=kube.state,
        )


def _has(kube: KubeNode, part: Part, name: str) -> float:
    return part.gpus if name == "gpus" else kube.pooled.get(name, 0.0) * part.fraction


def _tidy(amount: float) -> float:
    """Without the noise of sums; six digits after the point are thousandths of a core or kilobytes."""
    return round(amount, 6)
