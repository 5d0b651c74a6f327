"""Objects of files: JSON or YAML, one or many documents, lists inside lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import unpack, unusable
from crop_cli.model.findings import quoted
from crop_cli.sources.kubernetes.fields import Defects, Fields

_SPACE = re.compile(r"\s*")

EXPECTED = "what `kubectl get nodes,pods -o json` prints (or -o yaml)"


@dataclass(frozen=True, slots=True)
class Input:
    """A file: its name for messages, and its content."""

    file: str
    data: bytes


@dataclass(frozen=True)
class Thing:
    """A Kubernetes object.

    Attributes
    ----------
    kind, group
        "Job" and "batch"; the group of nodes and pods is empty.
    namespace, name
        Of its metadata.
    fields
        All of it.
    """

    kind: str
    group: str
    namespace: str
    name: str
    fields: Fields

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return Key(self.kind, self.group, self.namespace, self.name)

    @property
    def spec(self) -> Fields:
        """Its specification."""
        return self.fields.child("spec")

    @property
    def status(self) -> Fields:
        """Its status; empty for a manifest that was not submitted."""
        return self.fields.child("status")

    @property
    def metadata(self) -> Fields:
        """Its metadata."""
        return self.fields.child("metadata")

    @cached_property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        labels = self.metadata.labels("labels")
        for name, value in labels.items():
            if not value.isprintable():
                self.metadata.child("labels").refuse(name, "a label of printable characters")
        return labels

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        return self.metadata.labels("annotations")

    def owners(self) -> Iterator[Key]:
        """The objects that own it, whether they are in the files or not."""
        for owner in self.metadata.children("ownerReferences"):
            kind, name = owner.text("kind"), owner.text("name")
            if not name.isprintable():
                owner.refuse("name", "a name of printable characters")
            elif kind and name:
                yield Key(kind, group_of(owner.text("apiVersion")), self.namespace, name)

    def condition(self, kind: str) -> str:
        """Status of a condition: "True", "False", "Unknown", or nothing if it is not listed."""
        for condition in self.status.children("conditions"):
            if condition.text("type") == kind:
                return condition.text("status")
        return ""


@dataclass(frozen=True, slots=True)
class Key:
    """Kind, API group, namespace and name of an object."""

    kind: str
    group: str
    namespace: str
    name: str


def group_of(api_version: str) -> str:
    """ "batch" of "batch/v1"; nothing of "v1"."""
    return api_version.rpartition("/")[0]


def read_things(inputs: Iterable[Input], defects: Defects) -> list[Thing]:
    """All objects of all files, in their order; the members of lists one by one.

    Raises
    ------
    InputError
        If a file is neither JSON nor YAML, or has something else than objects of Kubernetes in it.
    """
    things: list[Thing] = []
    for given in inputs:
        defects.setdefault(given.file, [])
        for path, document in _documents(given):
            if document is None:  # an empty document between two ---
                continue
            if not isinstance(document, dict):
                raise InputError(given.file, [Defect(path, _short(document), EXPECTED)])
            _add(things, Fields(document, given.file, path, defects), "", "")
    return things


def _add(things: list[Thing], fields: Fields, kind: str, group: str) -> None:
    """Enter an object, or the members of a list; members of typed lists may lack a kind."""
    given = fields.data.get("kind") or kind
    kind = given if isinstance(given, str) else ""
    group = group_of(fields.text("apiVersion")) or group
    if kind.endswith("List") and ("items" in fields.data or kind == "List"):
        for member in fields.children("items"):
            _add(things, member, kind.removesuffix("List"), "" if kind == "List" else group)
        return
    if kind in ("", "Table", "Status"):
        fields.refuse("kind", f"the kind of an object: {EXPECTED}")
        return
    metadata = fields.child("metadata")
    # A manifest that was not submitted may have a generateName only.
    name = metadata.text("name") or metadata.text("generateName").rstrip("-.")
    if not name or not name.isprintable():
        if metadata.data or fields.data.get("metadata") in (None, {}):
            metadata.refuse("name", f"the name of the {kind}")
        return
    namespace = metadata.text("namespace")
    if not namespace.isprintable():
        metadata.refuse("namespace", "a name of printable characters")
        return
    things.append(Thing(kind, group, namespace, name, fields))


def _documents(given: Input) -> Iterator[tuple[str, Any]]:
    """Every document with the path that messages give it."""
    data = unpack(given.file, given.data)
    text = _text(given.file, data)
    if not text.strip():
        raise unusable(given.file, "an empty file", EXPECTED)
    if text.lstrip()[0] in "{[":
        yield from _json(given.file, text)
    else:
        yield from _yaml(given.file, text)


def _text(file: str, data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 as the redirections of some shells write it."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise unusable(file, f"the byte 0x{data[error.start]:02x}", "text in UTF-8", f"line {line}") from None


def _json(file: str, text: str) -> Iterator[tuple[str, Any]]:
    """One document as a rule; several one after the other are read, too."""
    try:
        yield "$", msgspec.json.decode(text)
        return
    except (msgspec.DecodeError, RecursionError):
        pass
    decoder, at, count = json.JSONDecoder(parse_constant=_no_constant), 0, 0
    try:
        while at < len(text):
            document, end = decoder.raw_decode(text, at)
            at = _SPACE.match(text, end).end()  # type: ignore[union-attr]
            path = "$" if count == 0 and at == len(text) else f"document {count + 1}, $"
            count += 1
            yield path, document
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 20].split("\n", maxsplit=1)[0]
        found = quoted(rest) if text[error.pos :].strip() else "the end of the file (is it truncated?)"
        where = f"line {error.lineno}, column {error.colno}"
        raise unusable(file, found, f"valid JSON ({error.msg})", where) from None
    except RecursionError:
        raise unusable(file, "lists or objects nested too deeply", EXPECTED) from None
    except ValueError as error:
        raise unusable(file, str(error), "numbers that JSON knows") from None


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _yaml(file: str, text: str) -> Iterator[tuple[str, Any]]:
    """All documents of a YAML file."""
    import yaml  # noqa: PLC0415 (JSON needs none of it)

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = yaml.load_all(text, Loader=loader)
    count = 0
    try:
        for document in documents:
            count += 1
            yield f"document {count}, $", document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "$"
        raise unusable(file, error.problem or "a fault", "valid YAML or JSON", where) from None
    except yaml.YAMLError as error:
        raise unusable(file, " ".join(str(error).split()), "valid YAML or JSON") from None
    except RecursionError:
        raise unusable(file, "lists or objects nested too deeply", EXPECTED) from None
    except ValueError as error:  # a date that does not exist
        raise unusable(file, str(error), "valid YAML or JSON", f"document {count + 1}") from None


def _short(document: Any) -> str:
    """What stands in the place of an object."""
    if isinstance(document, str):
        return f"text, {quoted(document.splitlines()[0] if document.strip() else document)}"
    return "a list" if isinstance(document, list) else quoted(str(document))
