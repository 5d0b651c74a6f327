"""Free MPS files: the format that every solver of integer programs reads."""

from __future__ import annotations

from collections.abc import Iterator

from crop_cli.export.program import CONSTANT, Program

OBJECTIVE = "minus_F"

_SENSES = {"<=": "L", ">=": "G", "=": "E"}


def mps_text(program: Program, sha256: str) -> str:
    """The model as a free MPS file that minimises −F: without a sign in the file, all readers minimise.

    Parameters
    ----------
    program
        The model.
    sha256
        Of the instance file, for the comments.
    """
    return "\n".join(_lines(program, sha256)) + "\n"


def _lines(program: Program, sha256: str) -> Iterator[str]:
    comments = program.comments(sha256, "Minimise: F = -1 * objective.")
    yield from (f"* {line}".rstrip() for line in comments)
    yield "NAME crop FREE"
    yield "ROWS"
    yield f" N {OBJECTIVE}"
    entries: dict[str, list[tuple[str, float]]] = {name: [] for name in (CONSTANT, *program.columns)}
    for name, value in program.gains:
        entries[name].append((OBJECTIVE, -value))
    right_hand_sides = []
    for row in program.rows():
        yield f" {_SENSES[row.sense]} {row.name}"
        for name, value in row.terms:
            entries[name].append((row.name, value))
        if row.right:
            right_hand_sides.append(f" RHS {row.name} {row.right!r}")
    yield "COLUMNS"
    yield from _column(CONSTANT, entries[CONSTANT])
    yield " MARK0 'MARKER' 'INTORG'"
    for name in program.columns:
        yield from _column(name, entries[name])
    yield " MARK1 'MARKER' 'INTEND'"
    yield "RHS"
    yield from right_hand_sides
    yield "BOUNDS"
    yield f" FX BND {CONSTANT} 1"
    for name, upper in program.bounds:
        yield f" FX BND {name} 0" if upper == 0 else f" UP BND {name} {upper}"
    yield "ENDATA"


def _column(name: str, entries: list[tuple[str, float]]) -> Iterator[str]:
    # A column without entries would not be there: its cost of 0 declares it.
    return (f" {name} {row} {value!r}" for row, value in entries or [(OBJECTIVE, 0.0)])
