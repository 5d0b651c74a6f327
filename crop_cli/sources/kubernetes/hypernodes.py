"""Volcano's HyperNodes: network domains in tiers, tier 1 next to the nodes (topology.volcano.sh)."""

from __future__ import annotations

import re

from crop_cli.model.tree import ROOT_NAME
from crop_cli.model.validate_fields import is_name
from crop_cli.sources.kubernetes.documents import Thing
from crop_cli.sources.kubernetes.fields import Fields
from crop_cli.sources.kubernetes.nodes import KubeNode
from crop_cli.sources.kubernetes.topology import NODE_LEVEL, Level

_LABEL = "topology.volcano.sh/tier-"
"""Of labels that stand for membership in a HyperNode of a tier."""


def mark_tiers(things: list[Thing], nodes: dict[str, KubeNode]) -> dict[int, Level]:
    """Label every node with the HyperNodes above it.

    Parameters
    ----------
    things
        Of kind HyperNode.
    nodes
        Their labels grow.

    Returns
    -------
    dict
        The level of every tier that has nodes.
    """
    tiers: dict[int, Level] = {}
    below: dict[str, set[str]] = {}
    for thing in sorted(things, key=lambda thing: thing.spec.whole("tier", 1) or 0):
        tier = thing.spec.whole("tier", 1) or 0
        members: set[str] = set()
        for member in thing.spec.children("members"):
            selector = member.child("selector")
            if member.text("type", "Node") == "HyperNode":
                known: dict[str, dict[str, str]] = {name: {} for name in below}
                members |= set().union(*(below[name] for name in _selected(selector, known)))
            else:
                members |= _selected(selector, {name: node.labels for name, node in nodes.items()})
        below[thing.name] = members
        label = f"{_LABEL}{tier}"
        for name in members:
            nodes[name].labels = {**nodes[name].labels, label: thing.name}
        if members:
            name = thing.spec.text("tierName")
            taken = {ROOT_NAME, NODE_LEVEL, *(level.name for level in tiers.values())}
            tiers.setdefault(tier, Level(name if is_name(name) and name not in taken else f"tier-{tier}", label))
    return tiers


def _selected(selector: Fields, known: dict[str, dict[str, str]]) -> set[str]:
    """Names that an exact name, a pattern, or labels select."""
    exact = selector.child("exactMatch").text("name")
    if exact:
        return {exact} & known.keys()
    pattern = selector.child("regexMatch").text("pattern")
    if pattern:
        try:
            compiled = re.compile(pattern)
        except re.error:
            selector.child("regexMatch").refuse("pattern", "a regular expression")
            return set()
        return {name for name in known if compiled.search(name)}
    wanted = selector.child("labelMatch").labels("matchLabels")
    return {name for name, labels in known.items() if wanted and wanted.items() <= labels.items()}
