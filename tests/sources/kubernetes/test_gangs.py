"""Waiting gangs of every kind, each counted once, and their shape."""

from __future__ import annotations

from typing import Any

import pytest

from crop_cli.model.instance import Segment, Spread
from tests.sources.kubernetes.build import containers, draft, instance, job, jobs, node, pod, reasons, thing

LEVELS = ("block=b", "rack=r")
Thing = dict[str, Any]


def _nodes(gpus: int = 8) -> list[Thing]:
    """Two blocks of two racks of two nodes."""
    return [
        node(f"n{i}", gpus, labels={"b": f"b{i // 4}", "r": f"r{i // 2}", "kubernetes.io/hostname": f"n{i}"})
        for i in range(8)
    ]


def _template(gpus: int, annotations: dict[str, str] | None = None, **spec: Any) -> Thing:
    return {"metadata": {"annotations": annotations or {}}, "spec": containers(gpus, **spec)}


def _workload(
    name: str, *pod_sets: tuple[int, int, Thing], owner: tuple[str, str, str] | None = None, **spec: Any
) -> Thing:
    sets = [
        {"name": f"s{i}", "count": count, "template": _template(gpus), "topologyRequest": request}
        for i, (count, gpus, request) in enumerate(pod_sets)
    ]
    metadata = {}
    if owner:
        metadata = {"ownerReferences": [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2]}]}
    return thing("kueue.x-k8s.io/v1beta2", "Workload", name, {"podSets": sets, **spec}, metadata=metadata)


def test_pods_are_kept_whole() -> None:
    """p pods of g GPUs are p·g workers in multiples of g per node; pods of one GPU are free."""
    found = draft(*_nodes(), job("big", 3, 4), job("small", 3, 1))
    big, small = jobs(found)["ns/big"], jobs(found)["ns/small"]
    assert (big.gpus, big.segment) == (12, Segment(gpus=4, level="node"))
    assert (small.gpus, small.segment) == (3, None)
    assert big.resources_per_gpu == {"cpu": 1, "memory_gib": 8}
    instance(found)


