"""Levels: by option, Kueue's Topology, HyperNodes, and known labels."""

from __future__ import annotations

import pytest

from crop_cli.errors import UsageError
from crop_cli.sources.kubernetes.topology import Level, option_levels
from tests.sources.kubernetes.build import draft, instance, node, nodes, thing


def test_options() -> None:
    """--level NAME=LABEL gives levels top down; a label may itself have an = sign in no name."""
    assert option_levels(["block=b", " rack = example.com/rack "]) == [
        Level("block", "b"),
        Level("rack", "example.com/rack"),
    ]


@pytest.mark.parametrize("text", ["rack", "rack=", "=label", "node=x", "cluster=x"])
def test_bad_options(text: str) -> None:
    """What is not NAME=LABEL, and reserved names, are refused."""
    with pytest.raises(UsageError, match="--level"):
        option_levels([text])
    with pytest.raises(UsageError, match="twice"):
        option_levels(["rack=a", "rack=b"])


def test_levels_by_option() -> None:
    """The tree follows the labels given, whatever other labels there are."""
    labels = {"topology.kubernetes.io/zone": "z"}
    found = draft(
        node("a", labels={**labels, "b": "b1", "r": "r1"}),
        node("c", labels={**labels, "b": "b1", "r": "r2"}),
        node("d", labels={**labels, "b": "b2", "r": "r3"}),
        levels=("block=b", "rack=r"),
    )
    assert found.levels == ["block", "rack", "node"]
    assert {(s.name, s.level, s.parent) for s in found.switches} == {
        ("b1", "block", None),
        ("b2", "block", None),
        ("r1", "rack", "b1"),
        ("r2", "rack", "b1"),
        ("r3", "rack", "b2"),
    }
    assert {n.name: n.parent for n in found.nodes} == {"a": "r1", "c": "r2", "d": "r3"}
    instance(found)


def test_unknown_label() -> None:
    """A label that no node has is refused, with one that is close."""
    with pytest.raises(UsageError, match=r"did you mean \"example\.com/rack\""):
        draft(node("a", labels={"example.com/rack": "r"}), levels=("rack=example.com/rak",))


def test_lacking_labels() -> None:
    """A node without a label hangs on a switch of its own, with a warning."""
    found = draft(node("a", labels={"r": "r1"}), node("b"), node("c", labels={"r": ""}), levels=("rack=r",))
    parents = {n.name: n.parent for n in found.nodes}
    assert parents == {"a": "r1", "b": "rack of b", "c": "rack of c"}
    assert '2 nodes (b, c): no label "r": a rack of its own' in found.warnings
    instance(found)


def test_equal_names_in_different_blocks() -> None:
    """Racks of equal names in different blocks are different racks; names that clash with others are told apart."""
    found = draft(
        node("a", labels={"b": "x", "r": "1"}),
        node("c", labels={"b": "y", "r": "1"}),
        node("y", labels={"b": "y", "r": "y"}),
        levels=("block=b", "rack=r"),
    )
    assert len({s.name for s in found.switches}) == len(found.switches) == 5
    assert len({n.parent for n in found.nodes}) == 3
    assert any("taken as different ones" in text for text in found.warnings)
    instance(found)


_NVIDIA, _GOOGLE = "network.topology.nvidia.com/", "cloud.google.com/gce-topology-"
_AWS, _RUN = "topology.k8s.aws/network-node-layer-", ".topograph.run/"
_KNOWN = {
    "topograph-tree": ([_NVIDIA + "leaf", _NVIDIA + "spine", _NVIDIA + "core"], ["core", "spine", "leaf"]),
    "topograph-block": ([_NVIDIA + "accelerator", _NVIDIA + "block"], ["block", "accelerator"]),
    "topograph-tiers": (
        [f"fabric{_RUN}tier-0", f"fabric{_RUN}tier-1", f"accelerator{_RUN}domain"],
        ["tier-1", "tier-0", "domain"],
    ),
    "google": ([_GOOGLE + "host", _GOOGLE + "block", _GOOGLE + "subblock"], ["block", "subblock", "host"]),
    "aws": ([_AWS + "3", _AWS + "1", _AWS + "2"], ["layer-1", "layer-2", "layer-3"]),
    "zone": (["topology.kubernetes.io/zone"], ["zone"]),
    "none": ([], []),
}


@pytest.mark.parametrize(("labels", "levels"), _KNOWN.values(), ids=_KNOWN)
def test_known_labels(labels: list[str], levels: list[str]) -> None:
    """Labels of known providers give the levels top down; zones come last, and without any there are only nodes."""
    found = draft(
        node("a", labels={"topology.kubernetes.io/zone": "z", **dict.fromkeys(labels, "v")} if labels else {})
    )
    assert found.levels == [*levels, "node"]
    assert bool(levels) != any("no label says" in text for text in found.warnings)
    instance(found)


def _topology(name: str, *labels: str) -> dict[str, object]:
    return thing("kueue.x-k8s.io/v1beta1", "Topology", name, {"levels": [{"nodeLabel": label} for label in labels]})


def test_kueue_topology() -> None:
    """Kueue's Topology gives the levels, the host names aside; of several the one that fits more nodes."""
    found = draft(
        node("a", labels={"x/block": "b", "x/topology-rack": "r", "topology.kubernetes.io/zone": "z"}),
        node("b", labels={"x/block": "b", "x/topology-rack": "r"}),
        _topology("other", "topology.kubernetes.io/zone"),
        _topology("gpus", "x/block", "x/topology-rack", "kubernetes.io/hostname"),
    )
    assert found.levels == ["block", "rack", "node"]
    assert any("Topology gpus" in text for text in found.assumptions)
    assert "1 Topology (other): another Topology gives the levels" in found.warnings


def test_kueue_topology_without_nodes() -> None:
    """A Topology whose labels no node has leaves the choice to known labels."""
    found = draft(node("a", labels={"topology.kubernetes.io/zone": "z"}), _topology("t", "x/rack"))
    assert found.levels == ["zone", "node"]


def _hyper(name: str, tier: int, kind: str, *selectors: dict[str, object], tier_name: str = "") -> dict[str, object]:
    members = [{"type": kind, "selector": selector} for selector in selectors]
    spec: dict[str, object] = {"tier": tier, "members": members, **({"tierName": tier_name} if tier_name else {})}
    return thing("topology.volcano.sh/v1alpha1", "HyperNode", name, spec)


def test_hypernodes() -> None:
    """HyperNodes select members by name, pattern and labels; their tiers are the levels."""
    found = draft(
        node("a"),
        node("b1"),
        node("c", labels={"x": "y"}),
        _hyper(
            "top",
            2,
            "HyperNode",
            {"exactMatch": {"name": "s1"}},
            {"regexMatch": {"pattern": "s[23]"}},
            tier_name="spine",
        ),
        _hyper("s1", 1, "Node", {"exactMatch": {"name": "a"}}, {"exactMatch": {"name": "unknown"}}),
        _hyper("s2", 1, "Node", {"regexMatch": {"pattern": "^b[0-9]$"}}),
        _hyper("s3", 1, "Node", {"labelMatch": {"matchLabels": {"x": "y"}}}),
    )
    assert found.levels == ["spine", "tier-1", "node"]
    assert {name: n.parent for name, n in nodes(found).items()} == {"a": "s1", "b1": "s2", "c": "s3"}
    assert {s.name: s.parent for s in found.switches} == {"top": None, "s1": "top", "s2": "top", "s3": "top"}
    instance(found)
