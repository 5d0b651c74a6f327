"""The sample files, which follow the public API references: totals counted by hand, and what each kind becomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crop_cli.model.instance import Segment
from crop_cli.sources.draft import Draft
from crop_cli.sources.kubernetes.documents import Input
from crop_cli.sources.kubernetes.draft import read
from crop_cli.sources.kubernetes.topology import option_levels
from tests.sources.kubernetes.build import instance, jobs, nodes, reasons, types

DATA = Path(__file__).resolve().parents[1] / "data" / "kubernetes"
H100, A100 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB"


def _read(*names: str, levels: tuple[str, ...] = ()) -> Draft:
    return read([Input(name, (DATA / name).read_bytes()) for name in names], option_levels(levels))


def test_totals() -> None:
    """Nodes, GPUs and pods are as many as a plain count of the file says."""
    items = json.loads((DATA / "nodes-pods.json").read_text())["items"]
    found = _read("nodes-pods.json")
    gpus = [
        int(amount)
        for item in items
        if item["kind"] == "Node"
        for name, amount in item["status"]["allocatable"].items()
        if name.startswith("nvidia.com/")
    ]
    pods = [item for item in items if item["kind"] == "Pod"]
    assert found.counts["nodes"] == sum(item["kind"] == "Node" for item in items) == 8
    assert found.counts["GPUs"] == sum(node.gpus for node in found.nodes) == sum(gpus) == 65
    assert found.counts["pods"] == len(pods) == 20
    live = [item for item in pods if item["status"]["phase"] not in ("Succeeded", "Failed")]
    taken = sum(
        int(amount)
        for item in live
        if "nodeName" in item["spec"]
        for name, amount in item["spec"]["containers"][0]["resources"]["requests"].items()
        if name.startswith("nvidia.com/")
    )
    used = sum(node.used.get("gpus", 0) for node in found.nodes)
    assert used + found.counts["GPUs of running jobs"] == taken == 31


def test_nodes_and_pods() -> None:
    """Health, taints, slices, servers, half a gang and init containers of the plain file."""
    found = _read("nodes-pods.json", levels=("rack=topology.example.com/rack",))
    states = {node.name: node.state for node in found.nodes if node.state != "up"}
    assert states == {"gpu-c1": "drained", "gpu-c2": "down"}
    by_name = jobs(found)
    assert by_name["nlp/bert-large"].placement == {"gpu-a1": 8, "gpu-a2": 8}
    assert by_name["lab/notebook-ada"].placement == {"gpu-c3/mig-1g.5gb": 2}
    assert by_name["serving/embed-7c9d-x1"].placement == {"gpu-b2": 1}
    assert by_name["nlp/half (rest)"].placement is None
    assert by_name["lab/init-heavy"].resources_per_gpu["cpu"] == 11.25
    assert nodes(found)["gpu-c1"].used["gpus"] == 8
    assert nodes(found)["gpu-a1"].used == {"cpu": 0.1, "memory_gib": 0.125}
    instance(found)


def test_kueue() -> None:
    """Workloads with their Jobs, topology requests, slices, priorities, and the tolerations of their flavor."""
    found = _read("nodes-pods.json", "kueue.yaml")
    assert found.levels == ["block", "rack", "node"]
    llama, pretrain = jobs(found)["ml/finetune-llama"], jobs(found)["ml/pretrain"]
    assert (llama.gpus, llama.within, llama.segment, llama.weight) == (16, "rack", Segment(gpus=8, level="node"), 2)
    assert (pretrain.gpus, pretrain.within, pretrain.segment) == (8, "block", Segment(gpus=4, level="rack"))
    assert {n.gpu_type for n in found.nodes if n.name in ("gpu-a1", "gpu-b1")} == set(
        types(found)["ml/finetune-llama"] or ()
    )
    assert reasons(found)["ml/job-old-11aa2"] == "has ended"
    assert reasons(found)["ml/job-off-22bb3"] == "is deactivated in Kueue"
    assert reasons(found)["research"] == "a kind that is not read"
    instance(found)


def test_volcano() -> None:
    """HyperNodes are the levels, a hard tier is a constraint; a pod group alone says how much it needs."""
    found = _read("nodes-pods.json", "volcano.yaml")
    assert found.levels == ["spine", "leaf", "node"]
    bert, lonely = jobs(found)["team-v/vc-bert"], jobs(found)["team-v/lonely"]
    assert (bert.gpus, bert.within, bert.segment, bert.weight) == (8, "leaf", Segment(gpus=2, level="node"), 2)
    assert bert.resources_per_gpu == {"cpu": 4, "memory_gib": 32}
    assert (lonely.gpus, lonely.within, lonely.resources_per_gpu) == (4, None, {"cpu": 4})
    instance(found)


def test_tiers_without_hypernodes() -> None:
    """Where the levels are others, a tier says nothing, and the user is told."""
    found = _read("nodes-pods.json", "volcano.yaml", levels=("rack=topology.example.com/rack",))
    assert jobs(found)["team-v/vc-bert"].within is None
    assert any("highest tier allowed 1" in text for text in found.warnings)


def test_kubeflow() -> None:
    """PyTorchJobs, MPIJobs, TrainJobs, LeaderWorkerSets and pod groups of scheduler-plugins."""
    found = _read("nodes-pods.json", "kubeflow.yaml")
    gpus = {name: (job.gpus, job.segment and job.segment.gpus, job.gpus_per_node) for name, job in jobs(found).items()}
    expected = {
        "vision/resnet": (16, 4, None),
        "infra/nccl-tests": (16, None, 8),
        "nlp/gpt2-trainer": (6, 2, None),
        "serving/vllm-0": (16, 8, None),
        "serving/vllm-1": (16, 8, None),
        "lab/pair": (2, None, None),
    }
    assert {name: gpus[name] for name in expected} == expected
    assert jobs(found)["lab/pair"].weight == 2
    assert reasons(found)["vision/done"] == "has ended"
    assert reasons(found)["nlp/by-runtime-only"] == "asks for no GPUs"
    instance(found)


@pytest.mark.parametrize("name", ["nodes-pods.json", "kueue.yaml"])
def test_samples_for_users(name: str) -> None:
    """The samples for users are the files tested here."""
    folder = Path(__file__).resolve().parents[3] / "instances" / "samples" / "kubernetes"
    assert (folder / name).read_bytes() == (DATA / name).read_bytes()
