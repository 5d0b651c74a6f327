"""Readers of the public data that the real instances are made of: one function per file, plain records out."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job of a trace: its place in the trace, arrival and run time in seconds, and GPUs."""

    index: int
    time_s: float
    duration_s: float
    gpus: int


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of the openb trace: cores and GiB per GPU, whole GPUs, and the GPU types it may use (empty: any)."""

    name: str
    gpus: int
    cpu_per_gpu: float
    gib_per_gpu: float
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """A measured model on one GPU."""

    model: str
    gpu: str
    batch: str
    precision: str
    seconds: float
    params_millions: float | None


def philly(folder: Path, cluster: str) -> list[Arrival]:
    """Jobs of one virtual cluster of the Philly trace by arrival; the index is the row of the file."""
    with gzip.open(folder / "philly" / "philly.csv.gz", "rt", newline="") as text:
        rows = [row for row in enumerate(csv.DictReader(text)) if row[1]["cluster"] == cluster]
    found = [Arrival(i, _seconds(row["timestamp"]), float(row["duration"]), int(row["num_gpus"])) for i, row in rows]
    return sorted(found, key=lambda arrival: (arrival.time_s, arrival.index))


def _seconds(timestamp: str) -> float:
    """Seconds since the start of 2017-09-01, local time as in the file."""
    return (datetime.fromisoformat(timestamp) - datetime(2017, 9, 1)).total_seconds()


def when(date: str) -> float:
    """Seconds of a date on the clock of `philly`."""
    return _seconds(date)


def gavel_jobs(folder: Path, name: str) -> list[tuple[int, str, int]]:
    """(row, job type, GPUs) of a Gavel trace in order of arrival."""
    rows = (folder / "gavel" / f"msr_seed0_{name}.trace").read_text().splitlines()
    fields = [row.split("\t") for row in rows]
    return [(i, field[0], int(field[6])) for i, field in enumerate(fields)]


def gavel_speeds(folder: Path) -> dict[str, dict[tuple[str, int], float]]:
    """Steps per second, summed over workers, by worker type and (job type, GPUs); only what ran alone and at all."""
    raw = json.loads((folder / "gavel" / "simulation_throughputs.json").read_text())
    key = re.compile(r"\('(?P<type>.+)', (?P<gpus>\d+)\)")
    speeds: dict[str, dict[tuple[str, int], float]] = {}
    for worker, table in raw.items():
        speeds[worker] = {}
        for text, entry in table.items():
            match = key.fullmatch(text)
            if match and entry.get("null", 0) > 0:
                speeds[worker][(match["type"], int(match["gpus"]))] = float(entry["null"])
    return speeds


def profiles(folder: Path) -> list[Profile]:
    """The rows of the derived table of measured models."""
    with (folder / "derived" / "model_profiles.csv").open(newline="") as text:
        return [
            Profile(
                model=row["model"],
                gpu=row["gpu"],
                batch=row["batch_per_gpu"],
                precision=row["precision"],
                seconds=float(row["step_seconds"]),
                params_millions=float(row["params_millions"]) if row["params_millions"] else None,
            )
            for row in csv.DictReader(text)
        ]


def lingjun_racks(folder: Path) -> dict[tuple[str, str], int]:
    """Hosts per (pod, rack): rack is the pair of aggregation and top-of-rack switch, in order of their numbers."""
    count: dict[tuple[str, str], int] = defaultdict(int)
    with (folder / "alibaba_lingjun" / "topo.csv").open(newline="") as text:
        for row in csv.DictReader(text):
            count[(row["PSW"], row["ASW"])] += 1
    return dict(sorted(count.items(), key=lambda item: (item[0][0], int(item[0][1][1:]))))


def zhejiang_groups(folder: Path) -> dict[tuple[str, ...], list[str]]:
    """Servers of every group of leaf switches, both in order of their numbers."""
    leaves: dict[str, set[str]] = defaultdict(set)
    with (folder / "derived" / "zhejianglab_a100_topology.csv").open(newline="") as text:
        for row in csv.DictReader(text):
            leaves[row["server"]].add(row["leaf_switch"])
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for server in sorted(leaves, key=_last_number):
        groups[tuple(sorted(leaves[server], key=_last_number))].append(server)
    return dict(sorted(groups.items(), key=lambda item: _last_number(item[0][0])))


@dataclass(frozen=True, slots=True)
class DgxFabric:
    """InfiniBand links of DGX nodes to leaves, and of leaves to spines, by scalable unit."""

    links_of_node: dict[str, dict[str, int]]
    spine_links: dict[str, int]


def dgx_fabric(folder: Path) -> DgxFabric:
    """Links per node, by unit ("01" to "08"), and links from the unit's leaves to spines."""
    nodes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    spines: dict[str, int] = defaultdict(int)
    with (folder / "derived" / "dgx_ib_links.csv").open(newline="") as text:
        for row in csv.DictReader(text):
            if row["peer_kind"] == "dgx":
                nodes[row["peer"].split("-dgx-")[1].split("-")[0]][row["peer"]] += 1
            elif row["peer_kind"] == "switch" and "IBLEAF" in row["switch"]:
                spines[row["switch"].rsplit("-", 1)[1]] += 1
    return DgxFabric({unit: dict(sorted(found.items())) for unit, found in sorted(nodes.items())}, dict(spines))


def openb_nodes(folder: Path) -> list[dict[str, str]]:
    """Rows of the openb node list: sn, cpu_milli, memory_mib, gpu, model."""
    with (folder / "alibaba_openb" / "openb_node_list_gpu_node.csv").open(newline="") as text:
        return list(csv.DictReader(text))


def openb_pods(folder: Path, name: str) -> list[Pod]:
    """Pods of one openb list that ask for whole GPUs, in order of the file."""
    with (folder / "alibaba_openb" / f"openb_pod_list_{name}.csv").open(newline="") as text:
        rows = [row for row in csv.DictReader(text) if int(row["num_gpu"]) > 0 and row["gpu_milli"] == "1000"]
    return [
        Pod(
            name=row["name"].removeprefix("openb-"),
            gpus=int(row["num_gpu"]),
            cpu_per_gpu=int(row["cpu_milli"]) / 1000 / int(row["num_gpu"]),
            gib_per_gpu=int(row["memory_mib"]) / 1024 / int(row["num_gpu"]),
            types=tuple(filter(None, (row.get("gpu_spec") or "").split("|"))),
        )
        for row in rows
    ]


def faults_of_servers(folder: Path) -> tuple[list[int], float]:
    """Faults per server of the 400 servers, most first, and the days they were watched."""
    events = json.loads((folder / "infinitehbd_faults" / "fault_trace.json").read_text())
    count: dict[str, int] = defaultdict(int)
    for event in events:
        if event["event_type"] == "fault_start":
            count[event["node_id"]] += 1
    found = sorted(count.values(), reverse=True)
    return found + [0] * (400 - len(found)), 348.0


def _last_number(name: str) -> int:
    return int(re.findall(r"\d+", name)[-1])
