"""Nodes: their GPUs by kind, GPU types, health and taints."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from crop_cli.model.instance import NodeState
from crop_cli.sources.kubernetes.documents import Thing
from crop_cli.sources.kubernetes.notes import Notes
from crop_cli.sources.kubernetes.resources import POOLED, gpus_of, is_slice
from crop_cli.sources.kubernetes.tolerations import CORDONED, UNREACHABLE, Taint, taints

MOST_GPUS = 1024
"""Of a node, as the instance file limits them."""

_TYPE_LABELS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "alibabacloud.com/gpu-card-model",
    "aliyun.accelerator/nvidia_name",
    "gpu.nvidia.com/model",
    "k8s.amazonaws.com/accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "gpu.intel.com/product",
    "accelerator-type",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)
"""Where device plugins and clouds say what GPUs a node has, the most exact first."""


@dataclass(slots=True)
class Part:
    """A node of the instance: the GPUs of one kind of a Kubernetes node.

    Attributes
    ----------
    name
        The Kubernetes node's, with the kind after it where the node has several.
    resource
        The name by which pods ask for these GPUs.
    gpus, gpu_type
        As in the instance.
    fraction
        Of the Kubernetes node's cores and memory.
    """

    name: str
    resource: str
    gpus: int
    gpu_type: str
    fraction: float = 1.0


@dataclass(slots=True)
class KubeNode:
    """A Kubernetes node with GPUs.

    Attributes
    ----------
    pooled
        Its allocatable cores and bytes of memory.
    taints
        Those that keep pods away, without those that only repeat its state.
    parts
        One for each kind of GPU.
    """

    name: str
    labels: dict[str, str]
    state: NodeState
    pooled: dict[str, float]
    taints: list[Taint]
    parts: list[Part] = field(default_factory=list)

    def part(self, resource: str) -> Part | None:
        """The GPUs that go by a resource name."""
        return next((part for part in self.parts if part.resource == resource), None)


def read_nodes(things: list[Thing], notes: Notes) -> dict[str, KubeNode]:
    """The nodes with GPUs, by name.

    Parameters
    ----------
    things
        Of kind Node.
    notes
        Grows: nodes without GPUs, GPUs out of service, several kinds of GPUs on a node.
    """
    found: dict[str, KubeNode] = {}
    for thing in things:
        resources = thing.status.quantities("allocatable") or thing.status.quantities("capacity")
        gpus = _kinds(thing, resources)
        if not gpus:
            notes.skip("node", thing.name, "offers no GPUs")
            continue
        state = _state(thing, notes)
        pooled = {name: resources[name] for name in POOLED if name in resources}
        hard = [taint for taint in taints(thing.spec) if taint.key not in (*UNREACHABLE, CORDONED)]
        node = KubeNode(thing.name, thing.labels, state, pooled, hard)
        total = sum(gpus.values())
        kinds = Counter(resource.rpartition("/")[2] for resource in gpus)
        for resource, count in gpus.items():
            kind = resource.rpartition("/")[2]
            own = kind if kinds[kind] == 1 else resource.replace("/", "-")
            name = f"{thing.name}/{own}" if len(gpus) > 1 else thing.name
            share = count / total if total else 1 / len(gpus)
            node.parts.append(Part(name, resource, count, _gpu_type(thing.labels, resource), share))
            _note_part(thing, resource, count, notes)
        if len(gpus) > 1:
            notes.assume(
                "one node of the instance for each kind of GPU that the node offers, named node/kind; cores and memory "
                "are divided in proportion to the GPUs",
                "node",
                thing.name,
            )
        found[thing.name] = node
    _separate_types(found, notes)
    return found


def _kinds(thing: Thing, resources: dict[str, float]) -> dict[str, int]:
    """Allocatable GPUs by resource name; 0 where all of them are out of service."""
    capacity = gpus_of(thing.status.quantities("capacity"))
    allocatable = gpus_of(resources)
    found = {}
    for name in {**capacity, **allocatable}:
        amount = allocatable.get(name, 0.0)
        # A device plugin that is told to offer whole GPUs only leaves its other names at 0.
        if amount == 0 and capacity.get(name, 0.0) == 0:
            continue
        if amount != int(amount) or amount > MOST_GPUS:
            thing.status.child("allocatable").refuse(name, f"a whole number of GPUs, at most {MOST_GPUS}")
            continue
        found[name] = int(amount)
    return found


def _note_part(thing: Thing, resource: str, count: int, notes: Notes) -> None:
    lacking = thing.status.quantities("capacity").get(resource, 0.0) - count
    if lacking > 0:
        notes.warn("some GPUs are out of service (allocatable below capacity) and left out", "node", thing.name)
    if is_slice(resource):
        notes.warn(
            f"{resource} are slices of GPUs: a GPU type of their own, whose speed should be checked", "node", thing.name
        )
    elif (thing.labels.get("nvidia.com/gpu.replicas") or "1") not in ("0", "1") and resource == "nvidia.com/gpu":
        notes.warn("GPUs are shared by time (nvidia.com/gpu.replicas): every share counts as a GPU", "node", thing.name)


def _gpu_type(labels: dict[str, str], resource: str) -> str:
    """The GPU type, from the most exact label that there is; a slice's own."""
    own = labels.get(f"{resource}.product")
    if own:
        return own
    product = next((labels[label] for label in _TYPE_LABELS if labels.get(label)), "")
    kind = resource.rpartition("/")[2]
    if is_slice(resource):
        return f"{product}-{kind}" if product else kind
    return product or resource.replace("/", "-")


def _separate_types(nodes: dict[str, KubeNode], notes: Notes) -> None:
    """Types that go by different resource names get different names: a job asks for one of these names."""
    names: dict[str, set[str]] = {}
    for node in nodes.values():
        for part in node.parts:
            names.setdefault(part.gpu_type, set()).add(part.resource)
    shared = {gpu_type for gpu_type, resources in names.items() if len(resources) > 1}
    for node in nodes.values():
        for part in node.parts:
            if part.gpu_type in shared:
                part.gpu_type = f"{part.gpu_type} ({part.resource})"
    if shared:
        notes.assume("GPUs of one type that go by different resource names are different GPU types of the instance")


def _state(thing: Thing, notes: Notes) -> NodeState:
    """Health as the scheduler sees it: a node that is not ready is down, a cordoned one is drained."""
    ready = thing.condition("Ready")
    for condition in thing.status.children("conditions"):
        kind = condition.text("type")
        if kind != "Ready" and condition.text("status") == "True" and kind.endswith(("Pressure", "Unavailable")):
            notes.warn(f"condition {kind}", "node", thing.name)
    if ready in ("False", "Unknown") or any(taint.key in UNREACHABLE for taint in taints(thing.spec)):
        return "down"
    return "drained" if thing.spec.flag("unschedulable") else "up"


def count_nodes(nodes: dict[str, KubeNode], all_nodes: int, notes: Notes) -> None:
    """Enter the totals of the nodes."""
    notes.counts["nodes"] = all_nodes
    notes.counts["nodes with GPUs"] = len(nodes)
    notes.counts["GPUs"] = sum(part.gpus for node in nodes.values() for part in node.parts)
    for state, count in sorted(Counter(node.state for node in nodes.values()).items()):
        if state != "up":
            notes.counts[f"nodes {state}"] = count
