"""JSON Schemas (2020-12) of the files: types from the structs, numbers from the table of limits, words from the texts.

A schema checks one field at a time. That names are unique, parents exist, and running jobs fit is for `validate` alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from crop_cli.model.instance import Instance
from crop_cli.model.limits import LIMITS, Limit
from crop_cli.model.patterns import PATTERNS
from crop_cli.model.schema_text import INSTANCE_TEXT, SOLUTION_TEXT, TRACE_TEXT
from crop_cli.model.solution import Solution
from crop_cli.model.trace import Trace
from crop_cli.model.tree import ROOT_NAME

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def instance_schema() -> Schema:
    """JSON Schema of `crop-instance/1`."""
    schema, structs = _described(Instance, INSTANCE_TEXT, "crop instance")
    _add_limits(structs)
    cluster, node, job = structs["Cluster"], structs["Node"], structs["Job"]
    for struct, field in (("Switch", "name"), ("Node", "name"), ("Node", "gpu_type"), ("Job", "name")):
        structs[struct][field]["minLength"] = 1
    cluster["levels"] |= {"minItems": 1, "uniqueItems": True}
    cluster["levels"]["items"] |= {"minLength": 1, "not": {"const": ROOT_NAME}}
    cluster["nodes"]["minItems"] = 1
    node["resources"]["propertyNames"] = {"minLength": 1, "not": {"const": "gpus"}}
    node["used"]["properties"] = {"gpus": {"type": "integer", "minimum": 0}}
    _add_job_rules(job)
    return schema


def trace_schema() -> Schema:
    """JSON Schema of `crop-trace/1`."""
    schema, structs = _described(Trace, TRACE_TEXT, "crop trace")
    _add_limits(structs)
    _add_job_rules(structs["TraceJob"])
    job = structs["TraceJob"]
    job["name"]["minLength"] = 1
    job["placement"] = {"type": "null", "default": None, "description": job["placement"]["description"]}
    return schema


def solution_schema() -> Schema:
    """JSON Schema of `crop-solution/1`. Whether its numbers are right is for the evaluator, not for a schema."""
    schema, _ = _described(Solution, SOLUTION_TEXT, "crop solution")
    return schema


def _described(form: type[msgspec.Struct], texts: dict[str, dict[str, str]], title: str) -> tuple[Schema, Schema]:
    """The schema of a struct with a description of every field, and the fields' schemas by struct."""
    plain = msgspec.json.schema(form)
    structs = {name: struct["properties"] for name, struct in plain["$defs"].items()}
    for name, fields in structs.items():
        for field, schema in fields.items():
            schema["description"] = texts[name][field]
    return {"$schema": DIALECT, "title": title, **plain}, structs


def _add_limits(structs: Schema) -> None:
    """Put the table of limits on the fields of all structs that a file has."""
    for form, limits in LIMITS.items():
        for field, limit in limits.items():
            if form.__name__ in structs:
                _limit(structs[form.__name__][field], limit)


def _add_job_rules(job: Schema) -> None:
    """What holds for a job's names, patterns and objects."""
    job["resources_per_gpu"]["propertyNames"] = {"minLength": 1, "not": {"const": "gpus"}}
    job["pattern"]["enum"] = list(PATTERNS)
    for field in ("compute_s", "placement"):
        _object_in(job[field])["minProperties"] = 1


def _limit(schema: Schema, limit: Limit) -> None:
    """Put both ends of a range on every number in the schema of a field."""
    for choice in schema.get("anyOf", [schema]):
        number = choice.get("additionalProperties", choice)
        if number.get("type") in ("number", "integer"):
            number |= {"minimum": limit.low, "maximum": limit.high}


def _object_in(schema: Schema) -> Schema:
    """The object among the choices of a field."""
    found: Schema = next(choice for choice in schema["anyOf"] if choice.get("type") == "object")
    return found
