"""Microsoft Philly (ATC 2019) in the table form of ElasticFlow and Sia: timestamp, duration, num_gpus, cluster."""

from __future__ import annotations

from datetime import datetime

from crop_cli.model.findings import quoted
from crop_cli.sources.draft import Skipped
from crop_cli.sources.table import Table
from crop_cli.sources.traces.reading import Reading, Record

SOURCE = (
    "Microsoft Philly traces (Jeon et al., ATC 2019; msr-fiddle/philly-traces), as the table philly.csv of "
    "pkusys/ElasticFlow (04a0109)"
)
LICENCE = "CC BY 4.0 (trace), Apache-2.0 (table)"


def read(data: bytes, file: str) -> Reading:
    """Read philly.csv, plain or gzip. Rows need not be sorted; the clock is 0 at the first arrival.

    A job is named by its row, from 0.

    Raises
    ------
    InputError
        With every cell that cannot be read.
    """
    table = Table(file)
    reading = Reading("philly", SOURCE, LICENCE)
    found: list[tuple[datetime, int, float, int, str]] = []
    for index, row in enumerate(table.rows(data, ("timestamp", "duration", "num_gpus", "cluster"), some=True)):
        text = row.text("timestamp")
        try:
            arrived = datetime.fromisoformat(text)
        except ValueError:
            table.note(row.line, quoted(text), "a date and time such as 2017-10-09 07:01:55", "timestamp")
            continue
        if arrived.tzinfo is not None:
            table.note(row.line, quoted(text), "local time, without a zone", "timestamp")
            continue
        found.append((arrived, index, row.number("duration"), row.whole("num_gpus"), row.text("cluster")))
    table.finish()
    reading.counts["jobs in the file"] = len(found)
    reading.start = min((arrived for arrived, *_ in found), default=None)
    for arrived, index, duration, gpus, cluster in found:
        name = f"p{index}"
        if gpus == 0 or duration == 0:
            reading.skipped.append(Skipped("job", name, "asks for no GPU" if gpus == 0 else "ran for 0 seconds"))
            continue
        seconds = (arrived - (reading.start or arrived)).total_seconds()
        reading.records.append(Record(name, gpus, seconds, duration_s=duration, group=cluster))
    reading.assumptions.append(
        "The number in a job's name is its row in philly.csv, from 0; its group is the virtual cluster."
    )
    return reading.sort()
