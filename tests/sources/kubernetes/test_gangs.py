"""Waiting gangs of every kind, each counted once, named, weighted, or left out with a reason."""

from __future__ import annotations

from typing import Any

from tests.sources.kubernetes.build import (
    containers,
    draft,
    job,
    jobs,
    pod,
    racks,
    reasons,
    template,
    thing,
    workload,
)

Thing = dict[str, Any]


def test_each_gang_once() -> None:
    """A TrainJob, its JobSet, Job, Workload and pods are one job by the name of the TrainJob."""
    trainer, jobset = "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"

    def owned(*owner: str) -> dict[str, Any]:
        return {"ownerReferences": [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "controller": True}]}

    replicated = [{"name": "node", "replicas": 1, "template": {"spec": {"parallelism": 2, "template": template(8)}}}]
    labels = {"jobset.sigs.k8s.io/jobset-name": "t"}
    resources = {"requests": {"nvidia.com/gpu": 8}}
    found = draft(
        *racks(),
        thing(trainer, "TrainJob", "t", {"trainer": {"numNodes": 2, "resourcesPerNode": resources}}),
        thing(jobset, "JobSet", "t", {"replicatedJobs": replicated}, metadata=owned(trainer, "TrainJob", "t")),
        {**job("t-node-0", 2, 8), "metadata": {"name": "t-node-0", "namespace": "ns", **owned(jobset, "JobSet", "t")}},
        workload("jobset-t-1234", (2, 8, {}), owner=(jobset, "JobSet", "t")),
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
        *racks(),
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
    roles = {"Launcher": {"template": template(0)}, "Worker": {"replicas": 2, "template": template(8)}}
    found = draft(*racks(), thing("kubeflow.org/v2beta1", "MPIJob", "m", {"mpiReplicaSpecs": roles}))
    assert jobs(found)["ns/m"].gpus == 16
    assert any("launchers" in text for text in found.assumptions)


def test_several_kinds_of_gpus() -> None:
    """A gang that asks for whole GPUs and slices, or for what no node has, is left out with the reason."""
    mig = "nvidia.com/mig-1g.5gb"
    mixed = [
        {"name": str(i), "count": 1, "template": {"spec": containers(1, resource=r)}}
        for i, r in enumerate((mig, "nvidia.com/gpu"))
    ]
    found = draft(
        *racks(),
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
    cpu_only = {"parallelism": 2, "template": template(0)}
    held = job("held", 1, 1, {"suspend": True})
    queued = job("queued", 1, 1, {"suspend": True})
    queued["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    found = draft(
        *racks(),
        {**job("complete", 1, 1), **_status("Complete")},
        {**job("failed", 1, 1), **_status("Failed")},
        {**workload("finished", (1, 1, {})), **_status("Finished")},
        workload("off", (1, 1, {}), active=False),
        {**workload("unseen", (1, 1, {})), **_status("PodsReady")},
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
        *racks(),
        *classes,
        job("named", 1, 1, priorityClassName="high"),
        pod("number", 1, priority=-5),
        pod("default", 1),
        workload("kueue", (1, 1, {}), priorityClassRef={"name": "prod", "kind": "WorkloadPriorityClass"}),
        pod("unknown", 1, priorityClassName="nobody"),
    )
    weights = {name.removeprefix("ns/"): j.weight for name, j in jobs(found).items()}
    assert weights == {"number": 1, "default": 2, "unknown": 2, "kueue": 4, "named": 8}
    assert any("priority class nobody is not in the files" in text for text in found.warnings)
    assert any("-5: 1, 10: 2, 50: 4, 1000: 8" in text for text in found.assumptions)


def test_names() -> None:
    """Jobs are namespace/name with the kind after it, but for plain Jobs; groups tell equal kinds apart."""
    found = draft(
        *racks(),
        job("x", 1, 1),
        workload("x", (1, 1, {})),
        pod("x", 1),
        thing("batch.volcano.sh/v1alpha1", "Job", "x", {"tasks": [{"replicas": 1, "template": template(1)}]}),
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


def test_objects_that_are_not_read() -> None:
    """Other kinds are counted and left out; an object given twice counts once."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"}}
    found = draft(*racks(), racks()[0], service, pod("p", 1), pod("p", 1))
    assert found.counts["objects of other kinds"] == 1
    assert {(s.kind, s.name) for s in found.skipped} == {("Service", "s"), ("Node", "n0"), ("Pod", "p")}
    assert len(found.jobs) == 1


def test_ray() -> None:
    """A RayJob and the RayCluster that it starts are one job: a head and its workers."""
    workers = [{"replicas": 2, "template": template(8)}, {"minReplicas": 1, "numOfHosts": 2, "template": template(8)}]
    spec = {"headGroupSpec": {"template": template(0)}, "workerGroupSpecs": workers}
    owner = {"ownerReferences": [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r"}]}
    found = draft(
        *racks(),
        thing("ray.io/v1", "RayCluster", "r-x7k2", spec, metadata=owner),
        thing("ray.io/v1", "RayJob", "r", {"rayClusterSpec": spec}),
        pod("r-x7k2-worker-0", 8, labels={"ray.io/cluster": "r-x7k2"}),
        {**thing("ray.io/v1", "RayJob", "done", {"rayClusterSpec": spec}), "status": {"jobStatus": "SUCCEEDED"}},
    )
    assert {name: j.gpus for name, j in jobs(found).items()} == {"ns/r": 32}
    assert reasons(found) == {"ns/done": "has ended"}


def test_objects_that_do_not_say_their_gpus() -> None:
    """Where an object names no GPUs, its pods do."""
    trainer = "trainer.kubeflow.org/v1alpha1"
    labels = {"jobset.sigs.k8s.io/jobset-name": "t"}
    jobset = thing(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "t",
        metadata={"ownerReferences": [{"apiVersion": trainer, "kind": "TrainJob", "name": "t"}]},
    )
    found = draft(
        *racks(),
        thing(trainer, "TrainJob", "t", {"runtimeRef": {"name": "x"}}),
        jobset,
        *(pod(f"t-{i}", 4, labels=labels) for i in range(3)),
    )
    assert {name: j.gpus for name, j in jobs(found).items()} == {"ns/t": 12}


def test_pods_that_go_away() -> None:
    """A waiting pod that is being deleted waits no longer."""
    leaving = pod("p", 1)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert reasons(draft(*racks(), leaving)) == {"p": "is being deleted"}


def test_pod_group_that_lacks_pods() -> None:
    """A pod group that asks for more pods than there are is taken as it is, with a warning."""
    group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", {"minMember": 4})
    found = draft(*racks(), group, *(pod(f"p{i}", 2, labels={"scheduling.x-k8s.io/pod-group": "g"}) for i in range(2)))
    assert jobs(found)["ns/g"].gpus == 4
    assert any("more pods than there are" in text for text in found.warnings)
