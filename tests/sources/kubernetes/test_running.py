"""Bound pods: running jobs where a gang is complete, used GPUs where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from crop_cli.model.instance import Segment
from tests.sources.kubernetes.build import H100, draft, instance, job, jobs, node, nodes, pod, types

OWNER = ("batch/v1", "Job", "j")
Thing = dict[str, Any]


def _pair(*, on: tuple[str, str] = ("a", "b"), gpus: tuple[int, int] = (4, 4), **fields: Any) -> list[Thing]:
    return [pod(f"j-{i}", gpus[i], on=on[i], owner=OWNER, **fields) for i in range(2)]


def test_running_job() -> None:
    """A gang of which all pods are bound runs where they are; it is pinned, and nothing of it counts as used."""
    found = draft(node("a"), node("b"), job("j", 2, 4), *_pair(on=("a", "a")))
    only = jobs(found)["ns/j"]
    assert (only.gpus, only.placement, only.movable) == (8, {"a": 8}, False)
    assert only.resources_per_gpu == {"cpu": 1, "memory_gib": 8}
    assert nodes(found)["a"].used == {}
    assert (found.counts["jobs running"], found.counts["GPUs of running jobs"]) == (1, 8)
    assert instance(found).jobs[0].placement == {"a": 8}


def test_movable() -> None:
    """A movable job keeps the constraints that hold where it is, and its GPU types."""
    labels = [{"r": "r1"}, {"r": "r2"}]
    notes = {"kueue.x-k8s.io/podset-required-topology": "r"}
    fields: Thing = {"annotations": notes, "nodeSelector": {"nvidia.com/gpu.product": H100}}
    other = node("c", labels={**labels[1], "nvidia.com/gpu.product": "A100"})
    cluster = [node("a", labels=labels[0]), node("b", labels=labels[1]), other]
    found = draft(*cluster, *_pair(**fields), levels=("rack=r",), movable=True)
    only = jobs(found)["ns/j"]
    assert (only.movable, only.segment, only.within) == (True, Segment(gpus=4, level="node"), None)
    assert types(found)["ns/j"] == (H100,)
    assert "1 job (ns/j): not kept, for it does not hold where the job runs: within one rack" in found.warnings
    instance(found)
    together = draft(*cluster, *_pair(on=("a", "a"), **fields), levels=("rack=r",), movable=True)
    assert jobs(together)["ns/j"].within == "rack"
    instance(together)


def test_pods_that_differ() -> None:
    """Pods of different demands per GPU leave cores and memory as used; such a job is not movable."""
    pods = [pod("j-0", 4, on="a", owner=OWNER, cpu="4"), pod("j-1", 4, on="b", owner=OWNER, cpu="8")]
    found = draft(node("a"), node("b"), *pods, movable=True)
    only = jobs(found)["ns/j"]
    assert (only.placement, only.movable, only.resources_per_gpu) == ({"a": 4, "b": 4}, False, {})
    assert [n.used for n in found.nodes] == [{"cpu": 4, "memory_gib": 32}, {"cpu": 8, "memory_gib": 32}]
    instance(found)


def _conditions(kind: str, status: str) -> Thing:
    return {"status": {"conditions": [{"type": kind, "status": status}]}}


_USED: dict[str, tuple[list[Thing], str]] = {
    "incomplete": ([node("a"), node("b"), job("j", 3, 4)], "a part of their gang"),
    "cordoned": ([node("a"), node("b", spec={"unschedulable": True})], "drained or down"),
    "down": ([node("a"), node("b", **_conditions("Ready", "False"))], "drained or down"),
    "gpus-lost": ([node("a"), node("b", 2)], "more is taken than they offer"),
    "node-unknown": ([node("a")], "not in the files"),
    "other-gpus": ([node("a"), node("b", 0, allocatable={"amd.com/gpu": "8"})], "do not offer their GPUs any more"),
    "ended": ([node("a"), node("b"), {**job("j", 2, 4), **_conditions("Complete", "True")}], "has ended"),
}


@pytest.mark.parametrize(("things", "why"), _USED.values(), ids=_USED)
def test_used_instead(things: list[Thing], why: str) -> None:
    """What cannot be a running job of a valid instance counts as used, with the reason."""
    found = draft(*things, *_pair())
    assert not jobs(found)
    assert nodes(found)["a"].used["gpus"] == 4
    assert any(why in text and "ns/j" in text for text in found.assumptions)
    instance(found)


def test_half_a_gang() -> None:
    """Pods that wait beside bound ones of their gang are a job of their own, with a warning."""
    found = draft(node("a"), node("b"), job("j", 2, 4), *_pair(on=("a", "")))
    only = jobs(found)["ns/j (rest)"]
    assert (only.gpus, only.placement, only.segment) == (4, None, Segment(gpus=4, level="node"))
    assert nodes(found)["a"].used["gpus"] == 4
    assert "1 job (ns/j): waits in part: its other pods are bound and count as used" in found.warnings
    instance(found)


def test_bound_pods_that_are_starting_run() -> None:
    """A pod in phase Pending or Unknown that is bound has its GPUs already."""
    found = draft(node("a"), pod("p", 2, on="a", phase="Pending"), pod("q", 2, on="a", phase="Unknown"))
    assert {name: j.placement for name, j in jobs(found).items()} == {"ns/p": {"a": 2}, "ns/q": {"a": 2}}


def test_overbooked_uplinks_are_no_error() -> None:
    """Running jobs that exceed the assumed uplinks raise the oversubscription, and the user is told."""
    things = [node("a"), node("b")]
    for j in range(8):
        things += [pod(f"j{j}-{n}", 1, on=n, owner=("batch/v1", "Job", f"bert-{j}")) for n in ("a", "b")]
    made = instance(draft(*things), "pcie-eth")
    assert made.cluster.oversubscription > 1
    assert any(text.startswith("Oversubscription") for text in made.assumptions)
    assert instance(draft(*things)).cluster.oversubscription == 1
