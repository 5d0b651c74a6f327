"""Public data for tests: excerpts that come with crop, and the whole files where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

EXCERPTS = Path(__file__).parent / "data" / "traces"

_WHOLE = Path(os.environ.get("CROP_SHARED", Path(__file__).parents[3] / "shared")) / "traces"


def excerpt(name: str) -> bytes:
    """A file of about twenty rows."""
    return (EXCERPTS / name).read_bytes()


def whole(name: str) -> Path:
    """A whole file; the test is skipped where it is absent."""
    file = _WHOLE / name
    if not file.exists():
        pytest.skip(f"{name} is not at hand (folder of CROP_SHARED)")
    return file
