"""Tiresias' simulator (NSDI 2019): job_id, num_gpu, submit_time, iterations, model_name, duration, interval."""

from __future__ import annotations

from crop_cli.sources.draft import Skipped
from crop_cli.sources.table import Table
from crop_cli.sources.traces.reading import Reading, Record

SOURCE = "Tiresias (Gu et al., NSDI 2019; SymbioticLab/Tiresias, simulator/60_job.csv, 959f9b0): a synthetic trace"
LICENCE = "Apache-2.0"

MODELS = {"inception3": "inception-v3", "inception4": "inception-v4"}
"""Names of Tiresias that profiles have in another form."""

# The steps are not used, but tell this form from that of ElasticFlow.
_COLUMNS = ("job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration")


def read(data: bytes, file: str) -> Reading:
    """Read a trace of Tiresias' simulator.

    Raises
    ------
    InputError
        With every cell that cannot be read.
    """
    table = Table(file)
    reading = Reading("tiresias", SOURCE, LICENCE)
    seen: dict[str, int] = {}
    for row in table.rows(data, _COLUMNS, some=True):
        reading.counts["jobs in the file"] += 1
        name, gpus, duration = f"t{row.text('job_id')}", row.whole("num_gpu"), row.number("duration")
        arrival, model = row.number("submit_time"), row.text("model_name")
        if seen.setdefault(name, row.line) != row.line:
            table.note(row.line, f"{name[1:]}, as in line {seen[name]}", "a number that no other job has", "job_id")
        elif gpus == 0 or duration == 0:
            reading.skipped.append(Skipped("job", name, "asks for no GPU" if gpus == 0 else "ran for 0 seconds"))
        else:
            reading.records.append(Record(name, gpus, arrival, duration_s=duration, model=MODELS.get(model, model)))
    table.finish()
    return reading.sort()
