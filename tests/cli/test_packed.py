"""Files whose name ends in .gz are packed."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.cli.conftest import Run


def test_an_instance_is_packed_by_its_name_and_read_back(crop: Run, tmp_path: Path) -> None:
    """What `crop generate -o x.json.gz` writes is gzip of what it prints, and `crop solve` reads it."""
    target = tmp_path / "x.json.gz"
    arguments = ["generate", "llm-mix", "--nodes", "8", "--seed", "1"]
    assert crop(*arguments, "-o", str(target), "-q").exit_code == 0
    assert gzip.decompress(target.read_bytes()).decode() == crop(*arguments, "-q").stdout
    assert crop("solve", str(target), "--solver", "greedy").exit_code == 0
