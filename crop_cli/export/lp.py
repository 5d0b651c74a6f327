"""CPLEX LP files: read by people, and by about every solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crop_cli.export.program import CONSTANT, Program, Row, Terms

WIDTH = 100
"""Longest line of an expression; old readers stop at 255 or 510 characters."""


def lp_text(program: Program, sha256: str) -> str:
    """The model as an LP file that maximises F.

    Parameters
    ----------
    program
        The model.
    sha256
        Of the instance file, for the comments.
    """
    return "\n".join(_lines(program, sha256)) + "\n"


def _lines(program: Program, sha256: str) -> Iterator[str]:
    comments = program.comments(sha256, "Maximise: the objective is F itself.")
    yield from (f"\\ {line}".rstrip() for line in comments)
    yield "Maximize"
    yield from _expression(" F:", program.gains, "")
    yield "Subject To"
    for row in program.rows():
        yield from _row(row)
    yield "Bounds"
    yield f" {CONSTANT} = 1"
    for name, upper in program.bounds:
        yield f" {name} = 0" if upper == 0 else f" 0 <= {name} <= {upper}"
    if program.columns:
        yield "General"
        yield from _wrapped("", program.columns)
    yield "End"


def _row(row: Row) -> Iterator[str]:
    # An expression needs a term.
    return _expression(f" {row.name}:", row.terms or [(CONSTANT, 0.0)], f"{row.sense} {row.right!r}")


def _expression(start: str, terms: Terms, end: str) -> Iterator[str]:
    parts = [f"{'-' if value < 0 else '+'} {abs(value)!r} {name}" for name, value in terms]
    return _wrapped(start, [*parts, end] if end else parts)


def _wrapped(start: str, parts: Iterable[str]) -> Iterator[str]:
    line = start
    for part in parts:
        if len(line) + len(part) + 1 > WIDTH and line.strip():
            yield line
            line = " "
        line = f"{line} {part}"
    yield line
