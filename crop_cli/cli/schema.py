"""`crop schema`: the JSON Schemas of the files."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from crop_cli.cli.environment import Environment


class What(StrEnum):
    """The files that have a schema."""

    INSTANCE = "instance"
    SOLUTION = "solution"
    TRACE = "trace"


def schema(what: Annotated[What, typer.Argument(help="Which file.")]) -> None:
    """Print the JSON Schema of a file."""
    from crop_cli.model.schema import instance_schema, solution_schema, trace_schema  # noqa: PLC0415 (keeps --help light)

    made = {What.INSTANCE: instance_schema, What.SOLUTION: solution_schema, What.TRACE: trace_schema}[what]
    Environment.current().out(json.dumps(made(), indent=2, ensure_ascii=False))
