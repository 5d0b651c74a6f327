"""How instance files are written: one line per switch, node and job, so that people and diffs can read them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Document = dict[str, Any]

MAX_PLAIN_BYTES = 1_000_000
"""Larger files are stored as `.json.gz`."""

_LISTS = ("switches", "nodes", "jobs", "assumptions")
_OBJECTS = ("cluster",)


def instance_text(document: Document) -> str:
    """JSON text of an instance document: stable, UTF-8, keys in the order given, a newline at the end."""
    return _object(document, indent=1) + "\n"


def write_instance(path: Path, document: Document, *, always_packed: bool = False) -> Path:
    """Write an instance as `path` (`NAME.json`), or `NAME.json.gz` beside it if it is large. Returns that path."""
    data = instance_text(document).encode()
    packed = path.with_name(path.name + ".gz")
    if always_packed or len(data) > MAX_PLAIN_BYTES:
        # No time stamp and no file name in the header: the same input gives the same bytes.
        packed.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
        path.unlink(missing_ok=True)
        return packed
    path.write_bytes(data)
    packed.unlink(missing_ok=True)
    return path


def number(value: float, digits: int = 6) -> float | int:
    """Round to significant digits; whole numbers become integers, so that files stay short."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) else rounded


def _object(document: Document, indent: int) -> str:
    pad = " " * indent
    lines = []
    for key, value in document.items():
        if key in _OBJECTS:
            text = _object(value, indent + 1)
        elif key in _LISTS and value:
            rows = ",\n".join(f"{pad} {_line(row)}" for row in value)
            text = f"[\n{rows}\n{pad}]"
        else:
            text = _line(value)
        lines.append(f"{pad}{_line(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n" + " " * (indent - 1) + "}"


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
