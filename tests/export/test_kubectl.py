"""The commands for gated pods, run by kubectl itself against a stand-in for the API server."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from crop_cli.export.kubernetes import pods_of
from tests.export import solved
from tests.export.kube_api import serving

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")

HOST = "kubernetes.io/hostname"
LWS = "leaderworkerset.sigs.k8s.io"


def _pod(name: str, gpus: int, labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "labels": labels or {}, **fields.pop("metadata", {})}
    limits = {"cpu": "4", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    spec = {"containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}], **fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _run(folder: Path, job: str, things: list[dict[str, Any]]) -> dict[str, str]:
    """Hosts that the pods of a job of 8 GPUs are sent to, 4 each to two nodes."""
    data = solved.instance([{"name": job, "gpus": 8, "segment": {"gpus": 4, "level": "node"}}], {"a": 4, "b": 4})
    (pods,) = pods_of(solved.exported(folder, data))
    commands = [command for command in pods.commands() if " patch job " not in command]
    with serving(folder, things) as (cluster, config):
        environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(folder)}
        script = "set -eo pipefail\n" + "\n".join(commands)
        subprocess.run(["bash", "-c", script], check=True, env=environment, capture_output=True)
    return {name: patch["spec"]["nodeSelector"][HOST] for name, patch in cluster.patches.items()}


NAMED = {"batch.kubernetes.io/job-name": "j"}
INDEXED = [{**NAMED, "batch.kubernetes.io/job-completion-index": str(i)} for i in range(2)]
GROUPS = [{f"{LWS}/name": "vllm", f"{LWS}/group-index": str(i)} for i in range(2)]
KUBEFLOW, RAY = {"training.kubeflow.org/job-name": "m"}, {"ray.io/cluster": "r-x7k2"}
RAY_JOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "r", "namespace": "ml"},
    "status": {"rayClusterName": "r-x7k2"},
}


def _annotated(name: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {"scheduling.k8s.io/group-name": name, "pod-group-name": name}}}


@pytest.mark.parametrize(
    ("job", "things", "hosts"),
    [
        ("ml/j", [_pod("j-1-x", 4, INDEXED[1]), _pod("j-0-y", 4, INDEXED[0])], {"j-0-y": "a", "j-1-x": "b"}),
        (
            "ml/j",
            [_pod("j-a", 4, NAMED, nodeName="c"), _pod("j-b", 4, NAMED), _pod("j-c", 4, NAMED)],
            {"j-b": "a", "j-c": "b"},
        ),
        (
            "ml/m (MPIJob)",
            [_pod("m-launcher", 0, KUBEFLOW), *(_pod(f"m-worker-{i}", 4, KUBEFLOW) for i in (10, 9))],
            {"m-worker-9": "a", "m-worker-10": "b"},
        ),
        (
            "ml/m (PyTorchJob) (rest)",
            [_pod("m-worker-0", 4, KUBEFLOW, nodeName="c"), *(_pod(f"m-worker-{i}", 4, KUBEFLOW) for i in (1, 2))],
            {"m-worker-1": "a", "m-worker-2": "b"},
        ),
        (
            "ml/vllm-1 (LeaderWorkerSet)",
            [_pod(f"vllm-{i}{worker}", 4, GROUPS[i]) for i in range(2) for worker in ("", "-1")],
            {"vllm-1": "a", "vllm-1-1": "b"},
        ),
        (
            "ml/r (RayJob)",
            [RAY_JOB, _pod("r-x7k2-head", 0, RAY), *(_pod(f"r-x7k2-worker-{i}", 4, RAY) for i in range(2))],
            {"r-x7k2-worker-0": "a", "r-x7k2-worker-1": "b"},
        ),
        (
            "ml/g (PodGroup)",
            [*(_pod(f"g-{i}", 4, **_annotated("g")) for i in range(2)), _pod("g-2", 4, **_annotated("g2"))],
            {"g-0": "a", "g-1": "b"},
        ),
        (
            "ml/w/workers (Workload)",
            [
                *(_pod(f"w-{i}", 4, workloadRef={"name": "w", "podGroup": "workers"}) for i in range(2)),
                _pod("w-2", 4, workloadRef={"name": "w", "podGroup": "workers", "podGroupReplicaKey": "1"}),
            ],
            {"w-0": "a", "w-1": "b"},
        ),
    ],
    ids=["job", "job-without-index", "mpijob", "rest", "leaderworkerset", "rayjob", "podgroup", "workload"],
)
def test_kubectl_sends_each_pod_to_its_node(
    tmp_path: Path, job: str, things: list[dict[str, Any]], hosts: dict[str, str]
) -> None:
    """Every pod with GPUs that has no node is patched once, with the node of its place in the placement."""
    assert _run(tmp_path, job, things) == {f"ml/{name}": host for name, host in hosts.items()}
