"""Gangs of which some objects are missing, go or are done: each is counted once, with the pods that it still needs."""

from __future__ import annotations

from typing import Any

from tests.sources.kubernetes.build import draft, job, jobs, nodes, pod, racks, reasons, template, thing, workload

Thing = dict[str, Any]


def test_gangs_whose_objects_between_are_missing() -> None:
    """A TrainJob without its JobSet, a RayJob without its RayCluster, and what an AppWrapper wraps are one job each."""
    ray = {"headGroupSpec": {"template": template(0)}, "workerGroupSpecs": [{"replicas": 2, "template": template(4)}]}
    train = {"trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"nvidia.com/gpu": 8}}}}
    wrapper = ("workload.codeflare.dev/v1beta2", "AppWrapper", "aw")
    owner = {"ownerReferences": [{"apiVersion": wrapper[0], "kind": wrapper[1], "name": wrapper[2]}]}
    roles = {"Worker": {"replicas": 2, "template": template(1)}}
    found = draft(
        *racks(),
        thing("trainer.kubeflow.org/v1alpha1", "TrainJob", "t", train),
        *(pod(f"t-node-0-{i}", 8, labels={"jobset.sigs.k8s.io/jobset-name": "t"}) for i in range(2)),
        {**thing("ray.io/v1", "RayJob", "r", {"rayClusterSpec": ray}), "status": {"rayClusterName": "r-x7k2"}},
        *(pod(f"r-x7k2-worker-{i}", 4, labels={"ray.io/cluster": "r-x7k2"}) for i in range(2)),
        thing("kubeflow.org/v1", "PyTorchJob", "p", {"pytorchReplicaSpecs": roles}, metadata=owner),
        workload("appwrapper-aw-1234", (2, 1, {}), owner=wrapper),
    )
    assert {name: j.gpus for name, j in jobs(found).items()} == {"ns/t": 16, "ns/r": 8, "ns/p": 2}


def test_jobs_of_one_name_and_two_kinds() -> None:
    """A label without the kind joins nothing where it could mean two jobs; owners tell their pods apart."""
    label = {"training.kubeflow.org/job-name": "x"}
    roles = {"Worker": {"replicas": 2, "template": template(1)}}
    found = draft(
        *racks(),
        thing("kubeflow.org/v1", "PyTorchJob", "x", {"pytorchReplicaSpecs": roles}),
        thing("kubeflow.org/v2beta1", "MPIJob", "x", {"mpiReplicaSpecs": roles}),
        *(pod(f"x-{i}", 1, labels=label, owner=("kubeflow.org/v1", "PyTorchJob", "x")) for i in range(2)),
        pod("x-worker-0", 1, labels=label, owner=("kubeflow.org/v2beta1", "MPIJob", "x")),
    )
    assert {draft_job.job.name: draft_job.job.gpus for draft_job in found.jobs} == {
        "ns/x (PyTorchJob)": 2,
        "ns/x (MPIJob)": 2,
    }


def _going(thing_: Thing) -> Thing:
    """The same, being deleted."""
    return {**thing_, "metadata": {**thing_["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def test_pods_and_jobs_that_are_being_deleted() -> None:
    """A pod that goes still uses its GPUs, but its replacement is the gang; a job that goes does not wait."""
    owner = ("batch/v1", "Job", "j")
    found = draft(
        *racks(),
        job("j", 1, 2),
        _going(pod("j-old", 2, on="n0", owner=owner)),
        pod("j-new", 2, on="n1", owner=owner),
        _going(job("gone", 1, 1)),
    )
    assert {name: j.placement for name, j in jobs(found).items()} == {"ns/j": {"n1": 2}}
    assert nodes(found)["n0"].used["gpus"] == 2
    assert reasons(found) == {"ns/gone": "has ended"}


def test_pods_that_have_succeeded_are_not_asked_for_again() -> None:
    """Of a Job with completions, and of a Workload with reclaimable pods, only what is left waits or runs."""
    owner = ("batch/v1", "Job", "waits")
    done = {"reclaimablePods": [{"name": "s0", "count": 2}]}
    found = draft(
        *racks(),
        {**job("waits", 4, 1), "status": {"succeeded": 3}},
        *(pod(f"waits-{i}", 1, on="n0", phase="Succeeded", owner=owner) for i in range(3)),
        pod("waits-3", 1, owner=owner),
        {**workload("admitted", (5, 1, {})), "status": done},
        {**job("runs", 2, 4), "status": {"succeeded": 1}},
        pod("runs-1", 4, on="n1", owner=("batch/v1", "Job", "runs")),
    )
    assert {name: (j.gpus, j.placement) for name, j in jobs(found).items()} == {
        "ns/waits": (1, None),
        "ns/admitted": (3, None),
        "ns/runs": (4, {"n1": 4}),
    }


def test_a_pod_that_kueue_admits_keeps_its_name() -> None:
    """The Workload of a single pod is called after the pod, which carries no label of it; that of a group is not."""
    group = {"kueue.x-k8s.io/pod-group-name": "g"}
    found = draft(
        *racks(),
        pod("single", 1),
        workload("pod-single-1a2b3", (1, 1, {}), owner=("v1", "Pod", "single")),
        pod("first", 1, labels=group),
        workload("g", (2, 1, {}), owner=("v1", "Pod", "first")),
    )
    names = {draft_job.job.name: draft_job.job.gpus for draft_job in found.jobs}
    assert names == {"ns/single (Pod)": 1, "ns/g (Workload)": 2}
