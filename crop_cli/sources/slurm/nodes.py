"""Nodes: of `scontrol show node` in text, of `scontrol show nodes --json`, of `sinfo --json` in both of its forms."""

from __future__ import annotations

from collections import Counter
from typing import Any

from crop_cli.errors import Defect, InputError
from crop_cli.model.findings import quoted
from crop_cli.sources.slurm import tres
from crop_cli.sources.slurm.forms import decoded, document, each, is_json, text_records
from crop_cli.sources.slurm.hostlists import expand
from crop_cli.sources.slurm.records import Input, SlurmNode
from crop_cli.sources.slurm.text import Record
from crop_cli.sources.slurm.values import count, number, text, words

EXPECTED = (
    "nodes: what `scontrol show node` (-d for the GPUs in use), `scontrol show nodes --json` or `sinfo --json` print"
)


def read_nodes(source: Input) -> list[SlurmNode]:
    """All nodes of a file, in its order.

    Raises
    ------
    InputError
        If it has none, or with every record that cannot be read.
    """
    content = decoded(source)
    if not is_json(content):
        rows = text_records(source, content, ("NodeName",), EXPECTED)
        found = each(source, rows, _of_text, lambda _, row: f"line {row.line}")
    else:
        whole, objects = document(source, content, ("nodes", "sinfo"), EXPECTED)
        if objects is whole.get("nodes"):
            found = each(source, objects, _of_json, lambda i, _: f"$.nodes[{i}]")
        else:
            groups = each(source, objects, _of_sinfo, lambda i, _: f"$.sinfo[{i}]")
            return _merged([node for group in groups for node in group])
    twice = [name for name, n in Counter(node.name for node in found).items() if n > 1]
    if twice:
        raise InputError(
            source.file, [Defect("node", f"{quoted(name)} twice", "each node once") for name in twice[:20]]
        )
    return found


def _of_text(row: Record) -> SlurmNode:
    if not row.pairs.keys() & {"Gres", "State"}:
        # Slurm prints both of every node: the file was cut short.
        raise KeyError("Gres and State")
    gres, used = row.get("Gres"), row.pairs.get("GresUsed")
    allocated = row.pairs.get("AllocTRES")
    gpus = tres.counts(gres)
    in_use = None
    if used is not None:
        in_use = tres.counts(used)
    elif allocated is not None and "gres/gpu" in row.get("CfgTRES"):
        # Without -d there is no GresUsed; AllocTRES has GPUs where the site accounts for them.
        in_use = tres.counts(allocated)
    memory = _float(row, "RealMemory")
    return SlurmNode(
        name=row.pairs["NodeName"],
        state=row.get("State") or None,
        gpus=gpus,
        gpus_used=in_use,
        shared_used=tres.shared_gpus(gres, used or "", sum(gpus.values())),
        cpus=_float(row, "CPUEfctv") or _float(row, "CPUTot"),
        memory_mb=None if memory is None else memory - (_float(row, "MemSpecLimit") or 0.0),
        cpus_used=_float(row, "CPUAlloc"),
        memory_used_mb=_float(row, "AllocMem"),
        features=frozenset(row.get("ActiveFeatures").split(",")) - {""},
        partitions=tuple(part for part in row.get("Partitions").split(",") if part),
    )


def _float(row: Record, key: str) -> float | None:
    value = row.get(key)
    return float(value) if value else None


def _of_json(row: dict[str, Any]) -> SlurmNode:
    gres, used = text(row.get("gres")), row.get("gres_used")
    gpus = tres.counts(gres)
    memory = number(row.get("real_memory"))
    state = "+".join((*words(row.get("state")), *words(row.get("state_flags"))))
    return SlurmNode(
        name=str(row["name"]),
        state=state or None,
        gpus=gpus,
        gpus_used=None if used is None else tres.counts(text(used)),
        shared_used=tres.shared_gpus(gres, text(used), sum(gpus.values())),
        cpus=number(row.get("effective_cpus")) or number(row.get("cpus")),
        memory_mb=None if memory is None else memory - count(row.get("specialized_memory")),
        cpus_used=number(row.get("alloc_cpus")),
        memory_used_mb=number(row.get("alloc_memory")),
        features=frozenset(words(row.get("active_features"))),
        partitions=words(row.get("partitions")),
    )


def _of_sinfo(row: dict[str, Any]) -> list[SlurmNode]:
    """The nodes of a row of `sinfo --json` since 23.11: nodes of one partition that are alike.

    What is in use is given in all for the group, GRES apart: that is each node's own. Nodes of one group may differ in
    their features, of which those of one node are told (24.11.5).
    """
    listed = row["nodes"].get("nodes") or []
    names = [name for part in listed for name in expand(part)] if isinstance(listed, list) else expand(listed)
    cpus, memory, gres = row.get("cpus") or {}, row.get("memory") or {}, row.get("gres") or {}
    total, used = text(gres.get("total")), text(gres.get("used"))
    gpus = tres.counts(total)
    state = "+".join(words(row["node"].get("state")))
    allocated, taken = number(cpus.get("allocated")), number(memory.get("allocated"))
    reserved = row.get("resource_spec") or {}
    usable = number(memory.get("minimum"))
    shared = tres.shared_gpus(total, used, sum(gpus.values()))
    features = frozenset(words((row.get("features") or {}).get("active")))
    mixed = allocated is not None and 0 < allocated < (number(cpus.get("total")) or 0.0)
    partition = text((row.get("partition") or {}).get("name"))
    return [
        SlurmNode(
            name=name,
            state=state or None,
            gpus=gpus,
            gpus_used=tres.counts(used),
            shared_used=shared,
            cpus=number(cpus.get("minimum")),
            memory_mb=None if usable is None else usable - count(reserved.get("memory")),
            cpus_used=None if allocated is None else allocated / len(names),
            # The amount of memory in use is one node's.
            memory_used_mb=taken,
            features=features,
            partitions=(partition,) if partition else (),
            vague=len(names) > 1 and (mixed or bool(features)),
        )
        for name in names
    ]


def _merged(rows: list[SlurmNode]) -> list[SlurmNode]:
    """Nodes that come once per partition, once."""
    found: dict[str, SlurmNode] = {}
    for row in rows:
        node = found.setdefault(row.name, row)
        if node is not row:
            node.partitions = tuple(dict.fromkeys((*node.partitions, *row.partitions)))
    return list(found.values())
