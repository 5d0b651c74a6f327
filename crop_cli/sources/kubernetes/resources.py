"""Resource names that stand for GPUs, and what a pod asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from crop_cli.sources.kubernetes.fields import Fields

CPU = "cpu"
MEMORY = "memory"
POOLED: tuple[str, ...] = (CPU, MEMORY)
"""What pods take besides GPUs; everything else is not read."""

GPU_MILLI = "alibabacloud.com/gpu-milli"
"""Thousandths of one GPU that a pod takes, beside a count of 1."""

_WHOLE = re.compile(
    r"nvidia\.com/(gpu(\.shared)?|mig-[0-9a-z.+]+)"
    r"|amd\.com/(gpu|[sdcqn]px_nps[0-9])"
    r"|gpu\.intel\.com/(i915|xe)|habana\.ai/gaudi"
    r"|huawei\.com/(npu|Ascend[A-Za-z0-9-]+)"
    r"|aws\.amazon\.com/(neuron|neurondevice|neuroncore)"
    r"|(alibabacloud|aliyun)\.com/gpu(-count)?"
    r"|google\.com/tpu|cambricon\.com/mlu|[a-z0-9.-]+/gpu"
)
"""Device plugins' names of whole devices, or of slices that are devices of their own."""

_PERCENT = ("koordinator.sh/gpu",)
"""Hundredths of GPUs, beside the device plugin's name (Koordinator: "Device Scheduling - GPU Share")."""

_ALIASES = {"aws.amazon.com/neuroncore": ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice")}
"""Names that count again what other names of the same node count: the node's devices by core."""

_SAME = {"aws.amazon.com/neurondevice": "aws.amazon.com/neuron"}
"""Older names of the same devices."""


@cache
def is_gpu(resource: str) -> bool:
    """Whether a resource counts GPUs (or accelerators that play their part)."""
    return resource not in _PERCENT and _WHOLE.fullmatch(resource) is not None


@cache
def is_slice(resource: str) -> bool:
    """Whether a resource counts parts of GPUs: MIG slices, partitions, shares by time."""
    return "/mig-" in resource or "px_nps" in resource or resource.endswith(".shared")


def gpus_of(resources: dict[str, float]) -> dict[str, float]:
    """The GPUs among resources, by name; those that are only other names left out."""
    found: dict[str, float] = {}
    for name, amount in resources.items():
        if is_gpu(name) and not any(other in resources for other in _ALIASES.get(name, ())):
            own = _SAME.get(name, name)
            found[own] = max(found.get(own, 0.0), amount)
    return found


@dataclass(slots=True)
class Request:
    """What a pod takes of its node.

    Attributes
    ----------
    gpus
        By resource name, above 0.
    pooled
        Cores of "cpu", bytes of "memory".
    share
        Of one GPU, where the pod takes less than a whole one; else 1.
    others
        Names of other resources that it asks for.
    claims
        Whether it asks for devices by resource claims (dynamic resource allocation), which name no number.
    """

    gpus: dict[str, float] = field(default_factory=dict)
    pooled: dict[str, float] = field(default_factory=dict)
    share: float = 1.0
    others: frozenset[str] = frozenset()
    claims: bool = False

    @property
    def gpu_count(self) -> int:
        """All its GPUs."""
        return round(sum(self.gpus.values()))


_NOT_PLACED = ("ephemeral-storage", "pods", "storage", GPU_MILLI)


def pod_request(spec: Fields) -> Request:
    """What the scheduler reserves for a pod.

    For every resource that is the sum over its containers and side-cars (init containers that are always restarted), or
    what one init container asks for together with the side-cars before it if that is more, plus the overhead of its
    runtime class (Kubernetes: "Init containers", "Sidecar containers", "Pod overhead").

    Parameters
    ----------
    spec
        Of a pod or of a pod template.
    """
    running: dict[str, float] = {}
    for container in spec.children("containers"):
        _add(running, _container(container))
    if spec.data.get("initContainers"):
        running = _with_init(spec, running)
    whole = spec.data.get("resources")
    if whole:
        # Requests of the pod as a whole stand above those of its containers.
        running.update({name: amount for name, amount in _requests(spec.child("resources")).items() if name in POOLED})
    if spec.data.get("overhead"):
        _add(running, spec.quantities("overhead"))
    gpus = {name: amount for name, amount in gpus_of(running).items() if amount > 0}
    others = frozenset(
        name
        for name, amount in running.items()
        if amount > 0 and name not in POOLED and name not in _NOT_PLACED and not is_gpu(name)
    )
    milli = running.get(GPU_MILLI, 1000.0)
    share = milli / 1000 if 0 < milli < 1000 and sum(gpus.values()) == 1 else 1.0
    pooled = {name: running[name] for name in POOLED if running.get(name)}
    return Request(gpus, pooled, share, others, bool(spec.data.get("resourceClaims")))


def _with_init(spec: Fields, running: dict[str, float]) -> dict[str, float]:
    """The most that is reserved at any time, from the first init container on."""
    sidecars: dict[str, float] = {}
    most: dict[str, float] = {}
    for container in spec.children("initContainers"):
        asked = dict(_container(container))
        if container.text("restartPolicy") == "Always":
            _add(sidecars, asked)
            asked = sidecars
        else:
            _add(asked, sidecars)
        for name, amount in asked.items():
            most[name] = max(most.get(name, 0.0), amount)
    total = dict(running)
    _add(total, sidecars)
    return {name: max(total.get(name, 0.0), most.get(name, 0.0)) for name in {**total, **most}}


def _container(container: Fields) -> dict[str, float]:
    return _requests(container.child("resources")) if container.data.get("resources") else {}


def _requests(resources: Fields) -> dict[str, float]:
    """Requests; a limit without a request is one, too."""
    limits, requests = resources.data.get("limits"), resources.data.get("requests")
    if limits == requests or not limits:
        return resources.quantities("requests")
    return {**resources.quantities("limits"), **(resources.quantities("requests") if requests else {})}


def _add(total: dict[str, float], more: dict[str, float]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0.0) + amount
