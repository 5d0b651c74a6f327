"""Jobs of any of Slurm's forms."""

from __future__ import annotations

from crop_cli.sources.slurm import tres
from crop_cli.sources.slurm.forms import decoded, each, is_json, slim_document, text_records
from crop_cli.sources.slurm.jobs_json import JobRow, job_of_json
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
        objects = slim_document(source, content, "jobs", JobRow, EXPECTED)
        return each(source, objects, lambda row: checked(job_of_json(row)), lambda i, _: f"$.jobs[{i}]")
    rows = text_records(source, content, ("JobId",), EXPECTED)
    return each(source, rows, lambda row: checked(job_of_record(row)), lambda _, row: f"line {row.line}")


def checked(job: SlurmJob) -> SlurmJob:
    """The job, if its lists of TRES can be read: that is told with the place in the file.

    Its number of nodes is the fewest. Of a job that waits for a range of nodes Slurm shows a guess between both ends
    (22.05.8 and 24.11.5: NumNodes=3-4 of `-N 2-4`), and the fewest in the TRES only.

    Raises
    ------
    ValueError
        If one of them cannot.
    """
    for text in (job.per_job, job.per_node, job.per_task, job.per_socket, job.tres, job.tres_allocated):
        for name in (tres.GPU, *tres.SHARES):
            tres.counts(text, name)
    for name in ("cpu", "mem"):
        tres.amount(job.tres_allocated, name)
    fewest = tres.amount(job.tres, "node")
    if fewest:
        job.node_count = min(job.node_count or int(fewest), int(fewest))
    return job
