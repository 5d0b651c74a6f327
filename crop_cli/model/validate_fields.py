"""Checks of single values: names, and numbers against the table of limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from crop_cli.model.findings import Findings, key_path, named, number, quoted
from crop_cli.model.limits import LIMITS, Limit

GOOD_NAME = "a name of printable characters, not empty"


def is_name(text: str) -> bool:
    """Whether a text can name something in tables and messages."""
    return text.isprintable() and not text.isspace() and text != ""


def check_name(findings: Findings, path: str, name: str) -> None:
    """A name that stands alone in a field."""
    if not is_name(name):
        findings.add(path, quoted(name), GOOD_NAME)


def check_keys(findings: Findings, path: str, keys: Iterable[str], owner: str) -> None:
    """Names that are the keys of an object."""
    for key in keys:
        if not is_name(key):
            findings.add(key_path(path, key), f"the name {quoted(key)}{owner}", GOOD_NAME)


def check_unique(findings: Findings, path: str, names: Sequence[str], field: str = "name") -> None:
    """Names of the elements of the list at `path`; each later one that was there before is a defect."""
    if len(set(names)) == len(names):
        return
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        earlier = first.setdefault(name, i)
        if earlier != i and name:
            at = f"{path}[{i}].{field}" if field else f"{path}[{i}]"
            findings.add(at, f"{quoted(name)}, the name of {path}[{earlier}]", "a name that no other one has")


def check_numbers(findings: Findings, path: str, struct: msgspec.Struct, kind: str = "", name: str = "") -> None:
    """Every number of a struct that the table of limits knows; `kind` and `name` say whose it is."""
    for field, limit in LIMITS[type(struct)].items():
        value = getattr(struct, field)
        if isinstance(value, dict):
            for key, member in value.items():
                if not limit.low <= member <= limit.high:
                    _out_of_range(findings, key_path(f"{path}.{field}", key), member, limit, named(kind, name))
        elif value is not None and not limit.low <= value <= limit.high:
            _out_of_range(findings, f"{path}.{field}", value, limit, named(kind, name))


def _out_of_range(findings: Findings, path: str, value: float, limit: Limit, owner: str) -> None:
    findings.add(path, f"{number(value)}{owner}", limit.expected)
