"""Taken GPUs: some are used by nobody knows whom, some by running jobs that stay where they are."""

from __future__ import annotations

import msgspec

from crop_cli.model.instance import Job
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.generate.clusters import Cluster
from crop_cli.sources.generate.distributions import PHILLY_JOBS
from crop_cli.sources.generate.draw import Draw
from crop_cli.sources.generate.jobs import Models

TAKEN = 0.3
"""Share of taken GPUs."""


def take(cluster: Cluster, draw: Draw, models: Models) -> list[DraftJob]:
    """Take the share of the GPUs: half of it as `used`, half by running jobs, which are returned.

    Every GPU is as likely to be used as any other. Running jobs have Philly's sizes up to 8, or what is left in a node
    that is drawn, if that is less.
    """
    total = sum(node.gpus for node in cluster.nodes)
    each = round(TAKEN * total / 2)
    used: dict[str, int] = {}
    for name in draw.shuffled([node.name for node in cluster.nodes for _ in range(node.gpus)])[:each]:
        used[name] = used.get(name, 0) + 1
    cluster.nodes = [
        msgspec.structs.replace(node, used={"gpus": used[node.name]}) if node.name in used else node
        for node in cluster.nodes
    ]
    free = cluster.free()
    names = [name for name, gpus in free.items() if gpus]
    shares = {size: share for size, share in PHILLY_JOBS.items() if size <= 8}
    running: list[DraftJob] = []
    left = each
    while left > 0:
        at = draw.pick(names)
        gpus = min(draw.weighted(shares), free[at], left)
        if gpus == 0:
            continue
        free[at] -= gpus
        left -= gpus
        model = models.pick(draw, gpus)
        name = f"r{len(running) + 1}" + (f"-{model}" if model else "")
        running.append(DraftJob(Job(name=name, gpus=gpus, placement={at: gpus}), model=model))
    return running
