"""Columns beyond those of the LP: where whole placements need others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crop_cli.api import load, solve

INSTANCES = Path(__file__).resolve().parents[3] / "instances"
KNOWN = json.loads((INSTANCES / "best-known.json").read_text())


@pytest.mark.parametrize("name", ["small/bandwidth-2.json", "small/bandwidth-4.json", "small/deep-4.json"])
def test_it_leaves_the_local_optimum_of_the_greedy(name: str) -> None:
    """The greedy is 0.3 to 3.6 % below the optimum here, and no column of the LP helps: the search finds others."""
    greedy, found = (solve(load(INSTANCES / name), solver=solver).objective for solver in ("greedy", "search"))
    assert greedy is not None and found is not None
    assert found > greedy
    assert found >= 0.999 * KNOWN[name]["value"]
