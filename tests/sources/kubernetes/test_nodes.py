"""Nodes: GPUs of every vendor, types, health, taints, several kinds of GPUs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from crop_cli.sources.kubernetes.documents import Input
from crop_cli.sources.kubernetes.draft import read
from tests.sources.kubernetes.build import GPU, H100, draft, instance, jobs, node, nodes, pod, reasons, thing, types
from tests.sources.kubernetes.shared import SHARED


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "nvidia.com/mig-3g.20gb",
        "nvidia.com/gpu.shared",
        "amd.com/gpu",
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "habana.ai/gaudi",
        "huawei.com/Ascend910",
        "aws.amazon.com/neuron",
        "aws.amazon.com/neuroncore",
        "alibabacloud.com/gpu-count",
        "google.com/tpu",
    ],
)
def test_vendors(resource: str) -> None:
    """GPUs of any vendor's resource name count, and jobs that ask by that name may use them."""
    found = draft(
        node("a", 0, allocatable={resource: "4"}),
        node("b", 0, allocatable={resource: "2"}),
        pod("p", 2, resource=resource),
    )
    assert {name: n.gpus for name, n in nodes(found).items()} == {"a": 4, "b": 2}
    assert jobs(found)["ns/p"].gpus == 2
    instance(found)


def test_other_names_of_the_same_devices_count_once() -> None:
    """Neuron devices that go by their cores, too, are counted by device."""
    found = draft(node("a", 0, allocatable={"aws.amazon.com/neuron": "16", "aws.amazon.com/neuroncore": "32"}))
    assert nodes(found)["a"].gpus == 16


def test_unrelated_resources_are_no_gpus() -> None:
    """Resources that are not whole devices or slices leave a node without GPUs."""
    other = {
        "rdma/hca": "8",
        "nvidia.com/gpumem": "80000",
        "gpu.intel.com/i915_monitoring": "1",
        "vpc.amazonaws.com/efa": "4",
    }
    found = draft(node("a"), node("b", 0, allocatable=other))
    assert reasons(found) == {"b": "offers no GPUs"}
    assert found.counts["nodes"] == 2
    assert found.counts["nodes with GPUs"] == 1


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"nvidia.com/gpu.product": "Tesla-V100-SXM2-16GB"}, "Tesla-V100-SXM2-16GB"),
        ({"nvidia.com/gpu.product": "", "cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}, "nvidia-h100-80gb"),
        ({"nvidia.com/gpu.product": "", "node.kubernetes.io/instance-type": "p4d.24xlarge"}, "p4d.24xlarge"),
        ({"nvidia.com/gpu.product": "", "alibabacloud.com/gpu-card-model": "T4"}, "T4"),
        ({"nvidia.com/gpu.product": ""}, "nvidia.com-gpu"),
    ],
)
def test_types(labels: dict[str, str], name: str) -> None:
    """The GPU type is the most exact label's, and the resource's name without any."""
    assert nodes(draft(node("a", labels=labels)))["a"].gpu_type == name


def test_several_kinds_of_gpus() -> None:
    """A node with whole GPUs and MIG slices becomes two nodes that share its cores and memory, each with a type."""
    mig = "nvidia.com/mig-1g.5gb"
    found = draft(
        node("a", 4, allocatable={mig: "12"}),
        pod("whole", 2, on="a", cpu="4"),
        pod("slice", 3, on="a", resource=mig, cpu="6"),
        pod("plain", on="a", cpu="8"),
        pod("waits", 1, resource=mig),
    )
    assert {n.name: (n.gpus, n.gpu_type) for n in found.nodes} == {
        "a/gpu": (4, H100),
        "a/mig-1g.5gb": (12, f"{H100}-mig-1g.5gb"),
    }
    assert [n.resources["cpu"] for n in found.nodes] == [16, 48]
    assert [n.used["cpu"] for n in found.nodes] == [2, 6]  # the pod without GPUs
    assert jobs(found)["ns/slice"].placement == {"a/mig-1g.5gb": 3}
    assert types(found)["ns/waits"] == (f"{H100}-mig-1g.5gb",)
    assert any("a node of the instance" in text or "one node of the instance" in text for text in found.assumptions)
    instance(found)


def test_gpus_out_of_service() -> None:
    """GPUs that are not allocatable are left out with a warning; a node may be left with none."""
    capacity = {"cpu": "64", "memory": "512Gi", GPU: "8"}
    found = draft(node("a", 7, capacity=capacity), node("b", 0, capacity=capacity))
    assert {name: n.gpus for name, n in nodes(found).items()} == {"a": 7, "b": 0}
    assert "2 nodes (a, b): some GPUs are out of service (allocatable below capacity) and left out" in found.warnings


def test_time_sharing_is_warned_of() -> None:
    """Shares by time count as GPUs, and the user is told."""
    found = draft(node("a", 16, labels={"nvidia.com/gpu.replicas": "4"}))
    assert any("shared by time" in text for text in found.warnings)


def _with(kind: str, status: str) -> dict[str, object]:
    return {"conditions": [{"type": "Ready", "status": "True"}, {"type": kind, "status": status}]}


