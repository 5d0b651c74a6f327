"""Instances with solutions for the tests of exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crop_cli import api
from crop_cli.export.placed import Exported, read_exported
from crop_cli.model.io import dump_solution

Data = dict[str, Any]


def instance(jobs: list[Data], nodes: dict[str, int] | None = None) -> Data:
    """Jobs on nodes (name to GPUs) in one rack."""
    made = [{"name": name, "parent": "rack-1", "gpus": gpus} for name, gpus in (nodes or {"n1": 8, "n2": 8}).items()]
    cluster = {"levels": ["rack", "node"], "switches": [{"name": "rack-1", "level": "rack"}], "nodes": made}
    return {"format": "crop-instance/1", "name": "test", "cluster": cluster, "jobs": jobs}


def write(folder: Path, data: Data) -> tuple[str, str]:
    """Files of an instance and of its best placement."""
    files = folder / "instance.json", folder / "solution.json"
    files[0].write_text(json.dumps(data), encoding="utf-8")
    files[1].write_bytes(dump_solution(api.solve(files[0], solver="exact")))
    return str(files[0]), str(files[1])


def exported(folder: Path, data: Data, *, with_instance: bool = True) -> Exported:
    """The best placement of an instance, read for export."""
    files = write(folder, data)
    return read_exported(files if with_instance else files[1:])
