"""Alibaba's openb nodes (FGD, ATC 2023): sn, cpu_milli, memory_mib, gpu, model."""

from __future__ import annotations

from crop_cli.model.instance import Node
from crop_cli.sources.draft import Draft, Skipped
from crop_cli.sources.table import Table
from crop_cli.sources.topologies.kind import NodeKind

SOURCE = (
    "Alibaba openb nodes (Weng et al., ATC 2023; hkust-adsl/kubernetes-scheduler-simulator, data/csv, 8f3d641; "
    "alibaba/clusterdata, cluster-trace-gpu-v2023)"
)
COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


def read(data: bytes, file: str, kind: NodeKind) -> Draft:
    """Read the node list. `kind` is not asked: the list states GPUs and types.

    Raises
    ------
    InputError
        With every cell that cannot be read and every name that stands twice.
    """
    del kind
    table = Table(file)
    nodes: dict[str, Node] = {}
    skipped: list[Skipped] = []
    seen: dict[str, int] = {}
    for row in table.rows(data, COLUMNS, some=True):
        name, gpus = row.text("sn"), row.whole("gpu")
        cores, mebibytes = row.number("cpu_milli"), row.number("memory_mib")
        if seen.setdefault(name, row.line) != row.line:
            table.note(row.line, f"{name}, as in line {seen[name]}", "a name that no other node has", "sn")
        elif gpus == 0:
            skipped.append(Skipped("node", name, "has no GPU"))
        else:
            resources = {"cpu": cores / 1000, "memory_gib": mebibytes / 1024}
            nodes[name] = Node(name=name, gpus=gpus, gpu_type=row.text("model"), resources=resources)
    table.finish()
    return Draft(
        name="openb",
        description="Nodes of a production cluster with mixed GPU types; G1 to G3 are not disclosed.",
        levels=["node"],
        switches=[],
        nodes=list(nodes.values()),
        jobs=[],
        source=SOURCE,
        licence="Apache-2.0",
        assumptions=["All nodes hang on one network: the source does not state racks."],
        skipped=skipped,
        counts={"nodes": len(seen), "GPUs": sum(node.gpus for node in nodes.values())},
    )