def test_health() -> None:
    """Not ready and unknown nodes are down, cordoned ones drained; pressure is a warning only."""
    found = draft(
        node("ready"),
        node("no", status={"conditions": [{"type": "Ready", "status": "False"}]}),
        node("lost", status={"conditions": [{"type": "Ready", "status": "Unknown"}]}),
        node("gone", spec={"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}),
        node("cordoned", spec={"unschedulable": True}),
        node("full", status=_with("DiskPressure", "True")),
        node("fine", status=_with("DiskPressure", "False")),
        node("bare", status={"conditions": []}),
    )
    states = {name: n.state for name, n in nodes(found).items()}
    expected = dict.fromkeys(states, "up") | dict.fromkeys(("no", "lost", "gone"), "down") | {"cordoned": "drained"}
    assert states == expected
    assert "1 node (full): condition DiskPressure" in found.warnings
    assert (found.counts["nodes down"], found.counts["nodes drained"]) == (3, 1)


_TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
_TOLERATION = {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}


def test_taints_of_gpu_nodes_are_tolerated() -> None:
    """Taints that keep pods without GPUs away do not drain a node; soft ones neither."""
    spec = {
        "taints": [
            {"key": GPU, "value": "present", "effect": "NoSchedule"},
            {"key": "sku", "value": "gpu", "effect": "NoSchedule"},
            {"key": "any", "effect": "PreferNoSchedule"},
        ]
    }
    assert nodes(draft(node("a", spec=spec), pod("p", 1)))["a"].state == "up"


@pytest.mark.parametrize(
    ("toleration", "state"),
    [
        (_TOLERATION, "up"),
        ({"operator": "Exists"}, "up"),
        ({"key": "team", "operator": "Exists"}, "up"),
        ({"key": "team", "value": "a"}, "up"),
        ({"key": "team", "value": "b"}, "drained"),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, "drained"),
        ({}, "drained"),
    ],
)
def test_taints(toleration: dict[str, str], state: str) -> None:
    """A node is drained if no waiting job tolerates its taint."""
    found = draft(node("a", spec={"taints": [_TAINT]}), pod("p", 1, tolerations=[toleration]))
    assert nodes(found)["a"].state == state


def test_taint_without_waiting_jobs() -> None:
    """With nobody waiting a tainted node takes no job, whatever runs there."""
    found = draft(node("a", spec={"taints": [_TAINT]}), pod("p", 1, on="a", tolerations=[_TOLERATION]))
    assert nodes(found)["a"].state == "drained"
    assert nodes(found)["a"].used["gpus"] == 1
    instance(found)


def test_taints_that_some_tolerate_divide_the_type() -> None:
    """A node that only some jobs may use gets a GPU type of its own, so that the others stay away."""
    found = draft(
        node("a"), node("b", spec={"taints": [_TAINT]}), pod("may", 1, tolerations=[_TOLERATION]), pod("not", 1)
    )
    assert {n.name: (n.gpu_type, n.state) for n in found.nodes} == {"a": (f"{H100} group 2", "up"), "b": (H100, "up")}
    assert types(found) == {"ns/may": None, "ns/not": (f"{H100} group 2",)}


def test_flavors_tolerate_for_kueue() -> None:
    """What Kueue admits gets the tolerations of resource flavors."""
    flavor = thing("kueue.x-k8s.io/v1beta1", "ResourceFlavor", "f", {"tolerations": [_TOLERATION]})
    pods = {"podSets": [{"name": "main", "count": 1, "template": {"spec": pod("x", 1)["spec"]}}]}
    queued = thing("kueue.x-k8s.io/v1beta1", "Workload", "w", pods)
    assert nodes(draft(node("a", spec={"taints": [_TAINT]}), flavor, queued))["a"].state == "up"


@pytest.mark.skipif(SHARED is None, reason="the traces are not there")
def test_openb() -> None:
    """The 1,213 nodes of the openb trace have the 6,212 GPUs, and the types, that its own table says."""
    folder = Path(SHARED or "") / "traces" / "alibaba_openb"
    file = folder / "openb_node_list_gpu_node.yaml"
    found = read([Input(file.name, file.read_bytes())])
    rows = [line.split(",") for line in (folder / "openb_node_list_gpu_node.csv").read_text().splitlines()[1:]]
    assert len(found.nodes) == len(rows) == 1213
    assert sum(n.gpus for n in found.nodes) == found.counts["GPUs"] == 6212
    expected = Counter((row[4], int(row[3])) for row in rows)
    assert Counter((n.gpu_type, n.gpus) for n in found.nodes) == expected
    by_name = nodes(found)
    for name, cpu_milli, memory_mib, _, _ in rows:
        assert by_name[name].resources["cpu"] == int(cpu_milli) / 1000
        assert by_name[name].resources["memory_gib"] == pytest.approx(int(memory_mib) / 1024, abs=1e-6)
    instance(found)


def test_kinds_of_equal_last_names() -> None:
    """GPUs of two vendors on a node get different names; Koordinator's hundredths of GPUs are none."""
    found = draft(
        node("a", 4, allocatable={"amd.com/gpu": "2"}), node("b", 8, allocatable={"koordinator.sh/gpu": "800"})
    )
    assert {made.name: made.gpus for made in found.nodes} == {"a/nvidia.com-gpu": 4, "a/amd.com-gpu": 2, "b": 8}
    instance(found)


def test_shares_by_annotation_are_told() -> None:
    """A waiting pod that asks for a share of a GPU by annotation is left out, not lost."""
    found = draft(node("a", 8), pod("half", annotations={"gpu-fraction": "0.5"}))
    assert reasons(found) == {"half": "asks for a share of a GPU by annotation"}
