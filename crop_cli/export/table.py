"""A placement as comma-separated values: a row per placed job and node, and one per job without a place."""

from __future__ import annotations

import csv
import io

from crop_cli.export.placed import Exported
from crop_cli.model.topology import Topology

COLUMNS = ["job", "change", "node", "gpus", "path", "iteration_s", "efficiency", "goodput", "reason"]
"""`path` names the switches above the node, top down, with slashes (empty without the instance). `gpus` are those on
the node; iteration time, efficiency and goodput are the whole job's."""


def csv_text(exported: Exported) -> str:
    """All jobs of the solution; empty cells where there is nothing to say (RFC 4180, lines end with a line feed)."""
    topology = None if exported.instance is None else Topology.of(exported.instance.cluster)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for placement in exported.placements:
        row = placement.row
        for node, count in placement.nodes.items():
            path = "" if topology is None else "/".join(vertex.name for vertex in topology.chain[node][:-1])
            figures = [row.iteration_s, row.efficiency, row.goodput]
            writer.writerow([row.job, placement.change, node, count, path, *figures, ""])
    for waiting in exported.solution.unplaced:
        writer.writerow([waiting.job, "waits", *[""] * 6, waiting.reason])
    return text.getvalue()
