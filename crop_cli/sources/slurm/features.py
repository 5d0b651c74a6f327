"""Constraints on features, as sbatch's --constraint has them: "a100|h100", "ib&(a100|h100)", "[rack1|rack2]"."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

_TOKEN = re.compile(r"\s*([()\[\]&|,]|[^()\[\]&|,\s]+)")


def satisfied(constraint: str, features: AbstractSet[str]) -> bool:
    """Whether a node with these features satisfies a constraint.

    `&` and `|` are read from left to right, and a matching OR in brackets as an ordinary one.

    Raises
    ------
    ValueError
        If the constraint counts nodes ("a*2", "a&b*4") or is none.
    """
    tokens = _TOKEN.findall(constraint)
    if not tokens or any("*" in token for token in tokens):
        raise ValueError(constraint)
    value, rest = _sequence(tokens, features)
    if rest:
        raise ValueError(constraint)
    return value


def matching_or(constraint: str) -> bool:
    """Whether all nodes have to share one of the alternatives."""
    return "[" in constraint


def _sequence(tokens: list[str], features: AbstractSet[str]) -> tuple[bool, list[str]]:
    value, tokens = _term(tokens, features)
    while tokens and tokens[0] in "&|,":
        operator = tokens[0]
        other, tokens = _term(tokens[1:], features)
        value = (value or other) if operator == "|" else (value and other)
    return value, tokens


def _term(tokens: list[str], features: AbstractSet[str]) -> tuple[bool, list[str]]:
    if not tokens or tokens[0] in ")]&|,":
        raise ValueError("an operator without a feature")
    if tokens[0] in "([":
        closing = ")" if tokens[0] == "(" else "]"
        value, rest = _sequence(tokens[1:], features)
        if not rest or rest[0] != closing:
            raise ValueError("a bracket that does not close")
        return value, rest[1:]
    return tokens[0] in features, tokens[1:]
