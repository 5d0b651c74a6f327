"""The types of the files' structs: which values they take, in code and in words."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from crop_cli.model.findings import one_of
from crop_cli.model.limits import Limit


@cache
def shape_of(form: type[msgspec.Struct]) -> inspect.Type:
    """The type of a struct with that of all its fields."""
    return inspect.type_info(form)


def choices(shape: inspect.Type) -> tuple[inspect.Type, ...]:
    """The members of a union, or the type itself; whole numbers are tried before other numbers."""
    if not isinstance(shape, inspect.UnionType):
        return (shape,)
    return tuple(sorted(shape.types, key=lambda m: (isinstance(m, inspect.DictType), isinstance(m, inspect.FloatType))))


def is_text(value: str) -> bool:
    """Whether a string is proper Unicode: JSON can spell half a surrogate pair, which is no character."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def fits(raw: Any, shape: inspect.Type) -> bool:  # noqa: PLR0911  one case per type
    """Whether a value is of the type, its members aside."""
    match shape:
        case inspect.StructType() | inspect.DictType():
            return isinstance(raw, dict)
        case inspect.ListType():
            return isinstance(raw, list)
        case inspect.StrType():
            return isinstance(raw, str) and is_text(raw)
        case inspect.BoolType():
            return isinstance(raw, bool)
        case inspect.IntType():
            return type(raw) is int
        case inspect.FloatType():
            return type(raw) in (int, float)
        case inspect.LiteralType():
            return isinstance(raw, str) and raw in shape.values
        case inspect.NoneType():
            return raw is None
    raise TypeError(f"files have no {shape}")


def empty(shape: inspect.Type) -> Any:  # noqa: PLR0911  one case per type
    """Any value of a type, to stand in for one that could not be read."""
    match shape:
        case inspect.StructType():
            required = {field.encode_name: empty(field.type) for field in shape.fields if field.required}
            return shape.cls(**required)
        case inspect.DictType():
            return {}
        case inspect.ListType():
            return []
        case inspect.StrType():
            return ""
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return 0
        case inspect.FloatType():
            return 0.0
        case inspect.LiteralType():
            return shape.values[0]
        case inspect.NoneType():
            return None
        case inspect.UnionType():
            return None if shape.includes_none else empty(shape.types[0])
    raise TypeError(f"files have no {shape}")


def phrase(shape: inspect.Type, limit: Limit | None = None) -> str:  # noqa: PLR0911  one case per type
    """A type in words; `limit` is that of the numbers in it, if it has one."""
    match shape:
        case inspect.UnionType():
            return " or ".join(phrase(c, limit) for c in choices(shape) if not isinstance(c, inspect.NoneType))
        case inspect.StructType():
            required = [field.encode_name for field in shape.fields if field.required]
            return f"an object with {', '.join(required)}" if required else "an object"
        case inspect.DictType():
            return f"an object whose values are each {phrase(shape.value_type, limit)}"
        case inspect.ListType():
            return f"a list of which each element is {phrase(shape.item_type)}"
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return limit.expected if limit else "a whole number"
        case inspect.FloatType():
            return limit.expected if limit else "a number"
        case inspect.LiteralType():
            return one_of(str(value) for value in shape.values)
        case inspect.NoneType():
            return "null"
    raise TypeError(f"files have no {shape}")
