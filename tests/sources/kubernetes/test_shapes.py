"""The shape of waiting gangs: whole pods, anti-affinity, topology, slices."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Segment, Spread
from tests.sources.kubernetes.build import draft, instance, job, jobs, racks, template, thing, workload

LEVELS = ("block=b", "rack=r")


def test_pods_are_kept_whole() -> None:
    """p pods of g GPUs are p·g workers in multiples of g per node; pods of one GPU are free."""
    found = draft(*racks(), job("big", 3, 4), job("small", 3, 1))
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
    found = draft(*racks(), own, other)
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
        *racks(),
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
        *racks(),
        workload("rack", (2, 8, {"required": "r"})),
        workload("host", (2, 1, {"required": "kubernetes.io/hostname"})),
        workload("soft", (2, 8, {"preferred": "r"})),
        workload("free", (2, 8, {"unconstrained": True})),
        workload("what", (2, 8, {"required": "x/y"})),
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
    found = draft(*racks(), workload("w", (4, gpus, request)), levels=LEVELS)
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
    found = draft(*racks(), job("j", 4, 8, pod_metadata={"annotations": notes}), levels=LEVELS)
    only = jobs(found)["ns/j"]
    assert (only.within, only.segment, only.gpus_per_node) == ("block", Segment(gpus=16, level="rack"), 8)


def test_pods_of_different_sizes() -> None:
    """Pods of 4 and 8 GPUs come in multiples of 4, with a warning; the largest demand per GPU counts."""
    found = draft(*racks(), workload("w", (1, 4, {}), (2, 8, {})))
    only = jobs(found)["ns/w"]
    assert (only.gpus, only.segment) == (20, Segment(gpus=4, level="node"))
    assert only.resources_per_gpu == {"cpu": 1, "memory_gib": 8}
    assert any("pods of 4, 8 GPUs" in text for text in found.warnings)
    instance(found)


def test_exclusive_topology() -> None:
    """JobSet's exclusive topology keeps each of its Jobs in one domain; that it has it alone is not kept."""
    job_template = {"spec": {"parallelism": 2, "template": template(8)}}
    spec = {"replicatedJobs": [{"name": "w", "replicas": 3, "template": job_template}]}
    metadata = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "r"}}
    found = draft(*racks(), thing("jobset.x-k8s.io/v1alpha2", "JobSet", "s", spec, metadata=metadata), levels=LEVELS)
    only = jobs(found)["ns/s"]
    assert (only.gpus, only.segment, only.gpus_per_node) == (48, Segment(gpus=16, level="rack"), 8)
    assert any("exclusive topology" in text for text in found.warnings)


def test_exclusive_topology_of_groups() -> None:
    """Each group of a LeaderWorkerSet with exclusive topology is in one domain; that it has it alone is not kept."""
    group = {"size": 2, "workerTemplate": template(8)}
    metadata = {"annotations": {"leaderworkerset.sigs.k8s.io/exclusive-topology": "r"}}
    spec = {"replicas": 2, "leaderWorkerTemplate": group}
    lws = thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", spec, metadata=metadata)
    found = draft(*racks(), lws, levels=LEVELS)
    assert {name: found_job.within for name, found_job in jobs(found).items()} == {"ns/l-0": "rack", "ns/l-1": "rack"}
    assert any("exclusive topology" in text for text in found.warnings)
