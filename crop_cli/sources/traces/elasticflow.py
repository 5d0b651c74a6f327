"""ElasticFlow (ASPLOS 2023): job_id, submit_time, model_name, batch_size, num_gpu, duration, ..."""

from __future__ import annotations

from crop_cli.sources.draft import Skipped
from crop_cli.sources.table import Table
from crop_cli.sources.traces.reading import Reading, Record

SOURCE = (
    "ElasticFlow (Gu et al., ASPLOS 2023; pkusys/ElasticFlow, traces_for_ElasticFlow, 04a0109): arrivals, sizes and "
    "durations of Microsoft Philly, models drawn by ElasticFlow's authors"
)
LICENCE = "Apache-2.0 (ElasticFlow), CC BY 4.0 (Philly)"

_COLUMNS = ("job_id", "submit_time", "model_name", "batch_size", "num_gpu", "real_duration")


def read(data: bytes, file: str) -> Reading:
    """Read a trace of ElasticFlow. Deadlines are not used.

    Raises
    ------
    InputError
        With every cell that cannot be read.
    """
    table = Table(file)
    reading = Reading("elasticflow", SOURCE, LICENCE)
    seen: dict[str, int] = {}
    for row in table.rows(data, _COLUMNS, some=True):
        reading.counts["jobs in the file"] += 1
        name, gpus, duration = f"e{row.text('job_id')}", row.whole("num_gpu"), row.number("real_duration")
        arrival, model, batch = row.number("submit_time"), row.text("model_name"), row.number("batch_size")
        if seen.setdefault(name, row.line) != row.line:
            table.note(row.line, f"{name[1:]}, as in line {seen[name]}", "a number that no other job has", "job_id")
        elif gpus == 0 or duration == 0:
            reading.skipped.append(Skipped("job", name, "asks for no GPU" if gpus == 0 else "ran for 0 seconds"))
        else:
            # The batch is that of all workers together.
            reading.records.append(
                Record(name, gpus, arrival, duration_s=duration, model=model, batch=batch / gpus if batch else None)
            )
    table.finish()
    reading.assumptions.append("Deadlines are left out.")
    return reading.sort()
