"""The JSON Schemas agree with the structs, the table of limits, and the examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings

from crop_cli.model.dump import dump_instance, dump_solution
from crop_cli.model.instance import Instance
from crop_cli.model.limits import LIMITS
from crop_cli.model.schema import instance_schema, solution_schema, trace_schema
from crop_cli.model.schema_text import INSTANCE_TEXT, SOLUTION_TEXT, TRACE_TEXT
from crop_cli.model.solution import Solution
from tests.model.samples import ABSENT, edited, example, example_solution
from tests.model.test_malformed import WRONG_TYPES
from tests.tiny import instances

ROOT = Path(__file__).parents[2]
INSTANCE = jsonschema.Draft202012Validator(instance_schema())
SOLUTION = jsonschema.Draft202012Validator(solution_schema())
FORMATS = {"crop-instance/1": INSTANCE, "crop-solution/1": SOLUTION}


def test_all_are_schemas() -> None:
    """They are valid in the dialect that they name."""
    for schema in (instance_schema(), solution_schema(), trace_schema()):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
        assert schema["title"]


def test_the_examples_validate() -> None:
    """The example of every field, written by hand and by crop, fits the schema."""
    INSTANCE.validate(example())
    INSTANCE.validate(json.loads(dump_instance(msgspec.convert(example(), Instance))))
    SOLUTION.validate(example_solution())
    SOLUTION.validate(json.loads(dump_solution(msgspec.convert(example_solution(), Solution))))


@pytest.mark.parametrize(
    "folder", [ROOT / "instances", ROOT.parent / "shared" / "cases"], ids=lambda folder: folder.name
)
def test_files_that_come_with_crop_validate(folder: Path) -> None:
    """Every instance and solution file there fits the schema of the format that it names."""
    if not folder.exists():
        pytest.skip(f"no folder {folder.name}")
    checked = 0
    for file in sorted(folder.rglob("*.json")):
        document = json.loads(file.read_bytes())
        schema = FORMATS.get(document.get("format"))
        if schema is not None:
            assert schema.is_valid(document), f"{file}: {[error.message for error in schema.iter_errors(document)]}"
            checked += 1
    assert checked


@settings(max_examples=60, deadline=None)
@given(instances())
def test_valid_instances_fit_the_schema(instance: Instance) -> None:
    """The schema refuses nothing that is valid."""
    INSTANCE.validate(json.loads(dump_instance(instance)))


@pytest.mark.parametrize(
    ("place", "value"),
    # To a schema, 8.0 is a whole number.
    [(place, value) for place, value, *_ in WRONG_TYPES if value != 8.0 or isinstance(value, int)],
)
def test_wrong_types_do_not_fit_the_schema(place: str, value: Any) -> None:
    """What the reader refuses for its type, the schema refuses too."""
    assert not INSTANCE.is_valid(edited(place, value))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("cluster.levels", []),
        ("cluster.levels", ["node", "node"]),
        ("cluster.levels.0", "cluster"),
        ("cluster.nodes", []),
        ("cluster.nodes.0.name", ""),
        ("cluster.nodes.0.resources", {"gpus": 8}),
        ("cluster.nodes.0.used.gpus", 0.5),
        ("jobs.0.pattern", "ring"),
        ("jobs.0.compute_s", {}),
        ("jobs.0.placement", {}),
        ("jobs.0.resources_per_gpu", {"gpus": 1}),
    ],
)
def test_wrong_values_of_one_field_do_not_fit_the_schema(place: str, value: Any) -> None:
    """What can be said about one field alone, the schema says."""
    assert not INSTANCE.is_valid(edited(place, value))


PLACES = {
    "Cluster": "cluster",
    "Switch": "cluster.switches.0",
    "Node": "cluster.nodes.0",
    "Objective": "objective",
    "Segment": "jobs.0.segment",
    "Spread": "jobs.0.spread",
    "Job": "jobs.0",
}
OBJECTS = {"resources": "cpu", "used": "cpu", "resources_per_gpu": "cpu", "placement": "n1"}


@pytest.mark.parametrize(
    ("struct", "field"),
    [(form.__name__, field) for form, fields in LIMITS.items() if form.__name__ in PLACES for field in fields],
)
def test_schema_and_table_have_the_same_ends(struct: str, field: str) -> None:
    """Both ends of a range fit the schema, the next number beyond does not."""
    form = next(form for form in LIMITS if form.__name__ == struct)
    limit = LIMITS[form][field]
    inner = f".{OBJECTS[field]}" if field in OBJECTS else ""
    ends = (int(limit.low), int(limit.high)) if limit.whole else (limit.low, limit.high)
    for value, fits in [(ends[0], True), (ends[1], True), (ends[0] - 1, False), (ends[1] * 2, False)]:
        document = edited(f"{PLACES[struct]}.{field}{inner}", value)
        assert INSTANCE.is_valid(document) == fits


def test_every_field_is_described_and_no_other() -> None:
    """The texts name exactly the fields of the structs."""
    files = ((instance_schema(), INSTANCE_TEXT), (solution_schema(), SOLUTION_TEXT), (trace_schema(), TRACE_TEXT))
    for schema, texts in files:
        assert {name: set(struct["properties"]) for name, struct in schema["$defs"].items()} == {
            name: set(fields) for name, fields in texts.items()
        }


def test_every_number_of_an_instance_has_a_limit() -> None:
    """A numeric field without a range in the table would be an oversight."""
    for name, struct in instance_schema()["$defs"].items():
        for field, schema in struct["properties"].items():
            for choice in schema.get("anyOf", [schema]):
                number = choice.get("additionalProperties", choice)
                if number.get("type") in ("number", "integer"):
                    assert {"minimum", "maximum"} <= set(number), f"{name}.{field}"


def test_required_fields_are_those_of_the_format() -> None:
    """Only what the format needs is required."""
    required = {name: set(struct["required"]) for name, struct in instance_schema()["$defs"].items()}
    assert required["Instance"] == {"format", "cluster", "jobs"}
    assert required["Node"] == required["Job"] == {"name", "gpus"}
    assert not INSTANCE.is_valid(edited("jobs.0.gpus", ABSENT))
