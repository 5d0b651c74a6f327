"""The topologies by name, how a file's form is told, and clusters to place jobs on."""

from __future__ import annotations

import csv
from collections.abc import Callable

import msgspec

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import read_bytes, shown, unpack
from crop_cli.model.instance import Instance
from crop_cli.model.io import read_instance
from crop_cli.names import one
from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import DEFAULT, load_fabric, with_bandwidths
from crop_cli.sources.profiles import Profiles
from crop_cli.sources.topologies import ibnetdiscover, lingjun, openb_nodes, zhejiang
from crop_cli.sources.topologies.kind import NodeKind

READERS: dict[str, Callable[[bytes, str, NodeKind], Draft]] = {
    "lingjun": lingjun.read,
    "zhejiang": zhejiang.read,
    "ibnetdiscover": ibnetdiscover.read,
    "openb-nodes": openb_nodes.read,
}

_COLUMNS = {"lingjun": lingjun.COLUMNS, "zhejiang": zhejiang.COLUMNS, "openb-nodes": openb_nodes.COLUMNS}


def form_of(data: bytes) -> str | None:
    """Name of the topology that a file's first lines show; None if it is none."""
    head = data[:100_000].decode("utf-8-sig", errors="replace")
    names = [name.strip() for name in next(csv.reader(head.splitlines()[:1]), [])]
    for name, columns in _COLUMNS.items():
        if set(columns) <= set(names):
            return name
    return "ibnetdiscover" if "switchguid=" in head or "\nSwitch" in f"\n{head}" else None


def load_cluster(path: str, profiles: Profiles, fabric: str | None) -> Instance:
    """The cluster of an instance file, or of a topology in any form.

    Bandwidths that an instance lacks are unlimited, unless a fabric is named; those that a topology lacks are always
    filled in.

    Raises
    ------
    InputError, UsageError
        If the file or the fabric cannot be used.
    """
    raw = read_bytes(path)
    data = unpack(path, raw)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        instance = read_instance(raw, path).instance
        return instance if fabric is None else _wired(instance, fabric)
    form = form_of(data)
    if form is None:
        expected = f"an instance (JSON) or a topology: {one(list(READERS))}"
        raise InputError(shown(path), [Defect("$", "a file of another form", expected)])
    return dress(READERS[form](data, path, NodeKind()), profiles, load_fabric(fabric or DEFAULT)).instance


def _wired(instance: Instance, fabric: str) -> Instance:
    """An instance with the bandwidths that it lacks."""
    cluster = instance.cluster
    switches, nodes, said = with_bandwidths(cluster.levels, cluster.switches, cluster.nodes, load_fabric(fabric))
    return msgspec.structs.replace(
        instance,
        cluster=msgspec.structs.replace(cluster, switches=switches, nodes=nodes),
        assumptions=[*instance.assumptions, *said],
    )
