"""Gavel (OSDI 2020): lines of job type, command, ..., steps, arrival and GPUs, in an older and a later form."""

from __future__ import annotations

import re

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import shown
from crop_cli.sources.draft import Skipped
from crop_cli.sources.table import Row, Table, text_of
from crop_cli.sources.traces.reading import Reading, Record

SOURCE = (
    "Gavel (Narayanan et al., OSDI 2020; stanford-futuredata/gavel, scheduler/traces, c4fa400): arrivals and sizes of "
    "Microsoft Philly, models and steps drawn by Gavel's authors"
)
LICENCE = "MIT (Gavel), CC BY 4.0 (Philly)"

FORMS = {
    7: ("type", "command", "step flag", "needs data", "steps", "arrival", "gpus"),
    10: ("type", "command", "folder", "step flag", "needs data", "steps", "gpus", "weight", "slo", "arrival"),
}
"""Fields of a line by their number."""

_TYPE = re.compile(r"(?P<model>.+?)(?: \(batch size (?P<batch>[0-9]+)\))?")


def read(data: bytes, file: str) -> Reading:
    """Read a .trace file of either form. A job is named by its line, from 0.

    Raises
    ------
    InputError
        With every line that cannot be read.
    """
    first = text_of(data, file).lstrip("\n").split("\n", 1)[0]
    fields = FORMS.get(first.count("\t") + 1)
    if fields is None:
        known = " or ".join(str(n) for n in FORMS)
        raise InputError(
            shown(file), [Defect("line 1", f"{first.count(chr(9)) + 1} fields", f"{known}, set off by tabs")]
        )
    table = Table(file)
    reading = Reading("gavel", SOURCE, LICENCE)
    for index, row in enumerate(table.rows(data, fields, header=False, delimiter="\t")):
        _add(reading, row, index)
    table.finish()
    reading.assumptions += [
        "The number in a job's name is its line in the trace, from 0.",
        "A job's steps are shared by its workers; each takes the seconds that its model took on one GPU.",
    ]
    return reading.sort()


def _add(reading: Reading, row: Row, index: int) -> None:
    reading.counts["jobs in the file"] += 1
    gpus, steps, arrival = row.whole("gpus"), row.number("steps"), row.number("arrival")
    kind = row.text("type")
    found = _TYPE.fullmatch(kind)
    name = f"g{index}"
    if gpus == 0 or steps == 0:
        reading.skipped.append(Skipped("job", name, "asks for no GPU" if gpus == 0 else "has no steps to do"))
    elif found is not None:
        batch = (float(found["batch"]) or None) if found["batch"] else None
        reading.records.append(Record(name, gpus, arrival, iterations=steps / gpus, model=found["model"], batch=batch))
