"""Quantities as Kubernetes writes them."""

from __future__ import annotations

import pytest

from crop_cli.sources.kubernetes.quantities import QuantityError, quantity


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("8", 8),
        ("500m", 0.5),
        ("1056270848Ki", 1056270848 * 1024),
        ("64Gi", 64 * 2**30),
        ("1.5Ti", 1.5 * 2**40),
        ("2k", 2000),
        ("3M", 3e6),
        ("1E", 1e18),
        ("2Ei", 2 * 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("12e-1", 1.2),
        ("100u", 1e-4),
        ("5n", 5e-9),
        (".5", 0.5),
        ("+4", 4),
        (" 4 ", 4),
        (16, 16),
        (0.25, 0.25),
    ],
)
def test_reads(value: object, number: float) -> None:
    """Suffixes of thousands and of 1024, exponents and plain numbers are read."""
    assert quantity(value) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    "value", ["", "x", "8 GB", "8gb", "-1", "1e999", "--1", "1ki", True, None, -1, 1e30, float("nan"), []]
)
def test_refuses(value: object) -> None:
    """What is no quantity of at least 0 is refused."""
    with pytest.raises(QuantityError):
        quantity(value)
