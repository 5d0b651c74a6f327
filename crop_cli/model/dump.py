"""What is written to instance and solution files."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from crop_cli.model.instance import Instance
from crop_cli.model.layout import lay_out
from crop_cli.model.solution import Solution

_FIRST = ("format", "name", "description", "source", "licence", "assumptions", "levels", "oversubscription", "switches")
"""Members of an instance and its cluster that are read first, in this order; the bulky ones follow."""


def dump_instance(instance: Instance) -> bytes:
    """The file of an instance: one line for each switch, node and job as a rule, defaults left out.

    Raises
    ------
    ValueError
        If a number is not finite or a text not proper Unicode: no JSON file can hold it.
    """
    return lay_out(_without_defaults(instance))


def dump_solution(solution: Solution) -> bytes:
    """The file of a solution: one line for each job as a rule, every field written.

    Raises
    ------
    ValueError
        If a number is not finite (unknown is None) or a text not proper Unicode: no JSON file can hold it.
    """
    return lay_out(msgspec.to_builtins(solution))


def dump_explanation(explanation: msgspec.Struct) -> bytes:
    """The document of an explanation, laid out like a solution."""
    return lay_out(msgspec.to_builtins(explanation))


def _without_defaults(value: Any) -> Any:
    """A struct as plain objects. Fields that equal their default are left out, whole floats lose the decimal point."""
    if isinstance(value, msgspec.Struct):
        members = ((name, getattr(value, name), default) for name, default in _fields(type(value)))
        return {name: _without_defaults(member) for name, member, default in members if member != default}
    if isinstance(value, dict):
        return {name: _without_defaults(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_defaults(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


@cache
def _fields(form: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    """Names and defaults of a struct's fields in the order they are written; no value equals a missing default."""
    fields = [
        (field.name, field.default_factory() if callable(field.default_factory) else field.default)
        for field in msgspec.structs.fields(form)
    ]
    rank = {name: i for i, name in enumerate(_FIRST)}
    bulky = {"nodes": 1, "objective": 2, "jobs": 3}
    return sorted(fields, key=lambda field: (bulky.get(field[0], 0), rank.get(field[0], len(rank))))