def test_one_pod_per_node() -> None:
    """Anti-affinity between a gang's own pods by host name is a number of GPUs per node."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    own = job("own", 2, 4, affinity=apart, pod_metadata={"labels": {"app": "x"}})
    other = job("other", 2, 4, affinity=apart, pod_metadata={"labels": {"app": "y"}})
    found = draft(*_nodes(), own, other)
    assert (jobs(found)["ns/own"].gpus_per_node, jobs(found)["ns/own"].segment) == (4, None)
    assert jobs(found)["ns/other"].gpus_per_node is None
    assert "1 job (ns/other): not kept: required anti-affinity with other pods" in found.warnings


def test_affinity_over_levels() -> None:
    """Required anti-affinity over racks spreads a gang, required affinity keeps it within one."""
    terms = [{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "topologyKey": "r"}]
    labels = {"labels": {"app": "x"}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    found = draft(
        *_nodes(),
        job("apart", 2, 4, affinity=apart, pod_metadata=labels),
        job("together", 2, 4, affinity=together, pod_metadata=labels),
        levels=LEVELS,
    )
    assert jobs(found)["ns/apart"].spread == Spread(level="rack", max_gpus=4)
    assert jobs(found)["ns/together"].within == "rack"
    instance(found)


def test_required_topology() -> None:
    """A required topology is a level; host names are nodes; a preferred one is stated, an unknown one warned of."""
    found = draft(
        *_nodes(),
        _workload("rack", (2, 8, {"required": "r"})),
        _workload("host", (2, 1, {"required": "kubernetes.io/hostname"})),
        _workload("soft", (2, 8, {"preferred": "r"})),
        _workload("free", (2, 8, {"unconstrained": True})),
        _workload("what", (2, 8, {"required": "x/y"})),
        levels=LEVELS,
    )
    assert {name: j.within for name, j in jobs(found).items()} == {
        "ns/rack": "rack",
        "ns/host": "node",
        "ns/soft": None,
        "ns/free": None,
        "ns/what": None,
    }
    assert any("preferred topology" in text and "ns/soft" in text for text in found.assumptions)
    assert "1 job (ns/what (Workload)): not kept: topology x/y, which names no level of the instance" in found.warnings
    instance(found)


@pytest.mark.parametrize(
    ("gpus", "size", "label", "segment", "per_node"),
    [
        (1, 4, "r", Segment(gpus=4, level="rack"), None),
        (8, 2, "r", Segment(gpus=16, level="rack"), 8),
        (2, 2, "r", Segment(gpus=2, level="node"), None),
        (2, 2, "kubernetes.io/hostname", Segment(gpus=4, level="node"), None),
        (1, 3, "r", None, None),
        (1, 4, "x/y", None, None),
    ],
    ids=["single-gpu-pods", "whole-nodes", "part-of-nodes", "host", "does-not-divide", "unknown-level"],
)
def test_slices(gpus: int, size: int, label: str, segment: Segment | None, per_node: int | None) -> None:
    """Slices are segments; with pods of several GPUs only where a node holds one pod, for pods stay whole."""
    request = {"required": "b", "podSetSliceRequiredTopology": label, "podSetSliceSize": size}
    found = draft(*_nodes(), _workload("w", (4, gpus, request)), levels=LEVELS)
    only = jobs(found)["ns/w"]
    assert (only.segment, only.gpus_per_node, only.within) == (segment, per_node, "block")
    lost = (gpus == 2 and label == "r") or size == 3 or label == "x/y"
    assert any("not kept" in text for text in found.warnings) == lost
    instance(found)


def test_annotations_on_templates() -> None:
    """Without a Workload the annotations on the pod template say the same."""
    notes = {
        "kueue.x-k8s.io/podset-required-topology": "b",
        "kueue.x-k8s.io/podset-slice-required-topology": "r",
        "kueue.x-k8s.io/podset-slice-size": "2",
    }
    found = draft(*_nodes(), job("j", 4, 8, pod_metadata={"annotations": notes}), levels=LEVELS)
    only = jobs(found)["ns/j"]
    assert (only.within, only.segment, only.gpus_per_node) == ("block", Segment(gpus=16, level="rack"), 8)


def test_each_gang_once() -> None:
    """A TrainJob, its JobSet, Job, Workload and pods are one job by the name of the TrainJob."""
    trainer, jobset = "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"

    def owned(*owner: str) -> dict[str, Any]:
        return {"ownerReferences": [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "controller": True}]}

    replicated = [{"name": "node", "replicas": 1, "template": {"spec": {"parallelism": 2, "template": _template(8)}}}]
    labels = {"jobset.sigs.k8s.io/jobset-name": "t"}
    resources = {"requests": {"nvidia.com/gpu": 8}}
    found = draft(
        *_nodes(),
        thing(trainer, "TrainJob", "t", {"trainer": {"numNodes": 2, "resourcesPerNode": resources}}),
        thing(jobset, "JobSet", "t", {"replicatedJobs": replicated}, metadata=owned(trainer, "TrainJob", "t")),
        {**job("t-node-0", 2, 8), "metadata": {"name": "t-node-0", "namespace": "ns", **owned(jobset, "JobSet", "t")}},
        _workload("jobset-t-1234", (2, 8, {}), owner=(jobset, "JobSet", "t")),
        pod("t-node-0-0", 8, owner=("batch/v1", "Job", "t-node-0"), labels=labels),
        pod("t-node-0-1", 8, owner=("batch/v1", "Job", "t-node-0"), labels=labels),
    )
    assert {name: j.gpus for name, j in jobs(found).items()} == {"ns/t": 16}


def test_pods_without_their_objects() -> None:
    """Pods alone are grouped by owner, label or annotation; servers and plain pods are each for themselves."""
    server, lws = ("apps/v1", "ReplicaSet", "d"), "leaderworkerset.sigs.k8s.io/"

    def two(name: str, **fields: Any) -> list[Thing]:
        return [pod(f"{name}-{i}", 1, **fields) for i in range(2)]

    found = draft(
        *_nodes(),
        *two("j", owner=("batch/v1", "Job", "j")),
        *two("s", labels={"jobset.sigs.k8s.io/jobset-name": "s"}),
        *two("k", owner=("kubeflow.org/v1", "PyTorchJob", "k"), labels={"training.kubeflow.org/job-name": "k"}),
        *two("v", annotations={"scheduling.k8s.io/group-name": "v"}),
        *two("c", labels={"scheduling.x-k8s.io/pod-group": "c"}),
        *two("a", annotations={"pod-group-name": "kai"}),
        *two("q", labels={"kueue.x-k8s.io/pod-group-name": "q"}),
        *two("l", labels={f"{lws}name": "l", f"{lws}group-index": "0"}, owner=("apps/v1", "StatefulSet", "l")),
        *two("u", workloadRef={"name": "u", "podGroup": "workers"}),
        *two("g", schedulingGroup={"podGroupName": "g"}),
        *two("d", owner=server, annotations={"scheduling.k8s.io/group-name": "podgroup-d"}),
        pod("alone", 1),
    )
    gpus = {name.removeprefix("ns/"): j.gpus for name, j in jobs(found).items()}
    assert gpus == {
        **dict.fromkeys(("j", "s", "k", "v", "c", "kai", "q", "l-0", "u/workers", "g"), 2),
        **dict.fromkeys(("d-0", "d-1", "alone"), 1),
    }


def test_kubeflow_and_launchers() -> None:
    """Roles add up; a launcher without GPUs is no part of the job, and that is said."""
    roles = {"Launcher": {"template": _template(0)}, "Worker": {"replicas": 2, "template": _template(8)}}
    found = draft(*_nodes(), thing("kubeflow.org/v2beta1", "MPIJob", "m", {"mpiReplicaSpecs": roles}))
    assert jobs(found)["ns/m"].gpus == 16
    assert any("launchers" in text for text in found.assumptions)


def test_pods_of_different_sizes() -> None:
    """Pods of 4 and 8 GPUs come in multiples of 4, with a warning; the largest demand per GPU counts."""
    found = draft(*_nodes(), _workload("w", (1, 4, {}), (2, 8, {})))
    only = jobs(found)["ns/w"]
    assert (only.gpus, only.segment) == (20, Segment(gpus=4, level="node"))
    assert only.resources_per_gpu == {"cpu": 1, "memory_gib": 8}
    assert any("pods of 4, 8 GPUs" in text for text in found.warnings)
    instance(found)


def test_several_kinds_of_gpus() -> None:
    """A gang that asks for whole GPUs and slices, or for what no node has, is left out with the reason."""
    mig = "nvidia.com/mig-1g.5gb"
    mixed = [
        {"name": str(i), "count": 1, "template": {"spec": containers(1, resource=r)}}
        for i, r in enumerate((mig, "nvidia.com/gpu"))
    ]
    found = draft(
        *_nodes(),
        thing("kueue.x-k8s.io/v1beta1", "Workload", "mixed", {"podSets": mixed}),
        pod("tpu", 4, resource="google.com/tpu"),
    )
    assert reasons(found) == {
        "ns/mixed": f"asks for several kinds of GPUs: nvidia.com/gpu, {mig}",
        "ns/tpu": "asks for google.com/tpu, which no node offers",
    }


def _status(kind: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": "True"}]}}


def test_what_does_not_wait() -> None:
    """Ended, suspended, deactivated and empty jobs, and those that run unseen, are left out with their reason."""
    cpu_only = {"parallelism": 2, "template": _template(0)}
    held = job("held", 1, 1, {"suspend": True})
    queued = job("queued", 1, 1, {"suspend": True})
    queued["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    found = draft(
        *_nodes(),
        {**job("complete", 1, 1), **_status("Complete")},
        {**job("failed", 1, 1), **_status("Failed")},
        {**_workload("finished", (1, 1, {})), **_status("Finished")},
        _workload("off", (1, 1, {}), active=False),
        {**_workload("unseen", (1, 1, {})), **_status("PodsReady")},
        thing("batch/v1", "Job", "cpu", cpu_only),
        job("none", 0, 1),
        held,
        queued,
    )
    assert reasons(found) == {
        "ns/complete": "has ended",
        "ns/failed": "has ended",
        "ns/finished": "has ended",
        "ns/off": "is deactivated in Kueue",
        "ns/unseen": "runs, but its pods are not in the files",
        "ns/cpu": "asks for no GPUs",
        "ns/none": "asks for no GPUs",
        "ns/held": "is suspended",
    }
    assert list(jobs(found)) == ["ns/queued"]


def test_priorities() -> None:
    """Each priority that occurs weighs twice the next lower one; classes are looked up, unknown ones warned of."""
    upstream = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "WorkloadPriorityClass"}
    classes: list[Thing] = [
        {**upstream, "metadata": {"name": "high"}, "value": 1000},
        {**upstream, "metadata": {"name": "usual"}, "value": 10, "globalDefault": True},
        {**kueue, "metadata": {"name": "prod"}, "value": 50},
    ]
    found = draft(
        *_nodes(),
        *classes,
        job("named", 1, 1, priorityClassName="high"),
        pod("number", 1, priority=-5),
        pod("default", 1),
        _workload("kueue", (1, 1, {}), priorityClassRef={"name": "prod", "kind": "WorkloadPriorityClass"}),
        pod("unknown", 1, priorityClassName="nobody"),
    )
    weights = {name.removeprefix("ns/"): j.weight for name, j in jobs(found).items()}
    assert weights == {"number": 1, "default": 2, "unknown": 2, "kueue": 4, "named": 8}
    assert any("priority class nobody is not in the files" in text for text in found.warnings)
    assert any("-5: 1, 10: 2, 50: 4, 1000: 8" in text for text in found.assumptions)


def test_names() -> None:
    """Jobs are namespace/name with the kind after it, but for plain Jobs; groups tell equal kinds apart."""
    found = draft(
        *_nodes(),
        job("x", 1, 1),
        _workload("x", (1, 1, {})),
        pod("x", 1),
        thing("batch.volcano.sh/v1alpha1", "Job", "x", {"tasks": [{"replicas": 1, "template": _template(1)}]}),
        pod("a", 1, labels={"scheduling.x-k8s.io/pod-group": "g"}),
        pod("b", 1, annotations={"scheduling.k8s.io/group-name": "g"}),
        pod("half-0", 1, on="n0", owner=("kubeflow.org/v1", "PyTorchJob", "half")),
        pod("half-1", 1, owner=("kubeflow.org/v1", "PyTorchJob", "half")),
    )
    assert [found_job.job.name for found_job in found.jobs] == [
        "ns/x",
        "ns/x (Workload)",
        "ns/x (VolcanoJob)",
        "ns/x (Pod)",
        "ns/g (PodGroup.scheduling.x-k8s.io)",
        "ns/g (PodGroup.scheduling.volcano.sh)",
        "ns/half (PyTorchJob) (rest)",
    ]


def test_exclusive_topology() -> None:
    """JobSet's exclusive topology keeps each of its Jobs in one domain; that it has it alone is not kept."""
    job_template = {"spec": {"parallelism": 2, "template": _template(8)}}
    spec = {"replicatedJobs": [{"name": "w", "replicas": 3, "template": job_template}]}
    metadata = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "r"}}
    found = draft(*_nodes(), thing("jobset.x-k8s.io/v1alpha2", "JobSet", "s", spec, metadata=metadata), levels=LEVELS)
    only = jobs(found)["ns/s"]
    assert (only.gpus, only.segment, only.gpus_per_node) == (48, Segment(gpus=16, level="rack"), 8)
    assert any("exclusive topology" in text for text in found.warnings)


def test_objects_that_are_not_read() -> None:
    """Other kinds are counted and left out; an object given twice counts once."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"}}
    found = draft(*_nodes(), _nodes()[0], service, pod("p", 1), pod("p", 1))
    assert found.counts["objects of other kinds"] == 1
    assert {(s.kind, s.name) for s in found.skipped} == {("Service", "s"), ("Node", "n0"), ("Pod", "p")}
    assert len(found.jobs) == 1
