"""Errors that a user can act on. The command line maps each class to one exit code."""

from __future__ import annotations

from dataclasses import dataclass


class CropError(Exception):
    """Base of all errors raised on purpose."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong with a file: where (JSON path), what was found, what was expected."""

    path: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path}: found {self.found}; expected {self.expected}"


class InputError(CropError):
    """A file that cannot be used, with every problem found in it.

    Attributes
    ----------
    file
        Name of the file as the user gave it.
    defects
        All defects, in the order of the file.
    """

    def __init__(self, file: str, defects: list[Defect]) -> None:
        self.file = file
        self.defects = defects
        super().__init__("\n".join(f"{file}: {defect}" for defect in defects))


class UsageError(CropError):
    """An option or argument that cannot be used."""


class BackendError(CropError):
    """A solver library failed, is not installed, or gave an answer that the evaluator refused."""


class ViolationError(CropError):
    """A solution that does not hold for its instance."""
