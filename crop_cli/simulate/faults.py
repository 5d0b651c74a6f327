"""Fault traces: when nodes were out of service, and which nodes of a cluster that is replayed on.

Two forms are read, plain or gzip. JSON as InfiniteHBD publishes it (github.com/stepfun-ai/InfiniteHBD-Trace, SIGCOMM
2025): a list of `{node_id, event_time, event_type, fault_type}` with days and `fault_start` or `fault_end`. CSV with
the columns `node,start_s,end_s`, seconds; an empty end is a fault that is never repaired.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crop_cli.errors import Defect, InputError, UsageError
from crop_cli.model.files import read_bytes, shown, unusable
from crop_cli.model.findings import quoted
from crop_cli.names import plural
from crop_cli.simulate.settings import DAY
from crop_cli.sources.table import Table, text_of

START, END = "fault_start", "fault_end"
COLUMNS = ("node", "start_s", "end_s")
EVENT = 'an object with "node_id", "event_time" and "event_type"'

Fault = tuple[str, float, float]
"""Node name, start and end in seconds."""


@dataclass(frozen=True, slots=True)
class FaultTrace:
    """Faults of a file.

    Attributes
    ----------
    file
        Its name, for messages.
    nodes
        Names of the file in order of first appearance; a node without a fault does not appear.
    faults
        In order of start; those of one node may overlap. The end is infinite where there is none.
    """

    file: str
    nodes: list[str]
    faults: list[Fault]


@dataclass(frozen=True, slots=True)
class Replay:
    """Faults on the nodes of a cluster, and in words how the nodes were matched."""

    faults: list[Fault]
    said: str


def load_faults(path: str | Path) -> FaultTrace:
    """Read a fault trace.

    Parameters
    ----------
    path
        JSON or CSV, told by the first character; "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be used, with what is wrong with it.
    """
    return read_faults(read_bytes(path), path)


def read_faults(data: bytes, path: str | Path) -> FaultTrace:
    """Decode the bytes of a fault trace; the path is for messages only.

    Raises
    ------
    InputError
        If it cannot be used, with what is wrong with it.
    """
    table = Table(str(path))
    text = text_of(data, table.file)
    faults = _of_json(text, table) if text.lstrip().startswith(("[", "{")) else _of_csv(data, table)
    table.finish()
    nodes = dict.fromkeys(name for name, _, _ in faults)
    return FaultTrace(shown(path), list(nodes), sorted(faults, key=lambda fault: fault[1]))


def replay(trace: FaultTrace, cluster: Sequence[str], nodes: int | None = None, seed: int = 0) -> Replay:
    """Lay a fault trace over a cluster.

    By name where the cluster has the names of the trace. Where it has none of them and `nodes` is not given, the first
    node of the trace to appear is the first node of the cluster, and so on. With `nodes`, all that the trace watched
    are dealt to the cluster at random. What the trace has too many is left out, and where it has too few it is
    repeated.

    Parameters
    ----------
    cluster
        Names of its nodes.
    nodes
        How many nodes the trace watched, those without a fault included. None: only those that appear, so that every
        node of the cluster has faults, and its first nodes have the earliest.
    seed
        Of the dealing.

    Raises
    ------
    InputError
        If the cluster has some of the names but not all.
    UsageError
        If `nodes` is less than the trace has.
    """
    known = set(cluster)
    missing = [name for name in trace.nodes if name not in known]
    if not missing:
        return Replay(trace.faults, f"{plural(len(trace.faults), 'fault')}, nodes by name")
    if len(missing) < len(trace.nodes):
        there = plural(len(trace.nodes) - len(missing), "other node")
        defects = [Defect("node", quoted(name), f"a node of the cluster, as {there} of the file") for name in missing]
        raise InputError(trace.file, defects)
    if nodes is not None and nodes < len(trace.nodes):
        raise UsageError(f"--fault-nodes: {nodes} is less than the {len(trace.nodes)} nodes of {trace.file}")
    own: dict[str, list[Fault]] = defaultdict(list)
    for fault in trace.faults:
        own[fault[0]].append(fault)
    watched = nodes or len(trace.nodes)
    dealt = range(watched) if nodes is None else np.random.default_rng(seed).permutation(watched).tolist()
    faults = []
    for i, name in enumerate(cluster):
        k = dealt[i % watched]
        # Numbers beyond those of the names are nodes without a fault.
        faults += [(name, start, end) for _, start, end in own[trace.nodes[k]]] if k < len(trace.nodes) else []
    how = "in order of first appearance" if nodes is None else f"at random (seed {seed})"
    said = _words(trace, len(faults), len(cluster), watched, how)
    return Replay(sorted(faults, key=lambda fault: fault[1]), said)


def _words(trace: FaultTrace, faults: int, size: int, watched: int, how: str) -> str:
    if watched > size:
        fate = f", {watched - size} left out"
    elif watched < size:
        fate = ", repeated" + ("" if size % watched == 0 else f" and the last of {size // watched + 1} rounds cut")
    else:
        fate = ""
    silent = watched - len(trace.nodes)
    apart = f" ({silent} without a fault)" if silent else ""
    nodes = f"{plural(watched, 'node')} of the trace{apart}"
    return f"{plural(faults, 'fault')}, {nodes} {how} on {plural(size, 'node')}{fate}"


def _of_csv(data: bytes, table: Table) -> list[Fault]:
    faults = []
    for row in table.rows(data, COLUMNS):
        node, start = row.text("node"), row.number("start_s")
        end = row.number("end_s") if row.cells["end_s"].strip() else math.inf
        if end < start:
            table.note(
                row.line, quoted(row.cells["end_s"]), f"at least start_s, {row.cells['start_s'].strip()}", "end_s"
            )
        faults.append((node, start, end))
    return faults


def _of_json(text: str, table: Table) -> list[Fault]:
    """Every start with the end that closes it: ends close the faults of their node in the order of their starts."""
    try:
        events = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise unusable(table.file, f"no JSON: {error.msg}", "a JSON list of faults", where) from None
    except RecursionError:
        raise unusable(table.file, "lists or objects nested too deeply", "a JSON list of faults") from None
    if not isinstance(events, list):
        raise unusable(table.file, "no list", f"a list, each entry {EVENT}")
    read = [event for i, raw in enumerate(events) if (event := _event(table, f"$[{i}]", raw))]
    if table.defects:
        return []
    faults: list[Fault] = []
    started: dict[str, list[int]] = defaultdict(list)
    # Of one moment, what the file has first comes first.
    for time, node, kind, where in sorted(read, key=lambda event: event[0]):
        if kind == START:
            started[node].append(len(faults))
            faults.append((node, time, math.inf))
        elif started[node]:
            k = started[node].pop(0)
            faults[k] = (node, faults[k][1], time)
        else:
            table.defects.append(Defect(where, f"{END} of node {quoted(node)}", f"a {START} of the node before it"))
    return faults


def _event(table: Table, where: str, raw: Any) -> tuple[float, str, str, str] | None:
    """Time in seconds, node, what happens, and where in the file that stands; None with its defects noted."""
    if not isinstance(raw, dict):
        table.defects.append(Defect(where, _shown(raw), EVENT))
        return None
    before = len(table.defects)
    node, time, kind = raw.get("node_id"), raw.get("event_time"), raw.get("event_type")
    named = (isinstance(node, int) and not isinstance(node, bool)) or (isinstance(node, str) and node.strip())
    if not named or not str(node).isprintable():
        table.defects.append(Defect(f"{where}.node_id", _shown(node), "a name"))
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < math.inf:
        table.defects.append(Defect(f"{where}.event_time", _shown(time), "days, at least 0"))
        time = 0.0
    if kind not in (START, END):
        table.defects.append(Defect(f"{where}.event_type", _shown(kind), f'"{START}" or "{END}"'))
    return (DAY * time, str(node), str(kind), where) if len(table.defects) == before else None


def _shown(raw: Any) -> str:
    if raw is None:
        return "nothing"
    return quoted(raw) if isinstance(raw, str) else quoted(json.dumps(raw)).replace('\\"', "'").strip('"')
