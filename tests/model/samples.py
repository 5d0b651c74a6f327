"""A small instance as plain JSON objects that uses every field, and ways to change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crop_cli.errors import Defect, InputError
from crop_cli.model.io import load_instance

ABSENT = object()
"""As a value in `edited`: take the member away."""


def example() -> dict[str, Any]:
    """Two racks in a pod, four nodes, a pinned and a movable running job, and two that wait."""
    return {
        "format": "crop-instance/1",
        "name": "example",
        "description": "Everything once",
        "source": "made up",
        "licence": "CC0-1.0",
        "assumptions": ["none"],
        "cluster": {
            "levels": ["pod", "rack", "node"],
            "oversubscription": 1.5,
            "switches": [
                {"name": "pod", "level": "pod", "uplink_gbps": 800},
                {"name": "rack-1", "level": "rack", "parent": "pod", "uplink_gbps": 400},
                {"name": "rack-2", "level": "rack", "parent": "pod"},
            ],
            "nodes": [
                {
                    "name": "n1",
                    "parent": "rack-1",
                    "gpus": 8,
                    "gpu_type": "A100",
                    "gpu_link_gbps": 2400,
                    "fabric_gbps": 9600,
                    "uplink_gbps": 200,
                    "resources": {"cpu": 96, "memory_gib": 1000},
                    "used": {"gpus": 2, "cpu": 10},
                    "slowdown": 1.25,
                    "failures_per_day": 0.0065,
                    "state": "up",
                },
                {
                    "name": "n2",
                    "parent": "rack-1",
                    "gpus": 8,
                    "gpu_type": "A100",
                    "uplink_gbps": 200,
                    "resources": {"cpu": 96},
                },
                {"name": "n3", "parent": "rack-2", "gpus": 8, "gpu_type": "V100", "resources": {"cpu": 64.5}},
                {"name": "n4", "parent": "rack-2", "gpus": 4, "gpu_type": "V100", "state": "drained"},
            ],
        },
        "objective": {"failure_weight": 2, "cut_penalty": 0.01, "horizon_minutes": 720},
        "jobs": [
            {
                "name": "pinned",
                "gpus": 8,
                "weight": 2.5,
                "compute_s": {"A100": 0.45, "V100": 1},
                "message_mb": 1340,
                "pattern": "alltoall",
                "overlap": 0.3,
                "resources_per_gpu": {"cpu": 8},
                "restart_minutes": 10,
                "checkpoint_minutes": 30,
                "within": "rack",
                "segment": {"gpus": 4, "level": "node"},
                "spread": {"level": "node", "max_gpus": 4},
                "gpus_per_node": 4,
                "placement": {"n1": 4, "n2": 4},
            },
            {"name": "movable", "gpus": 4, "placement": {"n3": 4}, "movable": True, "migration_minutes": 10},
            {"name": "plain", "gpus": 1},
            {"name": "wanted", "gpus": 4, "required": True, "compute_s": 0.2},
        ],
    }


def edited(path: str, value: Any, document: dict[str, Any] | None = None) -> dict[str, Any]:
    """The example with the member at a path such as `cluster.nodes.0.gpus` set, added or (ABSENT) taken away."""
    document = example() if document is None else document
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at: Any = document
    for step in way:
        at = at[step]
    if value is ABSENT:
        del at[last]
    elif isinstance(at, list) and last == len(at):
        at.append(value)
    else:
        at[last] = value
    return document


def defects_of(tmp_path: Path, content: object) -> list[Defect]:
    """Defects of a file with this content: bytes or text as they are, anything else as JSON. Empty when it loads."""
    file = tmp_path / "instance.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    try:
        load_instance(file)
    except InputError as error:
        assert error.file == str(file)
        assert str(file) in str(error)
        return error.defects
    return []


def example_solution() -> dict[str, Any]:
    """A solution file of the example, with some values unknown."""
    times = {"compute_s": 1.0, "comm_s": 0.5, "iteration_s": 1.5, "efficiency": 0.6, "goodput": 2.4}
    return {
        "format": "crop-solution/1",
        "instance": {"name": "example", "sha256": "0" * 64},
        "crop_version": "0.1.0",
        "solver": {
            "name": "greedy",
            "options": {"oracle": "exact", "rounds": 3, "share": 0.5, "fast": True, "x": None},
        },
        "status": "feasible",
        "stop_reason": "completed",
        "objective": 12.5,
        "bound": None,
        "gap": None,
        "ratio": None,
        "guarantee": {"a_priori": None, "why": "jobs may span domains"},
        "metrics": {
            "weighted_goodput": 12.6,
            "gpus_total": 24,
            "gpus_used": 14,
            "gpus_free": 10,
            "gpus_stranded": 0,
            "jobs_total": 4,
            "jobs_placed": 2,
            "jobs_moved": 0,
            "communication_overhead": 0.25,
            "traffic": [
                {
                    "level": "node",
                    "cuts": 2,
                    "gb_per_iteration": 5.4,
                    "reserved_gbps": 20.0,
                    "highest_load": None,
                    "highest_loaded_uplink": None,
                }
            ],
            "throughput": 9.0,
            "failures_per_day": 0.0065,
            "worst_node": "n1",
            "worst_node_blast": 8.0,
            "worst_switch": None,
            "worst_switch_blast": 0.0,
        },
        "runtime_s": {"load": 0.01, "total": 0.5},
        "placements": [
            {"job": "pinned", "nodes": {"n1": 4, "n2": 4}, "level": "rack", **times},
            {"job": "movable", "nodes": {"n3": 4}, "level": "node", **times},
        ],
        "unplaced": [{"job": "plain", "reason": "no room"}, {"job": "wanted", "reason": "no room"}],
        "prices": {
            "certified_bound": 14.5,
            "nodes": [
                {"resource": "gpus", "price": 0.75, "nodes": ["n1", "n2"]},
                {"resource": "cpu", "price": 0.01, "nodes": ["n3"]},
            ],
            "uplinks": [{"level": "rack", "price": 0.002, "uplinks": ["r1"]}],
            "areas": [
                {"domain": "r1", "gpu_type": "a100", "gpus_free": 6, "mean": 0.75, "lowest": 0.75, "highest": 0.75}
            ],
            "priced_out": [
                {"job": "plain", "value": -0.5, "excluded": False},
                {"job": "wanted", "value": None, "excluded": True},
            ],
        },
    }
