"""Alibaba Lingjun (Crux, SIGCOMM 2024): topo.csv, one line per host with its three switches."""

from __future__ import annotations

from crop_cli.model.instance import Node, Switch
from crop_cli.sources.draft import Draft
from crop_cli.sources.table import Table
from crop_cli.sources.topologies.kind import NodeKind

SOURCE = "Alibaba Lingjun (Cao et al., SIGCOMM 2024; alibaba/alibaba-lingjun-dataset-2023, data/topo.csv, 2ad3fd1)"
COLUMNS = ("ip", "DSW", "PSW", "ASW")


def read(data: bytes, file: str, kind: NodeKind) -> Draft:
    """Read topo.csv: core switches (DSW), aggregation switches (PSW) as pods, top-of-rack switches (ASW) as racks.

    Names of top-of-rack switches repeat between pods; a rack is the pair of both.

    Raises
    ------
    InputError
        With every line that cannot be read, hosts that stand twice and pods below two cores.
    """
    table = Table(file)
    hosts: dict[str, tuple[str, str]] = {}
    core_of: dict[str, str] = {}
    for row in table.rows(data, COLUMNS, some=True):
        host, core, pod, rack = (row.text(column) for column in COLUMNS)
        if host in hosts:
            table.note(row.line, host, "a host that no other line has", "ip")
        if core_of.setdefault(pod, core) != core:
            table.note(row.line, f"{core} above {pod}", f"{core_of[pod]}, as before", "DSW")
        hosts[host] = pod, rack
    table.finish()
    gpus, gpu_type, said = kind.filled(8, "A100", "the source does not state them")
    cores = list(dict.fromkeys(core_of.values()))
    above = cores if len(cores) > 1 else []
    levels = [*(["core"] if above else []), "pod", "rack", "node"]
    switches = [Switch(name=core, level="core") for core in above]
    switches += [Switch(name=pod, level="pod", parent=core if above else None) for pod, core in core_of.items()]
    racks = dict.fromkeys(hosts.values())
    switches += [Switch(name=f"{pod}-{rack}", level="rack", parent=pod) for pod, rack in racks]
    nodes, count = [], dict.fromkeys(racks, 0)
    for place in hosts.values():
        count[place] += 1
        rack_name = f"{place[0]}-{place[1]}"
        nodes.append(Node(name=f"{rack_name}-h{count[place]}", gpus=gpus, gpu_type=gpu_type, parent=rack_name))
    return Draft(
        name="lingjun",
        description="Hosts of a production Clos network.",
        levels=levels,
        switches=switches,
        nodes=nodes,
        jobs=[],
        source=SOURCE,
        licence="Apache-2.0",
        assumptions=[
            said,
            "A rack is the pair of aggregation and top-of-rack switch; hosts are numbered in it in order of the file.",
        ],
        counts={"hosts": len(hosts), "racks": len(racks), "pods": len(core_of), "GPUs": gpus * len(hosts)},
    )
