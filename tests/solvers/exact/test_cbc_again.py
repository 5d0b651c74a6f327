"""CBC claims an optimum that its own point does not reach: it is asked again without preprocessing."""

from __future__ import annotations

from pathlib import Path

import pytest

from crop_cli.api import load, solve

INSTANCES = Path(__file__).resolve().parents[3] / "instances"


def test_a_missed_optimum_is_looked_for_again() -> None:
    """On this instance CBC 2.10.3 with preprocessing claims more than any placement has; without it, it proves."""
    solution = solve(load(INSTANCES / "small/resources-4.json"), solver="cbc", time_limit=60)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(63.6802948, abs=1e-6)
