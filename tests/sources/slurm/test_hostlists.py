"""Host lists and task ids."""

from __future__ import annotations

import pytest

from crop_cli.sources.slurm.hostlists import expand, task_ids


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n1,n2", ["n1", "n2"]),
        ("r1n[0,2]", ["r1n0", "r1n2"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("r[0-1]n[1-2]", ["r0n1", "r0n2", "r1n1", "r1n2"]),
        ("a[1-2]-ib,login", ["a1-ib", "a2-ib", "login"]),
        ("n[1-9:4]", ["n1", "n5", "n9"]),
        ("", []),
    ],
    ids=["one", "two", "gap", "zeros", "product", "suffix", "step", "empty"],
)
def test_names(text: str, names: list[str]) -> None:
    """A host list names its hosts in order, with zeros and several brackets as Slurm expands them."""
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-2", "n1-2]", "n[2-1]", "n[a-b]", "n[]", "n[[1]]", "n[0-99999999]"])
def test_what_is_no_list(text: str) -> None:
    """Brackets that do not close, empty or endless ranges are refused."""
    with pytest.raises(ValueError, match=r"host|number|range"):
        expand(text)


def test_task_ids() -> None:
    """Task ids of an array lose their limit, and a list that Slurm cut short says so."""
    assert task_ids("0-3,7%2") == ((0, 1, 2, 3, 7), False)
    assert task_ids("[1,3]") == ((1, 3), False)
    assert task_ids("0-1,5,...") == ((0, 1, 5), True)
