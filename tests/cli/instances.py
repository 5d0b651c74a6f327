"""Instance files for the tests of the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

Data = dict[str, Any]


def two_racks(**changes: Any) -> Data:
    """Eight nodes of eight GPUs in two racks, and ten jobs of which not all fit."""
    nodes = [
        {"name": f"n{i}", "parent": f"rack-{1 + i // 4}", "gpus": 8, "gpu_type": "A100", "uplink_gbps": 200}
        for i in range(8)
    ]
    sizes = [16, 8, 8, 4, 4, 2, 16, 12, 6, 1]
    jobs = [
        {"name": f"job-{i}", "gpus": k, "compute_s": 0.4, "message_mb": 1000, "weight": 1 + i % 3}
        for i, k in enumerate(sizes)
    ]
    jobs.append({"name": "picky", "gpus": 4, "compute_s": {"H100": 0.1}})
    data: Data = {
        "format": "crop-instance/1",
        "name": "two-racks",
        "cluster": {
            "levels": ["rack", "node"],
            "switches": [{"name": f"rack-{r}", "level": "rack", "uplink_gbps": 400} for r in (1, 2)],
            "nodes": nodes,
        },
        "jobs": jobs,
    }
    return {**data, **changes}


def infeasible() -> Data:
    """Three required jobs of 6 GPUs on two nodes of 8: GPUs enough, but no room."""
    return {
        "format": "crop-instance/1",
        "name": "infeasible",
        "cluster": {"levels": ["node"], "nodes": [{"name": "a", "gpus": 8}, {"name": "b", "gpus": 8}]},
        "jobs": [
            {"name": f"must-{i}", "gpus": 5, "required": True, "within": "node", "message_mb": 10} for i in range(3)
        ],
    }


def hard(seed: int = 0) -> Data:
    """Many different jobs on many different nodes: no back end proves it within seconds."""
    draw = random.Random(seed)
    racks, per_rack = 3, 5
    nodes = [
        {
            "name": f"n{i}",
            "parent": f"r{i // per_rack}",
            "gpus": draw.choice([4, 6, 8]),
            "uplink_gbps": draw.choice([50, 100, 200]),
            "slowdown": 1 + draw.random() / 5,
            "failures_per_day": draw.random() / 50,
        }
        for i in range(racks * per_rack)
    ]
    jobs = [
        {
            "name": f"j{i}",
            "gpus": draw.randint(2, 20),
            "compute_s": 0.1 + draw.random(),
            "message_mb": draw.randint(200, 3000),
            "weight": 0.5 + draw.random(),
            "pattern": draw.choice(["allreduce", "alltoall"]),
            "restart_minutes": 10,
        }
        for i in range(30)
    ]
    switches = [{"name": f"r{r}", "level": "rack", "uplink_gbps": 200} for r in range(racks)]
    return {
        "format": "crop-instance/1",
        "name": "hard",
        "cluster": {"levels": ["rack", "node"], "switches": switches, "nodes": nodes},
        "jobs": jobs,
    }


def write(path: Path, data: Data) -> str:
    """Write an instance, and its path as text."""
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)
