"""Small Kubernetes objects, and the import of them."""

from __future__ import annotations

import json
import re
from typing import Any

from crop_cli.model.instance import Instance, Job, Node
from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.kubernetes.documents import Input
from crop_cli.sources.kubernetes.draft import read
from crop_cli.sources.kubernetes.topology import option_levels
from crop_cli.sources.profiles import load_profiles

Thing = dict[str, Any]
GPU = "nvidia.com/gpu"
H100 = "NVIDIA-H100-80GB-HBM3"


def node(name: str, gpus: int | str = 8, labels: dict[str, str] | None = None, **fields: Any) -> Thing:
    """A node of 64 cores and 512 GiB; `allocatable` and `spec` are merged in."""
    allocatable = {"cpu": "64", "memory": "512Gi", GPU: str(gpus), **fields.pop("allocatable", {})}
    allocatable = {key: value for key, value in allocatable.items() if value != "0"}
    status = {"allocatable": allocatable, "capacity": fields.pop("capacity", allocatable), **fields.pop("status", {})}
    status.setdefault("conditions", [{"type": "Ready", "status": "True"}])
    own = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": H100, **(labels or {})}
    metadata = {"name": name, "labels": {key: value for key, value in own.items() if value}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": fields.pop("spec", {}), "status": status}


def containers(gpus: float = 0, cpu: str = "4", memory: str = "32Gi", resource: str = GPU, **fields: Any) -> Thing:
    """The specification of a pod with one container."""
    requests = {"cpu": cpu, "memory": memory, **({resource: str(gpus)} if gpus else {})}
    return {"containers": [{"name": "main", "image": "example/app:1", "resources": {"requests": requests}}], **fields}


def pod(name: str, gpus: float = 0, on: str = "", phase: str = "", **fields: Any) -> Thing:
    """A pod in the namespace ns; bound where `on` says; `owner` is (apiVersion, kind, name)."""
    metadata: Thing = {"name": name, "namespace": "ns", "labels": fields.pop("labels", {})}
    metadata["annotations"] = fields.pop("annotations", {})
    if "owner" in fields:
        version, kind, owner = fields.pop("owner")
        metadata["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": owner, "controller": True}]
    spec = containers(gpus, **fields)
    if on:
        spec["nodeName"] = on
    status = {"phase": phase or ("Running" if on else "Pending")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def thing(version: str, kind: str, name: str, spec: Thing | None = None, **fields: Any) -> Thing:
    """Any other object in the namespace ns."""
    metadata = {"name": name, "namespace": "ns", **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec or {}, **fields}


def job(name: str, pods: int, gpus: int, spec: Thing | None = None, **fields: Any) -> Thing:
    """A Job of Kubernetes: pods of so many GPUs each."""
    template = {"metadata": fields.pop("pod_metadata", {}), "spec": containers(gpus, **fields)}
    return thing(
        "batch/v1", "Job", name, {"parallelism": pods, "completions": pods, "template": template, **(spec or {})}
    )


def racks(gpus: int = 8) -> list[Thing]:
    """Two blocks of two racks of two nodes."""
    return [
        node(f"n{i}", gpus, labels={"b": f"b{i // 4}", "r": f"r{i // 2}", "kubernetes.io/hostname": f"n{i}"})
        for i in range(8)
    ]


def template(gpus: int, annotations: dict[str, str] | None = None, **spec: Any) -> Thing:
    """A pod template with one container."""
    return {"metadata": {"annotations": annotations or {}}, "spec": containers(gpus, **spec)}


def workload(
    name: str, *pod_sets: tuple[int, int, Thing], owner: tuple[str, str, str] | None = None, **spec: Any
) -> Thing:
    """A Workload of Kueue; each pod set is count, GPUs of a pod, and topologyRequest."""
    sets = [
        {"name": f"s{i}", "count": count, "template": template(gpus), "topologyRequest": request}
        for i, (count, gpus, request) in enumerate(pod_sets)
    ]
    metadata = {}
    if owner:
        metadata = {"ownerReferences": [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2]}]}
    return thing("kueue.x-k8s.io/v1beta2", "Workload", name, {"podSets": sets, **spec}, metadata=metadata)


def listing(*things: Thing) -> Input:
    """A List, as kubectl prints it."""
    document = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(things)}
    return Input("cluster.json", json.dumps(document).encode())


def draft(*things: Thing, levels: tuple[str, ...] = (), movable: bool = False) -> Draft:
    """The draft of a list of objects."""
    return read([listing(*things)], option_levels(levels), movable=movable)


def instance(found: Draft, fabric: str = "a100-ib") -> Instance:
    """The valid instance that a draft becomes."""
    return dress(found, load_profiles(), load_fabric(fabric)).instance


def jobs(found: Draft) -> dict[str, Job]:
    """The jobs of a draft by name without kind."""
    return {plain(draft.job.name): draft.job for draft in found.jobs}


def types(found: Draft) -> dict[str, tuple[str, ...] | None]:
    """The GPU types of a draft's jobs by name without kind."""
    return {plain(draft.job.name): draft.gpu_types for draft in found.jobs}


def nodes(found: Draft) -> dict[str, Node]:
    """The nodes of a draft by name."""
    return {node.name: node for node in found.nodes}


def reasons(found: Draft) -> dict[str, str]:
    """Why things were left out, by name without kind."""
    return {plain(skip.name): skip.reason for skip in found.skipped}


def plain(name: str) -> str:
    """A job's name without its kind."""
    return re.sub(r" \([A-Z][A-Za-z.0-9-]*\)", "", name)
