"""Bandwidths of a cluster whose source states none: a few named fabrics, or a file."""

from __future__ import annotations

from importlib import resources

import msgspec

from crop_cli.errors import Defect, InputError, UsageError
from crop_cli.model.files import read_bytes
from crop_cli.model.instance import Node, Switch
from crop_cli.model.limits import LIMITS
from crop_cli.names import one

DEFAULT = "a100-ib"


class Fabric(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Bandwidths per level, Gbit/s, one direction; None is unlimited.

    Attributes
    ----------
    name, source
        What it is, and where the figures come from.
    gpu_link_gbps, fabric_gbps
        One GPU's own link, and what the GPUs of a node share.
    node_uplink_gbps
        A node's links to the network, in all.
    switch_uplink_gbps_per_node
        Of a switch per node below it: its uplink is that times its nodes, so that racks of any size fit. One figure per
        height: racks first, then what is above them; the last one holds for all levels above.
    """

    name: str
    source: str
    gpu_link_gbps: float | None = None
    fabric_gbps: float | None = None
    node_uplink_gbps: float | None = None
    switch_uplink_gbps_per_node: list[float | None] = []


def load_fabric(name: str) -> Fabric:
    """A named fabric, or one from a JSON file.

    Raises
    ------
    UsageError
        If there is neither such a name nor such a file.
    InputError
        If the file is no fabric.
    """
    known = named_fabrics()
    if name in known:
        return known[name]
    if not name.endswith(".json"):
        raise UsageError(f"--fabric: there is no fabric {name!r} (expected {one(list(known))}, or a .json file)")
    try:
        fabric = msgspec.json.decode(read_bytes(name), type=Fabric)
    except msgspec.DecodeError as error:
        raise InputError(name, [Defect("$", str(error), "a fabric: name, source and bandwidths in Gbit/s")]) from None
    given = {f"$.{field}": getattr(fabric, field) for field in ("gpu_link_gbps", "fabric_gbps", "node_uplink_gbps")}
    given |= {f"$.switch_uplink_gbps_per_node[{i}]": x for i, x in enumerate(fabric.switch_uplink_gbps_per_node)}
    limit = LIMITS[Switch]["uplink_gbps"]
    wrong = {path: x for path, x in given.items() if x is not None and not limit.low <= x <= limit.high}
    if wrong:
        raise InputError(name, [Defect(path, f"{x:g}", limit.expected) for path, x in wrong.items()])
    return fabric


def named_fabrics() -> dict[str, Fabric]:
    """The fabrics that ship with crop."""
    data = resources.files("crop_cli.sources").joinpath("data/fabrics.json").read_bytes()
    return {fabric.name: fabric for fabric in msgspec.json.decode(data, type=list[Fabric])}


def with_bandwidths(
    levels: list[str], switches: list[Switch], nodes: list[Node], fabric: Fabric
) -> tuple[list[Switch], list[Node], list[str]]:
    """The tree with the bandwidths that its source lacks filled in, and a sentence on what was.

    Parameters
    ----------
    levels
        Top down, the nodes' last.
    """
    filled: dict[str, str] = {}

    def take(given: float | None, assumed: float | None, what: str) -> float | None:
        if given is not None or assumed is None:
            return given
        filled.setdefault(what, f"{what}: {assumed:g} Gbit/s")
        return assumed

    dressed = [
        msgspec.structs.replace(
            node,
            gpu_link_gbps=take(node.gpu_link_gbps, fabric.gpu_link_gbps, "a GPU's own link"),
            fabric_gbps=take(node.fabric_gbps, fabric.fabric_gbps, "the fabric inside a node"),
            uplink_gbps=take(node.uplink_gbps, fabric.node_uplink_gbps, "a node's uplink"),
        )
        for node in nodes
    ]
    below = _nodes_below(switches, nodes)
    per_node = fabric.switch_uplink_gbps_per_node
    wired = []
    for switch in switches:
        height = len(levels) - 2 - levels.index(switch.level)
        share = per_node[min(height, len(per_node) - 1)] if per_node else None
        assumed = None if share is None else share * below[switch.name]
        what = f"a {switch.level}'s uplink"
        if switch.uplink_gbps is None and assumed is not None:
            filled.setdefault(what, f"{what}: {share:g} Gbit/s per node below it")
            switch = msgspec.structs.replace(switch, uplink_gbps=assumed)  # noqa: PLW2901 (the switch as it will be)
        wired.append(switch)
    said = [f"Bandwidths of fabric {fabric.name} ({fabric.source}): {'; '.join(filled.values())}."] if filled else []
    return wired, dressed, said


def _nodes_below(switches: list[Switch], nodes: list[Node]) -> dict[str, int]:
    """Nodes below every switch, at least 1."""
    above = {switch.name: switch.parent for switch in switches}
    count = dict.fromkeys(above, 0)
    for node in nodes:
        at = node.parent
        while at is not None and at in count:
            count[at] += 1
            at = above[at]
    return {name: max(1, n) for name, n in count.items()}
