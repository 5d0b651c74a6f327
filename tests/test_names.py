"""Numbers and lists of names as people read them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crop_cli.names import compress, folded, number, one, percent, plural


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.0, "8"), (0.1, "0.1"), (12.3456, "12.35"), (123456.7, "123457"), (-0.3, "-0.3"), (0.0, "0"), (1e-9, "1e-09")],
)
def test_number_keeps_four_digits_and_whole_numbers(value: float, text: str) -> None:
    """Whole numbers are written in full, others with four significant digits."""
    assert number(value) == text


def test_small_words() -> None:
    """Plural, alternatives and percent read naturally."""
    assert (plural(1, "GPU"), plural(0, "GPU"), one(["a"]), one(["a", "b", "c"])) == (
        "1 GPU",
        "0 GPUs",
        "a",
        "a, b or c",
    )
    assert (percent(0.0125), percent(None)) == ("1.25 %", "-")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "n3"], "n[1-3]"),
        (["n1", "n3", "n4"], "n[1,3-4]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["n9", "n10"], "n[9,10]"),
        (["a1", "b1"], "a1,b1"),
        (["r1-n1x", "r1-n2x"], "r1-n[1-2]x"),
        (["login"], "login"),
        (["n2", "n1"], "n[2,1]"),
        ([], ""),
    ],
)
def test_compress_folds_runs(names: list[str], text: str) -> None:
    """Neighbours that count up with the same number of digits are one range; all else is listed."""
    assert compress(names) == text


def test_compress_says_how_much_it_leaves_out() -> None:
    """Only the first groups are written, and the number of the others."""
    assert compress([f"{c}x" for c in "abcdefghij"]) == "ax,bx,cx,dx,ex,fx,gx,hx and 2 more"


@given(st.lists(st.from_regex(r"\A[a-c]{0,2}[0-9]{1,3}[x-z]?\Z"), max_size=12))
def test_folding_loses_nothing(names: list[str]) -> None:
    """Unfolding the groups gives the names again, in their order."""
    assert [name for group in folded(names) for name in _unfold(group)] == names


def _unfold(group: str) -> list[str]:
    found = re.fullmatch(r"(.*)\[(.*)\](.*)", group)
    if not found:
        return [group]
    names = []
    for part in found[2].split(","):
        first, _, last = part.partition("-")
        names += [f"{found[1]}{i:0{len(first)}d}{found[3]}" for i in range(int(first), int(last or first) + 1)]
    return names
