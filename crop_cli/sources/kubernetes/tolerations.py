"""Taints of nodes and tolerations of pods (Kubernetes: "Taints and Tolerations")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crop_cli.sources.kubernetes.fields import Fields
from crop_cli.sources.kubernetes.resources import is_gpu

UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints of nodes whose kubelet is not there."""

CORDONED = "node.kubernetes.io/unschedulable"
"""Taint of cordoned nodes, whatever pods tolerate."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint that keeps pods away."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def for_gpus(self) -> bool:
        """Whether it only keeps pods without GPUs away.

        The admission plugin ExtendedResourceToleration lets pods tolerate the name of the resource that they ask for;
        managed clusters mark GPU nodes by "sku=gpu" and the like, too.
        """
        return (
            is_gpu(self.key)
            or self.key in ("gpu", "nvidia.com/gpu.present")
            or (self.key, self.value) == ("sku", "gpu")
        )


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration; an empty key or effect stands for all."""

    key: str
    value: str
    effect: str
    exists: bool

    def covers(self, taint: Taint) -> bool:
        """Whether a pod with it may run on a node with the taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if not self.key:
            return self.exists
        return self.key == taint.key and (self.exists or self.value == taint.value)


def taints(spec: Fields) -> list[Taint]:
    """The taints of a node that no pod may ignore."""
    found = [Taint(taint.text("key"), taint.text("value"), taint.text("effect")) for taint in spec.children("taints")]
    return [taint for taint in found if taint.effect in ("NoSchedule", "NoExecute")]


def tolerations(spec: Fields) -> frozenset[Toleration]:
    """The tolerations of a pod, or of a resource flavor."""
    if not spec.data.get("tolerations"):
        return frozenset()
    return frozenset(
        Toleration(one.text("key"), one.text("value"), one.text("effect"), one.text("operator", "Equal") == "Exists")
        for one in spec.children("tolerations")
    )


def tolerates(held: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations covers a taint."""
    return any(toleration.covers(taint) for toleration in held)
