"""Order of names with numbers in them."""

from __future__ import annotations

import re


def by_numbers(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts "gpu-2" before "gpu-10"."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts if part)
