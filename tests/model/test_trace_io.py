"""Trace files: what is written is read again, and every defect is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from crop_cli.errors import Defect, InputError
from crop_cli.model.instance import Job
from crop_cli.model.schema import trace_schema
from crop_cli.model.trace import Trace, TraceJob, job_of, trace_bytes
from crop_cli.model.trace_io import load_trace, read_trace

TRACE = Trace(
    format="crop-trace/1",
    name="two",
    description="Two jobs",
    source="made up",
    licence="CC0-1.0",
    assumptions=["none"],
    jobs=[
        TraceJob(name="a", gpus=8, compute_s={"A100": 0.5}, message_mb=10.0, arrival_s=0.0, duration_s=60.0, user="u"),
        TraceJob(name="b", gpus=1, arrival_s=0.0, duration_s=0.5, group="g", within="node"),
    ],
)
SCHEMA = jsonschema.Draft202012Validator(trace_schema())


def document(**changes: Any) -> dict[str, Any]:
    """The trace as plain JSON, its second job changed."""
    made: dict[str, Any] = json.loads(trace_bytes(TRACE))
    made["jobs"][1] |= changes
    return made


def defects_of(made: dict[str, Any]) -> list[Defect]:
    """What is wrong with a document."""
    with pytest.raises(InputError) as caught:
        read_trace(json.dumps(made).encode(), "t.json")
    return caught.value.defects


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Plain and packed, and it fits the schema."""
    file = tmp_path / "t.json"
    file.write_bytes(gzip.compress(trace_bytes(TRACE)))
    assert load_trace(file) == TRACE == read_trace(trace_bytes(TRACE), "t.json")
    SCHEMA.validate(document())


def test_a_trace_without_jobs_is_one() -> None:
    """It is written and read."""
    empty = Trace(format="crop-trace/1", jobs=[])
    assert read_trace(trace_bytes(empty), "t.json") == empty


def test_a_line_per_job() -> None:
    """So that files can be compared line by line."""
    lines = trace_bytes(TRACE).decode().splitlines()
    assert [line.lstrip()[:11] for line in lines[1:3]] == ['{"name":"a"', '{"name":"b"']


def test_the_job_of_an_instance_has_no_times() -> None:
    """All else stays."""
    assert job_of(TRACE.jobs[1]) == Job(name="b", gpus=1, within="node")


@pytest.mark.parametrize(
    ("changes", "path", "in_schema"),
    [
        ({"arrival_s": -1}, "$.jobs[1].arrival_s", True),
        ({"arrival_s": "now"}, "$.jobs[1].arrival_s", True),
        ({"arrival_s": None}, "$.jobs[1].arrival_s", True),
        ({"duration_s": 0}, "$.jobs[1].duration_s", True),
        ({"duration_s": -5}, "$.jobs[1].duration_s", True),
        ({"gpus": 0}, "$.jobs[1].gpus", True),
        ({"gpus": 1.5}, "$.jobs[1].gpus", True),
        ({"name": "a"}, "$.jobs[1].name", False),
        ({"name": ""}, "$.jobs[1].name", True),
        ({"pattern": "ring"}, "$.jobs[1].pattern", True),
        ({"compute_s": {}}, "$.jobs[1].compute_s", True),
        ({"compute_s": 0}, "$.jobs[1].compute_s", True),
        ({"overlap": 2}, "$.jobs[1].overlap", True),
        ({"placement": {"n1": 1}}, "$.jobs[1].placement", True),
        ({"user": 7}, "$.jobs[1].user", True),
        ({"arrived": 7}, "$.jobs[1].arrived", True),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_wrong_job_is_named(changes: dict[str, Any], path: str, in_schema: bool) -> None:
    """Path and job; what one field tells, the schema tells too."""
    made = document(**changes)
    assert [defect.path for defect in defects_of(made)] == [path]
    assert SCHEMA.is_valid(made) != in_schema


@pytest.mark.parametrize("field", ["name", "gpus", "arrival_s", "duration_s"])
def test_a_missing_field_is_named(field: str) -> None:
    """These four have no default."""
    made = document()
    del made["jobs"][1][field]
    assert [defect.path for defect in defects_of(made)] == [f"$.jobs[1].{field}"]
    assert not SCHEMA.is_valid(made)


def test_jobs_are_in_order_of_arrival() -> None:
    """Each that comes before one above is named with both times; equal times are in order."""
    made = document()
    made["jobs"][0]["arrival_s"] = 10
    made["jobs"].append(made["jobs"][0] | {"name": "c"})
    (defect,) = defects_of(made)
    assert (defect.path, defect.found) == ("$.jobs[1].arrival_s", '0 (job "b")')
    assert defect.expected == "at least 10, as of a job above: by arrival"


def test_all_defects_are_listed_at_once() -> None:
    """Of all jobs."""
    made = document(duration_s=0, pattern="ring")
    made["jobs"][0]["gpus"] = -1
    assert {d.path for d in defects_of(made)} == {"$.jobs[0].gpus", "$.jobs[1].duration_s", "$.jobs[1].pattern"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"format": "crop-instance/1", "jobs": []}',
        b'{"format": "crop-trace/2", "jobs": []}',
    ],
)
def test_another_file_is_an_input_error(data: bytes) -> None:
    """It is named."""
    with pytest.raises(InputError, match=r"t\.json"):
        read_trace(data, "t.json")
