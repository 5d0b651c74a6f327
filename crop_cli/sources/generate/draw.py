"""Seeded random choices that give the same values on every Python version."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices made from `random.random()` alone, the only stream that Python promises never to change."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random() < probability

    def uniform(self, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        return low + self._random() * (high - low)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self._random() * len(options))]

    def weighted(self, shares: Mapping[T, float]) -> T:
        """A key, with probability proportional to its value."""
        rest = self._random() * sum(shares.values())
        for key, share in shares.items():
            rest -= share
            if rest < 0:
                return key
        # Rounding left a rest.
        return next(reversed(list(shares)))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order (Fisher and Yates)."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = int(self._random() * (i + 1))
            order[i], order[j] = order[j], order[i]
        return order

    def gamma(self, shape: float, mean: float) -> float:
        """A Gamma variate, for 0 < shape < 1: Ahrens and Dieter 1974, algorithm GS."""
        bound = 1.0 + shape / math.e
        while True:
            p, u = bound * self._random(), 1.0 - self._random()
            if p <= 1.0:
                x = math.pow(p, 1.0 / shape)
                if u <= math.exp(-x):
                    break
            else:
                x = -math.log((bound - p) / shape)
                if u <= math.pow(x, shape - 1.0):
                    break
        return x * mean / shape
