"""The traces by name, and their readers."""

from __future__ import annotations

from collections.abc import Callable

from crop_cli.sources.traces import elasticflow, gavel, openb, philly, tiresias
from crop_cli.sources.traces.reading import Reading

READERS: dict[str, Callable[[bytes, str], Reading]] = {
    "philly": philly.read,
    "gavel": gavel.read,
    "openb": openb.read,
    "elasticflow": elasticflow.read,
    "tiresias": tiresias.read,
}
