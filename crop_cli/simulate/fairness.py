"""Max-min fair rates: the alternative to stretching by load.

Every job asks, on each uplink that it cuts, for the bandwidth it would use at full speed, and runs at a share of full
speed between 0 and 1, the same on all its uplinks. All shares grow together until an uplink is full; the jobs on it
stay where they are, the others go on (progressive filling: Bertsekas and Gallager, Data Networks, 1992, section 6.5).
Jobs of the cluster that stay for good keep what they have reserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crop_cli.simulate.cluster import SimCluster


def max_min_rates(cluster: SimCluster) -> dict[int, float]:
    """Work per second of every running job."""
    jobs = sorted(cluster.running)
    share = dict.fromkeys(jobs, 1.0)
    demand = {
        j: {v: gbps for v, gbps in zip(job.vertices.tolist(), job.reserved.tolist(), strict=True) if gbps > 0}
        for j in jobs
        if (job := cluster.running[j]).vertices is not None and job.reserved is not None
    }
    free = {v: float(cluster.problem.uplink_free[v]) for v, users in cluster.users.items() if users}
    growing = {j for j in jobs if demand.get(j)}
    while growing:
        wanted = {v: sum(demand[j].get(v, 0.0) for j in sorted(cluster.users[v]) if j in growing) for v in free}
        level = {v: free[v] / wanted[v] for v in free if wanted[v] > 0}
        tight = min(level, key=lambda v: (level[v], v), default=None)
        if tight is None or level[tight] >= 1.0:
            break
        stopped = sorted(j for j in cluster.users[tight] if j in growing and tight in demand[j])
        for j in stopped:
            share[j] = max(level[tight], 0.0)
            growing.discard(j)
            for v, gbps in demand[j].items():
                free[v] -= share[j] * gbps
    return {j: float(np.maximum(share[j], 1e-6)) * cluster.alone(cluster.running[j]) for j in jobs}
