"""Jobs of any of Slurm's forms."""

from __future__ import annotations

from crop_cli.sources.slurm.forms import decoded, document, each, is_json, text_records
from crop_cli.sources.slurm.jobs_json import job_of_json
from crop_cli.sources.slurm.jobs_text import job_of_record
from crop_cli.sources.slurm.records import Input, SlurmJob

EXPECTED = "jobs: what `squeue --json`, `scontrol show jobs --json` or `scontrol -d show job` print"


def read_jobs(source: Input) -> list[SlurmJob]:
    """All jobs of a file, in its order.

    Raises
    ------
    InputError
        If it is something else, or with every record that cannot be read.
    """
    content = decoded(source)
    if is_json(content):
        _, objects = document(source, content, ("jobs",), EXPECTED)
        return each(source, objects, job_of_json, lambda i, _: f"$.jobs[{i}]")
    rows = text_records(source, content, ("JobId",), EXPECTED)
    return each(source, rows, job_of_record, lambda _, row: f"line {row.line}")
