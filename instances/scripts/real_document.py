"""What the recipes of real instances share: reading windows, wording, the document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import real_clusters as clusters
import real_jobs as queues
import real_models as models
import real_traces as traces
from draw import Draw
from real_origins import Origin

Part = dict[str, Any]


def philly_a100(data: Path, draw: Draw, cluster: clusters.Cluster, virtual: str, start: str, load: float) -> list[Part]:
    """Jobs of a window of the Philly trace with A100 models, wanting `load` times the free GPUs."""
    free = sum(cluster.free().values())
    found = queues.window(traces.philly(data, virtual), traces.when(start), load * free, free)
    return queues.a100_jobs(draw, "p", found, models.a100_models(data))


def philly_said(virtual: str, start: str) -> tuple[str, ...]:
    """The assumption that states the window."""
    return (
        f"Sizes: arrivals of virtual cluster {virtual} from {start} on, until the wanted load is reached; "
        "all are taken to wait at once. The number in a job's name is its row in philly.csv, from 0.",
    )


def document(
    description: str,
    origins: Sequence[Origin],
    assumptions: Sequence[str],
    cluster: clusters.Cluster,
    jobs: list[Part],
) -> Part:
    """The instance, but for its name."""
    return {
        "format": "crop-instance/1",
        "name": "",
        "description": description,
        "source": "; ".join(origin.source for origin in origins),
        "licence": "; ".join(dict.fromkeys(origin.licence for origin in origins)),
        "assumptions": [*assumptions, "Changes made to the sources. " + "; ".join(o.changes for o in origins) + "."],
        "cluster": cluster.part(),
        "jobs": jobs,
    }
