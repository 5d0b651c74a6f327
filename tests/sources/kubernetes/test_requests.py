"""What pods ask for: containers, init containers, side-cars, overhead, limits; and what bound pods take of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from crop_cli.sources.kubernetes.fields import Fields
from crop_cli.sources.kubernetes.resources import pod_request
from tests.sources.kubernetes.build import GPU, containers, draft, instance, jobs, node, nodes, pod, reasons


def _container(always: bool = False, **requests: Any) -> dict[str, Any]:
    named = {GPU if name == "gpu" else name: amount for name, amount in requests.items()}
    found: dict[str, Any] = {"resources": {"requests": named}}
    return {**found, "restartPolicy": "Always"} if always else found


def _spec(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **fields: Any) -> dict[str, Any]:
    return {"containers": list(containers), **({"initContainers": list(init)} if init else {}), **fields}


_TWO, _SIDECAR = _container(cpu="2"), _container(True, cpu="1")
_LIMITS = {"cpu": "3", GPU: 4}
_SPECS: dict[str, tuple[dict[str, Any], float, int]] = {
    "sum": (_spec(_TWO, _container(cpu="500m", gpu=1)), 2.5, 1),
    "init-more": (_spec(_TWO, init=(_container(cpu="1"), _container(cpu="8"))), 8, 0),
    "init-less": (_spec(_TWO, init=(_container(cpu="1"), _container(cpu="1"))), 2, 0),
    # A side-car runs beside the init containers after it, not beside those before it.
    "sidecar-before": (_spec(_TWO, init=(_SIDECAR, _container(cpu="4"))), 5, 0),
    "sidecar-after": (_spec(_TWO, init=(_container(cpu="4"), _SIDECAR)), 4, 0),
    "sidecar": (_spec(_TWO, init=(_SIDECAR,)), 3, 0),
    "init-gpus": (_spec(_container(gpu=1), init=(_container(gpu=2),)), 0, 2),
    "overhead": (_spec(_TWO, overhead={"cpu": "250m"}), 2.25, 0),
    "limits": (_spec({"resources": {"limits": _LIMITS}}), 3, 4),
    "limits-and-requests": (_spec({"resources": {"limits": _LIMITS, "requests": {"cpu": "1"}}}), 1, 4),
    "whole-pod": (_spec(_container(cpu="2", gpu=1), resources={"requests": {"cpu": "6"}}), 6, 1),
    "nothing": (_spec({}), 0, 0),
    "no-containers": ({}, 0, 0),
    "no-gpus": (_spec(_container(gpu=0)), 0, 0),
}


@pytest.mark.parametrize(("spec", "cpu", "gpus"), _SPECS.values(), ids=_SPECS)
def test_requests(spec: dict[str, Any], cpu: float, gpus: int) -> None:
    """The sum over containers and side-cars, or the most that starting takes, plus overhead; limits stand in."""
    found = pod_request(Fields(spec, "f", "$", {}))
    assert found.pooled.get("cpu", 0) == pytest.approx(cpu)
    assert found.gpus == ({GPU: gpus} if gpus else {})


def test_what_pods_take() -> None:
    """Bound pods without GPUs, and those whose node cannot be told apart, are used; ended ones take nothing."""
    found = draft(
        node("a"),
        node("plain", 0),
        pod("daemon", on="a", cpu="1", memory="1Gi"),
        pod("elsewhere", on="plain"),
        pod("done", 4, on="a", phase="Succeeded"),
        pod("failed", 4, on="a", phase="Failed"),
        pod("lost", 1, on="nowhere"),
        pod("waits", cpu="100"),
    )
    assert nodes(found)["a"].used == {"cpu": 1, "memory_gib": 1}
    assert reasons(found)["lost"] == "is on a node that is not in the files or offers no GPUs"
    assert found.counts["pods"] == 6
    assert found.counts["pods bound"] == 3
    assert found.counts["pods on nodes without GPUs"] == 1
    assert (found.counts["pods succeeded"], found.counts["pods failed"]) == (1, 1)


def test_more_taken_than_there_is() -> None:
    """Pods on a node that lost GPUs since fill it up; the instance stays valid, and the user is told."""
    found = draft(node("a", 4), pod("p", 8, on="a", cpu="80"))
    assert nodes(found)["a"].used == {"gpus": 4, "cpu": 64, "memory_gib": 32}
    assert "1 node (a): pods take more gpus than the node offers: all of it counts as used" in found.warnings
    assert not found.jobs
    instance(found)


def test_shares_of_gpus() -> None:
    """Shares of one GPU add up on a node, and what is left of a GPU is of no use; a waiting one takes a whole GPU."""
    resource, milli = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"

    def share(name: str, amount: str, on: str = "") -> dict[str, Any]:
        found = pod(name, 1, on=on, resource=resource)
        found["spec"]["containers"][0]["resources"]["requests"][milli] = amount
        return found

    found = draft(
        node("a", 0, allocatable={resource: "4", milli: "4000"}),
        share("x", "500", "a"),
        share("y", "300", "a"),
        share("z", "400", "a"),
        share("w", "1000", "a"),
        share("q", "250"),
    )
    assert nodes(found)["a"].used["gpus"] == 2  # 0.5 + 0.3 + 0.4 of shared ones
    assert {name: (j.gpus, j.placement) for name, j in jobs(found).items()} == {
        "ns/w": (1, {"a": 1}),
        "ns/q": (1, None),
    }
    instance(found)


def test_claims_and_other_resources() -> None:
    """Devices by claim, and resources besides GPUs, cores and memory, are warned of."""
    claim = {**containers(0), "resourceClaims": [{"name": "gpu"}]}
    other = pod("rdma", 1)
    other["spec"]["containers"][0]["resources"]["requests"]["rdma/hca"] = "1"
    found = draft(node("a"), {**pod("claims", on="a"), "spec": {**claim, "nodeName": "a"}}, other)
    assert any("resource claims" in text for text in found.warnings)
    assert "1 pod (rdma): resources that are not read: rdma/hca" in found.warnings
