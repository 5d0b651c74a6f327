"""From the bytes of a JSON file to structs, or to every reason why not.

msgspec decodes fast and stops at the first problem. Only when it refuses, or a name stands twice in one object, the
file is read again with `json`, slowly, and walked against the types of the structs.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from crop_cli.errors import Defect
from crop_cli.model.findings import LONGEST_TEXT, alike, key_path, named, number, quoted
from crop_cli.model.limits import LIMITS, Limit
from crop_cli.model.shapes import choices, empty, fits, is_text, phrase, shape_of

T = TypeVar("T", bound=msgspec.Struct)

MOST_DIGITS = 300
"""Digits of a whole number that are read as one; a longer one is reported as it stands."""

_LOST: Any = object()
"""What the walk returns for a value that is not of its type."""


class _Unreadable:
    """A number that JSON or a double cannot hold: NaN, Infinity, 1e999."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Repeating(dict[str, Any]):
    """An object of the file in which some names stand more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated = {name: times for name, times in Counter(name for name, _ in pairs).items() if times > 1}


class OtherFormatError(Exception):
    """The document is of another of crop's formats; `defect` says of which."""

    def __init__(self, defect: Defect) -> None:
        self.defect = defect
        super().__init__(str(defect))


class _RepeatedError(ValueError):
    """Some name stands more than once in one object."""


def decode(text: str, form: type[T]) -> tuple[T, list[Defect]]:
    """Decode a JSON document.

    Parameters
    ----------
    text
        The document.
    form
        The struct that it is to be.

    Returns
    -------
    value
        The struct. Where there are defects, stand-ins fill it up: the field's default, or an empty value.
    defects
        Everything that does not fit the types, in the order of the file; empty when all is well.

    Raises
    ------
    json.JSONDecodeError
        If the text is not JSON.
    OtherFormatError
        If it says that it is of another format of crop.
    RecursionError
        If it is nested too deeply.
    """
    try:
        value = msgspec.json.decode(text, type=form)
        json.loads(text, object_pairs_hook=_refuse_repeated)
    except (msgspec.DecodeError, ValueError) as error:
        refusal = str(error)
    else:
        return value, []
    walk = _Walk()
    shape = shape_of(form)
    raw = _read(text)
    found = walk.value(raw, shape, "$")
    _refuse_other_format(walk.defects, raw)
    if not walk.defects:  # msgspec knows a rule that the walk does not
        walk.defects.append(Defect("$", refusal, f"a valid {form.__name__.lower()}"))
    return empty(shape) if found is _LOST else found, walk.defects


def _refuse_other_format(defects: list[Defect], raw: Any) -> None:
    """Stop at a file of another of crop's formats: all that its fields differ in is of no use."""
    wrong = next((defect for defect in defects if defect.path == "$.format"), None)
    if wrong and isinstance(raw, dict) and isinstance(raw.get("format"), str):
        name = raw["format"].split("/")[0]
        if name.startswith("crop-") and f'"{name}/' not in wrong.expected:
            raise OtherFormatError(wrong)


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedError("a name stands more than once in one object")
    return members


def _read(text: str) -> Any:
    """The document as plain objects, with what JSON does not allow marked instead of refused."""
    return json.loads(
        text, object_pairs_hook=_members, parse_constant=_Unreadable, parse_float=_float, parse_int=_whole
    )


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Repeating(pairs)


def _float(text: str) -> float | _Unreadable:
    value = float(text)
    return _Unreadable(text) if value in (float("inf"), float("-inf")) else value


def _whole(text: str) -> int | _Unreadable:
    return int(text) if len(text) <= MOST_DIGITS else _Unreadable(text)


