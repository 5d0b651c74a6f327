"""Collecting defects, and the words and paths they are reported in."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

from crop_cli.errors import Defect

LONGEST_TEXT = 60
"""Characters of a value that a message shows."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Findings:
    """Defects of one file, each under the JSON path where it was found.

    Parameters
    ----------
    structural
        What is already known not to be of the right type. Values there are stand-ins, so `add` ignores whatever else
        is said about these paths and all below them.
    """

    def __init__(self, structural: Iterable[Defect] = ()) -> None:
        self.defects: list[Defect] = list(structural)
        self._stand_ins = {defect.path for defect in self.defects}
        self._on_the_way = {path for defect in self.defects for path in _with_above(defect.path)}

    def add(self, path: str, found: str, expected: str) -> None:
        """Note one defect."""
        if not self.is_stand_in(path):
            self.defects.append(Defect(path, found, expected))
            self._on_the_way.update(_with_above(path))

    def sound(self, path: str, *fields: str) -> bool:
        """Whether no defect is known at a path, above it, or below it; or only of these fields of the object there."""
        if not self.defects:
            return True
        if fields:
            return all(self.sound(f"{path}.{field}") for field in fields)
        return path not in self._on_the_way and not self.is_stand_in(path)

    def is_stand_in(self, path: str) -> bool:
        """Whether what stands at a path, or above it, could not be read."""
        return bool(self._stand_ins) and any(above in self._stand_ins for above in _with_above(path))


def _with_above(path: str) -> list[str]:
    """A path and all that lead to it."""
    return [*(path[: match.start()] for match in re.finditer(r"[.\[]", path)), path]


def key_path(path: str, key: str) -> str:
    """Path of a member of an object: `$.a.b`, or `$.a["b c"]` where the key is not a plain word."""
    return f"{path}.{key}" if _IDENTIFIER.fullmatch(key) else f"{path}[{quoted(key)}]"


def quoted(text: str) -> str:
    """Text in double quotes on one line, shortened, with nothing in it that a terminal would act on."""
    if len(text) <= LONGEST_TEXT and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    shown = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    escaped = json.dumps(shown, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)


def number(value: float) -> str:
    """A number as a person would write it."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"{value:.10g}" if abs(value) < 1e15 else repr(value)
    if value.bit_length() < 128:
        return str(value)
    return f"{'-' if value < 0 else ''}10^{int(value.bit_length() * math.log10(2))} or so"


def one_of(names: Iterable[str]) -> str:
    """`"a", "b" or "c"`."""
    words = [quoted(name) for name in names]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def some(names: list[str], most: int = 4) -> str:
    """`"a", "b" and 7 more`: a list that stays short."""
    words = [quoted(name) for name in names[:most]]
    rest = len(names) - len(words)
    return ", ".join(words) + (f" and {rest} more" if rest else "")


def alike(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` when a known word is close, else nothing."""
    import difflib  # noqa: PLC0415  only errors need it

    close = difflib.get_close_matches(word[:LONGEST_TEXT], list(known), n=1, cutoff=0.6)
    return f"; did you mean {quoted(close[0])}?" if close else ""


def named(kind: str, name: str) -> str:
    """` (node "n5")`, or nothing for an object without a name."""
    return f" ({kind} {quoted(name)})" if name else ""
