"""Names for solvers: plain, short and different."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from crop_cli.export.tokens import LONGEST, tokens


@given(st.lists(st.text(max_size=60), unique=True, max_size=20))
def test_tokens_are_different_and_plain(names: list[str]) -> None:
    """Different names get different tokens of letters, digits and underscores, none too long."""
    made = tokens(names)
    assert len(set(made)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", token) and len(token) <= LONGEST for token in made)


def test_plain_names_stay_as_they_are() -> None:
    """A name that any reader takes is its own token."""
    assert tokens(["bert", "n1", "a_b"]) == ["bert", "n1", "a_b"]


def test_a_number_tells_equal_tokens_apart() -> None:
    """Names that differ in other characters only are numbered, and no number meets a name of its own."""
    assert tokens(["a-b", "a.b", "a_b", "a_b_2"]) == ["a_b", "a_b_2", "a_b_3", "a_b_2_2"]
