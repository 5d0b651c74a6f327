"""Constraints on features."""

from __future__ import annotations

import pytest

from crop_cli.sources.slurm.features import satisfied


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        ("a100", True),
        ("h100", False),
        ("a100|h100", True),
        ("a100&ib", True),
        ("a100&h100", False),
        ("ib&(h100|a100)", True),
        ("[h100|a100]", True),
        ("h100,a100", False),
        ("h100|v100", False),
        (" a100 & ib ", True),
    ],
)
def test_constraints(constraint: str, holds: bool) -> None:
    """Features are joined by and (&, comma) and or (|), with parentheses and brackets."""
    assert satisfied(constraint, {"a100", "ib"}) is holds


@pytest.mark.parametrize("constraint", ["a100*2", "(a100", "a100&", "|a100", "a)b", ""])
def test_what_cannot_be_read(constraint: str) -> None:
    """Counts of nodes and broken constraints are refused."""
    with pytest.raises(ValueError, match=r".*"):
        satisfied(constraint, {"a100"})
