"""Fixtures of the tests of benches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.plug_ins import installed


@pytest.fixture
def misbehaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package with solvers x-dies, x-hangs and so on, which is installed for the test."""
    with installed(tmp_path / "site", monkeypatch) as folder:
        yield folder
