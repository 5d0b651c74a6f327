"""Node selectors and affinities, as GPU types."""

from __future__ import annotations

from typing import Any

import pytest

from crop_cli.sources.kubernetes.fields import Fields
from crop_cli.sources.kubernetes.selectors import Matcher, selection
from tests.sources.kubernetes.build import H100, draft, instance, node, pod, reasons, types

NODES = [("a", {"p": "x", "n": "1"}), ("b", {"p": "y", "n": "20"}), ("c", {"n": "no number"})]


def _affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def _term(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, "abc"),
        ({"nodeSelector": {"p": "x"}}, "a"),
        ({"nodeSelector": {"p": "x", "n": "20"}}, ""),
        (_affinity(_term(_expression("p", "In", "x", "y"))), "ab"),
        (_affinity(_term(_expression("p", "NotIn", "x"))), "bc"),
        (_affinity(_term(_expression("p", "Exists"))), "ab"),
        (_affinity(_term(_expression("p", "DoesNotExist"))), "c"),
        (_affinity(_term(_expression("n", "Gt", "1"))), "b"),
        (_affinity(_term(_expression("n", "Lt", "20"))), "a"),
        (_affinity(_term(_expression("n", "Gt", "x"))), ""),
        (_affinity(_term(_expression("p", "Exists"), _expression("n", "In", "20"))), "b"),
        (_affinity(_term(_expression("p", "In", "x")), _term(_expression("p", "In", "y"))), "ab"),
        (_affinity({"matchFields": [_expression("metadata.name", "In", "c", "z")]}), "c"),
        (_affinity({"matchFields": [_expression("metadata.name", "NotIn", "c")]}), "ab"),
        (_affinity({}), ""),
        ({"nodeSelector": {"p": "x"}, **_affinity(_term(_expression("n", "In", "1", "20")))}, "a"),
    ],
)
def test_matching(spec: dict[str, Any], names: str) -> None:
    """Selectors and required affinities select the nodes that Kubernetes would."""
    assert Matcher(NODES).nodes(selection(Fields(spec, "f", "$", {}))) == set(names)


def _two_types() -> list[dict[str, Any]]:
    a100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
    return [
        node("h1", labels={"pool": "x"}),
        node("h2", labels={"pool": "y"}),
        node("a1", labels={**a100, "pool": "x"}),
    ]


def test_products_are_gpu_types() -> None:
    """A selector by product gives the GPU types, in any of its forms; a preference is none."""
    product = "nvidia.com/gpu.product"
    preferred = {"preference": _term(_expression(product, "In", H100)), "weight": 1}
    soft = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}}
    found = draft(
        *_two_types(),
        pod("any", 1),
        pod("h", 1, nodeSelector={product: H100}),
        pod("not-h", 1, **_affinity(_term(_expression(product, "NotIn", H100)))),
        pod("both", 1, **_affinity(_term(_expression(product, "Exists")))),
        pod("soft", 1, **soft),
    )
    assert types(found) == {
        "ns/any": None,
        "ns/h": (H100,),
        "ns/not-h": ("NVIDIA-A100-SXM4-40GB",),
        "ns/both": None,
        "ns/soft": None,
    }
    assert not any("may use fewer" in text for text in found.warnings)


def test_pools_divide_types() -> None:
    """A pool that cuts through a GPU type gives its nodes a type of their own, so that the job stays inside."""
    found = draft(*_two_types(), pod("any", 1), pod("x", 1, nodeSelector={"pool": "x"}))
    by_name = {n.name: n.gpu_type for n in found.nodes}
    assert by_name == {"h1": f"{H100} group 2", "h2": H100, "a1": "NVIDIA-A100-SXM4-40GB"}
    assert types(found)["ns/x"] == ("NVIDIA-A100-SXM4-40GB", f"{H100} group 2")
    assert types(found)["ns/any"] is None
    assert any("pool=x" in text for text in found.assumptions)
    instance(found)


def test_too_many_pools() -> None:
    """Beyond 64 GPU types a selector is given up, with a warning that names the job."""
    names = [f"n{i:02}" for i in range(70)]
    found = draft(
        *(node(name) for name in names),
        *(pod(f"p{name}", 1, nodeSelector={"kubernetes.io/hostname": name}) for name in names),
    )
    assert len({n.gpu_type for n in found.nodes}) == 64
    assert any("may use fewer nodes than the instance says, for node selection" in text for text in found.warnings)
    instance(found)


def test_no_node_matches() -> None:
    """A job that no node may take is left out with the reason."""
    found = draft(*_two_types(), pod("p", 1, nodeSelector={"pool": "z"}))
    assert reasons(found) == {"ns/p": "no node matches its selectors and tolerates its pods"}


def test_unknown_operator() -> None:
    """An operator that Kubernetes does not know is a defect."""
    from crop_cli.errors import InputError

    with pytest.raises(InputError, match="operator"):
        draft(*_two_types(), pod("p", 1, **_affinity(_term(_expression("p", "Near", "x")))))
