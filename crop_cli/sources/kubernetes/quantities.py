"""Quantities of Kubernetes: "500m", "64Gi", "1e3" (apimachinery, `resource.Quantity`)."""

from __future__ import annotations

import math
import re
from functools import lru_cache

GIB = float(2**30)

_SUFFIX = {
    "": 1.0,
    **{name: 10.0 ** (3 * power) for name, power in zip("numkMGTPE", (-3, -2, -1, 1, 2, 3, 4, 5, 6), strict=True)},
    **{f"{name}i": 1024.0**power for power, name in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?P<suffix>[eE][+-]?[0-9]+|[numkMGTPE]?|[KMGTPE]i)"
)


class QuantityError(ValueError):
    """What is no quantity, or one below 0."""


def quantity(value: object) -> float:
    """The number that a quantity stands for; cores for cpu, bytes for memory.

    Raises
    ------
    QuantityError
        If it is no number, not finite, or negative.
    """
    if isinstance(value, str):
        return _parsed(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise QuantityError(repr(value))
    return float(value)


@lru_cache(maxsize=65536)
def _parsed(text: str) -> float:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        raise QuantityError(text)
    suffix = found["suffix"]
    # "E" alone is 10^18, "E3" and "e3" are exponents.
    exponent = suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei"
    try:
        number = float(found["number"] + suffix) if exponent else float(found["number"]) * _SUFFIX[suffix]
    except OverflowError:
        raise QuantityError(text) from None
    if not (math.isfinite(number) and 0 <= number < 1e21):
        raise QuantityError(text)
    return number
