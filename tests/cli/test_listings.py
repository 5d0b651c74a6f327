"""`crop solvers` and `crop schema`."""

from __future__ import annotations

import json

import pytest

from crop_cli.solvers.registry import engines
from tests.cli.conftest import Run


def test_every_solver_is_listed_with_its_version(crop: Run) -> None:
    """Each engine has a row, baselines too; one of a library has its package and version."""
    rows = {row["name"]: row for row in json.loads(crop("solvers", "--format", "json").stdout)}
    assert list(rows) == list(engines())
    assert rows["highs"]["library"] == "highspy" and rows["highs"]["version"]
    assert rows["greedy"]["installed"] and rows["greedy"]["library"] is None
    assert all(row["summary"] and row["abilities"] for row in rows.values())


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_other_forms_list_them_too(crop: Run, form: str) -> None:
    """Every form has every name."""
    shown = crop("solvers", "--format", form).stdout
    assert all(name in shown for name in engines())


@pytest.mark.parametrize("what", ["instance", "solution"])
def test_schemas_are_json_schemas(crop: Run, what: str) -> None:
    """Each schema is one JSON document that names its dialect and describes an object."""
    schema = json.loads(crop("schema", what).stdout)
    assert "json-schema.org" in schema["$schema"]
    assert f"crop-{what}/1" in json.dumps(schema)


def test_an_unknown_schema_is_a_usage_error(crop: Run) -> None:
    """Only crop's own files have schemas."""
    assert crop("schema", "poem").exit_code == 2
