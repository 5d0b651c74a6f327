"""Reading of nested objects whose fields may be missing or of the wrong type, with every defect collected."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import Any

from crop_cli.errors import Defect, InputError
from crop_cli.model.findings import key_path, quoted
from crop_cli.sources.kubernetes.quantities import QuantityError, quantity

Defects = dict[str, list[Defect]]
"""By file."""


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxother = 100
"""For messages: YAML's references can make a list whose text would fill the memory."""


def raise_defects(defects: Defects) -> None:
    """Refuse the first file that has any.

    Raises
    ------
    InputError
        With all defects of that file.
    """
    for file, found in defects.items():
        if found:
            # A field that is read twice is wrong once.
            raise InputError(file, list(dict.fromkeys(found)))


class Fields:
    """An object of a file, read field by field.

    A field that is absent or null reads as empty; one of the wrong type is a defect and reads as empty, too.

    Parameters
    ----------
    data
        The object as decoded.
    file, path
        Where it stands: for messages.
    defects
        Grows.
    above, key
        Instead of a path, for objects inside others: the path is put together only when it is needed.
    """

    __slots__ = ("above", "data", "defects", "file", "key", "root")

    def __init__(
        self,
        data: dict[str, Any],
        file: str,
        path: str,
        defects: Defects,
        above: Fields | None = None,
        key: str | int = "",
    ) -> None:
        self.data, self.file, self.root, self.defects, self.above, self.key = data, file, path, defects, above, key

    @property
    def path(self) -> str:
        """The JSON path of the object."""
        if self.above is None:
            return self.root
        if isinstance(self.key, int):
            return f"{self.above.path}[{self.key}]"
        return key_path(self.above.path, self.key)

    def refuse(self, key: str, expected: str) -> None:
        """Note that the value of a field cannot be used."""
        value = self.data.get(key)
        found = "nothing" if value is None else quoted(value if isinstance(value, str) else _SHORT.repr(value))
        self.defects.setdefault(self.file, []).append(Defect(key_path(self.path, key), found, expected))

    def child(self, *keys: str) -> Fields:
        """The object in a field, or deeper."""
        at = self
        for key in keys:
            value = at.data.get(key)
            if value is not None and not isinstance(value, dict):
                at.refuse(key, "an object")
                value = None
            at = Fields(value or {}, at.file, "", at.defects, at, key)
        return at

    def children(self, key: str) -> Iterator[Fields]:
        """The objects in a list."""
        value = self.data.get(key)
        if value is None:
            return
        if not isinstance(value, list):
            self.refuse(key, "a list of objects")
            return
        level = Fields({}, self.file, "", self.defects, self, key)
        for i, member in enumerate(value):
            if isinstance(member, dict):
                yield Fields(member, self.file, "", self.defects, level, i)
            elif member is not None:
                path = f"{level.path}[{i}]"
                self.defects.setdefault(self.file, []).append(Defect(path, quoted(_SHORT.repr(member)), "an object"))

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.refuse(key, "text")
            return default
        return value

    def texts(self, key: str) -> list[str]:
        """A list of strings."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
            self.refuse(key, "a list of texts")
            return []
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(key, "true or false")
            return default
        return value

    def whole(self, key: str, default: int | None = None, least: int = 0) -> int | None:
        """A whole number of at least `least`."""
        value = self.data.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
            self.refuse(key, f"a whole number from {least} to 2147483647")
            return default
        return value

    def labels(self, key: str) -> dict[str, str]:
        """An object of strings: labels, annotations, selectors. YAML may have read some as numbers or true."""
        inside = self.child(key)
        if all(type(value) is str for value in inside.data.values()):
            return inside.data
        read = {}
        for name, value in inside.data.items():
            if isinstance(value, bool | int | float):
                read[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
            elif value is None:
                read[str(name)] = ""
            else:
                inside.text(name)
                read[str(name)] = value if isinstance(value, str) else ""
        return read

    def quantities(self, key: str) -> dict[str, float]:
        """An object of quantities: resources by name."""
        inside = self.child(key)
        read = {}
        for name, value in inside.data.items():
            try:
                read[str(name)] = quantity(value)
            except QuantityError:
                inside.refuse(name, "a quantity of at least 0 such as 8, 500m or 64Gi")
        return read
