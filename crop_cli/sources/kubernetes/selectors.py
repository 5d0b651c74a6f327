"""Which nodes a pod may use: node selectors and required node affinity, evaluated on the nodes themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crop_cli.sources.kubernetes.fields import Fields

Term = tuple["Requirement", ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A key, an operator and values, on a node's labels or (field "metadata.name") on its name."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    on_name: bool = False

    def __str__(self) -> str:
        if self.operator in ("Exists", "DoesNotExist"):
            return f"{self.key} {self.operator}"
        if self.operator == "In" and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator} {'|'.join(self.values)}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Nodes that meet all of `everywhere`, and all of at least one of `terms` if there are any."""

    everywhere: Term = ()
    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.everywhere or self.terms)

    def __str__(self) -> str:
        parts = [str(requirement) for requirement in self.everywhere]
        if self.terms:
            parts.append(" or ".join(" and ".join(map(str, term)) for term in self.terms))
        return ", ".join(parts)


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def selection(spec: Fields) -> Selection:
    """What a pod's specification says about the nodes it may use."""
    if not spec.data.get("nodeSelector") and not spec.data.get("affinity"):
        return Selection()
    everywhere = tuple(Requirement(key, "In", (value,)) for key, value in sorted(spec.labels("nodeSelector").items()))
    affinity = spec.child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = tuple(_term(term) for term in affinity.children("nodeSelectorTerms"))
    return Selection(everywhere, terms)


def _term(term: Fields) -> Term:
    found = []
    for field, on_name in (("matchExpressions", False), ("matchFields", True)):
        for expression in term.children(field):
            operator = expression.text("operator")
            if operator not in _OPERATORS:
                expression.refuse("operator", " or ".join(_OPERATORS))
                continue
            found.append(
                Requirement(expression.text("key"), operator, tuple(sorted(expression.texts("values"))), on_name)
            )
    return tuple(found)


class Matcher:
    """Nodes by label, so that the nodes of a selection are found without looking at each of them.

    Parameters
    ----------
    nodes
        Name and labels of every node.
    """

    def __init__(self, nodes: Iterable[tuple[str, dict[str, str]]]) -> None:
        self._by_label: dict[str, dict[str, set[str]]] = {}
        self._all: set[str] = set()
        for name, labels in nodes:
            self._all.add(name)
            for key, value in labels.items():
                self._by_label.setdefault(key, {}).setdefault(value, set()).add(name)
        self._known: dict[Selection, frozenset[str]] = {}

    def nodes(self, chosen: Selection) -> frozenset[str]:
        """Names of the nodes that meet a selection."""
        if chosen not in self._known:
            found = self._term(chosen.everywhere)
            if chosen.terms:
                # A term without requirements matches no node.
                found &= set().union(*(self._term(term) for term in chosen.terms if term))
            self._known[chosen] = frozenset(found)
        return self._known[chosen]

    def _term(self, term: Term) -> set[str]:
        found = set(self._all)
        for requirement in term:
            found &= self._requirement(requirement)
        return found

    def _requirement(self, requirement: Requirement) -> set[str]:
        wanted, values = requirement.operator, requirement.values
        by_value = self._by_label.get(requirement.key, {})
        if requirement.on_name:
            by_value = {name: {name} for name in values if name in self._all}
            if wanted == "NotIn":
                return self._all.difference(values)
        if wanted in ("In", "NotIn"):
            named: set[str] = set().union(*(by_value.get(value, set()) for value in values))
            return named if wanted == "In" else self._all - named
        having: set[str] = set().union(*by_value.values())
        if wanted == "Exists":
            return having
        if wanted == "DoesNotExist":
            return self._all - having
        limit = _integer(values[0]) if len(values) == 1 else None
        if limit is None:
            return set()
        numbers = {value: _integer(value) for value in by_value}
        kept = [
            value
            for value, number in numbers.items()
            if number is not None and (number > limit if wanted == "Gt" else number < limit)
        ]
        return set().union(*(by_value[value] for value in kept))


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
