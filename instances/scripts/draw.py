"""Random draws that stay the same from one Python version to the next."""

from __future__ import annotations

from crop_cli.sources.generate.draw import Draw as Base


class Draw(Base):
    """The generators' draws, and whole numbers."""

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._random() * (high - low + 1))
