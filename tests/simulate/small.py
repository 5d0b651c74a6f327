"""A small cluster and trace for the tests of what surrounds the engine."""

from __future__ import annotations

from typing import Any

import msgspec

from crop_cli.model.instance import Instance
from crop_cli.model.trace import Trace
from crop_cli.simulate.records import Simulation
from crop_cli.simulate.run import simulate
from crop_cli.simulate.settings import Policy, Settings

Data = dict[str, Any]


def cluster_data(**node: Any) -> Data:
    """Four nodes of four GPUs in two racks, and one job, which waits."""
    nodes = [
        {"name": f"n{i}", "parent": f"r{i // 2}", "gpus": 4, "gpu_type": "A100", "uplink_gbps": 100, **node}
        for i in range(4)
    ]
    return {
        "format": "crop-instance/1",
        "name": "four",
        "cluster": {
            "levels": ["rack", "node"],
            "switches": [{"name": f"r{r}", "level": "rack", "uplink_gbps": 100} for r in range(2)],
            "nodes": nodes,
        },
        "jobs": [{"name": "left-aside", "gpus": 1, "compute_s": 1.0, "message_mb": 1.0}],
    }


def trace_data(count: int = 12, name: str = "dozen", job: str = "j") -> Data:
    """Jobs of 2, 4 and 8 GPUs, one a minute, ten minutes each: more than fit at a time; the last one never fits."""
    jobs: list[Data] = [
        {
            "name": f"{job}{i}",
            "gpus": [2, 4, 8][i % 3],
            "compute_s": 0.4,
            "message_mb": 200.0,
            "checkpoint_minutes": 5.0,
            "arrival_s": 60.0 * i,
            "duration_s": 600.0,
        }
        for i in range(count)
    ]
    return {"format": "crop-trace/1", "name": name, "jobs": [*jobs, {**jobs[-1], "name": "giant", "gpus": 64}]}


def simulations(*solvers: str, name: str = "dozen", job: str = "j") -> list[Simulation]:
    """One simulation per solver."""
    cluster = msgspec.convert(cluster_data(), Instance)
    trace = msgspec.convert(trace_data(name=name, job=job), Trace)
    return [simulate(trace, cluster, Settings(policy=Policy(solver=solver))) for solver in solvers]
