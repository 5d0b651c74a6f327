"""Samples with random faults: every one becomes a valid instance or a precise error, never a crash."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from crop_cli.errors import InputError
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.kubernetes.documents import Input
from crop_cli.sources.kubernetes.draft import read
from crop_cli.sources.profiles import load_profiles

DATA = Path(__file__).resolve().parents[1] / "data" / "kubernetes"
WRONG: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    1.5,
    "",
    "x",
    "0",
    "1e400",
    [],
    {},
    [None],
    ["a"],
    {"a": {"b": []}},
    10**12,
    "a\nb",
]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from _paths(member, (*path, key))


def _spoil(things: list[Any], path: tuple[Any, ...], wrong: Any) -> None:
    at: Any = things
    for key in path[:-1]:
        at = at[key]
    if wrong == "":
        del at[path[-1]]
    else:
        at[path[-1]] = copy.deepcopy(wrong)


@pytest.mark.parametrize("name", ["kueue", "volcano", "kubeflow"])
def test_random_faults(name: str) -> None:
    """One field at a time is removed or replaced by something else."""
    sample = json.loads((DATA / "nodes-pods.json").read_text())["items"]
    sample += list(yaml.safe_load_all((DATA / f"{name}.yaml").read_text()))
    paths = [path for path in _paths(sample) if len(path) > 1]
    profiles, fabric = load_profiles(), load_fabric("a100-ib")
    draw = random.Random(7)
    outcomes = set()
    for _ in range(100):
        things = copy.deepcopy(sample)
        path, wrong = draw.choice(paths), draw.choice(WRONG)
        _spoil(things, path, wrong)
        try:
            found = read([Input("spoilt", json.dumps({"kind": "List", "items": things}).encode())], movable=True)
        except InputError as error:
            assert (error.file, bool(error.defects)) == ("spoilt", True)
            outcomes.add("refused")
        else:
            dress(found, profiles, fabric)
            outcomes.add("valid")
    assert outcomes == {"refused", "valid"}


def test_lists_of_lists_by_reference() -> None:
    """A few lines of YAML that stand for billions of values are refused at once, with a short text."""
    lines = ["kind: List", "a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(InputError) as caught:
        read([Input("f.yaml", "\n".join([*lines, "items: *a11", ""]).encode())])
    assert len(str(caught.value)) < 10_000