class _Walk:
    """One pass over a document; `defects` grows on the way."""

    def __init__(self) -> None:
        self.defects: list[Defect] = []

    def value(self, raw: Any, shape: inspect.Type, path: str, limit: Limit | None = None, owner: str = "") -> Any:
        """The value of a typed place, or `_LOST` with a defect noted. `limit` is that of its numbers."""
        choice = next((choice for choice in choices(shape) if fits(raw, choice)), None)
        match choice:
            case inspect.StructType():
                return self.struct(raw, choice, path)
            case inspect.DictType():
                return self.mapping(raw, choice, path, limit, owner)
            case inspect.ListType():
                return self.items(raw, choice, path)
            case inspect.FloatType():
                return float(raw)
            case None:
                half = isinstance(raw, str) and not is_text(raw)
                expected = "text without half a surrogate pair" if half else phrase(shape, limit)
                if isinstance(raw, float) and raw.is_integer() and "whole number" in expected:
                    expected += ", written without a decimal point or exponent"
                return self.lost(path, f"{_describe(raw)}{owner}", expected)
            case _:
                return raw

    def lost(self, path: str, found: str, expected: str) -> Any:
        """Note a defect."""
        self.defects.append(Defect(path, found, expected))
        return _LOST

    def struct(self, raw: dict[str, Any], shape: inspect.StructType, path: str) -> Any:
        """An object with known fields. What is lost gets its default, or an empty value where it has none."""
        owner = _owner(raw, shape)
        self.repeated(raw, path, owner)
        fields = {field.encode_name: field for field in shape.fields}
        limits = LIMITS.get(shape.cls, {})
        values: dict[str, Any] = {}
        for name, member in raw.items():
            at = key_path(path, name)
            if name in fields:
                values[name] = self.value(member, fields[name].type, at, limits.get(name), owner)
            else:
                known = alike(name, [n for n in fields if n not in raw]) or f": {', '.join(fields)}"
                self.lost(at, f"unknown field with {_describe(member)}{owner}", f"a known field{known}")
        for name, field in fields.items():
            if field.required and name not in raw:
                expected = phrase(field.type, limits.get(name))
                values[name] = self.lost(key_path(path, name), f"nothing{owner}", expected)
            if values.get(name) is _LOST:
                del values[name]
                if field.required:
                    values[name] = empty(field.type)
        return shape.cls(**values)

    def mapping(
        self, raw: dict[str, Any], shape: inspect.DictType, path: str, limit: Limit | None, owner: str
    ) -> dict[str, Any]:
        """An object whose names are free. What is lost is left out."""
        self.repeated(raw, path, owner)
        values: dict[str, Any] = {}
        for name, member in raw.items():
            at = key_path(path, name)
            if not is_text(name):
                self.lost(at, f"{quoted(name)}{owner}", "a name without half a surrogate pair")
                continue
            value = self.value(member, shape.value_type, at, limit, owner)
            if value is not _LOST:
                values[name] = value
        return values

    def items(self, raw: list[Any], shape: inspect.ListType, path: str) -> list[Any]:
        """A list. What is lost is filled in, so that positions stay right."""
        values = [self.value(item, shape.item_type, f"{path}[{i}]") for i, item in enumerate(raw)]
        return [empty(shape.item_type) if value is _LOST else value for value in values]

    def repeated(self, raw: dict[str, Any], path: str, owner: str) -> None:
        """Names that stand more than once in an object."""
        if isinstance(raw, _Repeating):
            for name, times in raw.repeated.items():
                self.lost(key_path(path, name), f"{quoted(name)} {times} times{owner}", "each name once in an object")


def _owner(raw: dict[str, Any], shape: inspect.StructType) -> str:
    """` (node "n5")`, where the object has a name to be told by."""
    kind, field = {
        "Switch": ("switch", "name"),
        "Node": ("node", "name"),
        "Job": ("job", "name"),
        "TraceJob": ("job", "name"),
        "PlacedJob": ("job", "job"),
        "UnplacedJob": ("job", "job"),
    }.get(shape.cls.__name__, ("", ""))
    name = raw.get(field)
    return named(kind, name) if isinstance(name, str) else ""


def _describe(raw: Any) -> str:  # noqa: PLR0911  one case per type
    """A value of the file, in words that fit into a line."""
    match raw:
        case None:
            return "null"
        case bool():
            return "true" if raw else "false"
        case str():
            return quoted(raw)
        case int():
            return number(raw)
        case float():
            return repr(raw)
        case _Unreadable():
            return raw.text if len(raw.text) <= LONGEST_TEXT else f"{raw.text[: LONGEST_TEXT - 1]}…"
        case list():
            return f"a list of {len(raw)}" if raw else "an empty list"
    return "an object"
