"""Computation and messages of jobs whose source states neither: a table of measured models.

The table is CSV with the columns `model, gpu_type, batch, compute_s, message_mb, pattern, overlap, source`: one row per
model, GPU type and batch size; seconds of computation per iteration on one GPU, megabytes exchanged per iteration and
worker.
The model `*` stands in where nothing is known about a job.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import read_bytes

COLUMNS = ("model", "gpu_type", "batch", "compute_s", "message_mb", "pattern", "overlap", "source")

ANY = "*"
"""Model of jobs of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A measured model.

    Attributes
    ----------
    model
        Its name, with the batch size where the table has several: "bert-b64".
    compute_s
        Seconds per iteration by GPU type (lower case).
    message_mb, pattern, overlap
        As of a job.
    source
        Of the measurements.
    """

    model: str
    compute_s: dict[str, float]
    message_mb: float
    pattern: str
    overlap: float
    source: str


@dataclass(frozen=True, slots=True)
class Profiles:
    """A table of models, by name."""

    table: dict[str, Profile]
    file: str

    def match(self, text: str | None) -> Profile | None:
        """The model whose name the text contains as a word, the longest of several; None if there is none."""
        if not text:
            return None
        plain = _plain(text)
        found = [
            name for name in self.table if name != ANY and re.search(rf"(^|-){re.escape(_plain(name))}(-|$)", plain)
        ]
        return self.table[max(found, key=len)] if found else None

    @property
    def stand_in(self) -> Profile:
        """What stands in for an unknown model."""
        return self.table[ANY]


@dataclass(frozen=True, slots=True)
class GpuType:
    """A GPU type's peak speed (dense FP16 or BF16 tensor TFLOPS) and its source.

    The ratio of two speeds stands in for a missing measurement.
    """

    name: str
    tflops: float
    source: str


def load_profiles(path: str | None = None) -> Profiles:
    """The table of a file, or the one that ships with crop.

    Raises
    ------
    InputError
        With every row that cannot be used.
    """
    if path is None:
        data, name = resources.files("crop_cli.sources").joinpath("data/models.csv").read_bytes(), "models.csv"
    else:
        data, name = read_bytes(path), path
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig", errors="replace")))
    if tuple(rows.fieldnames or ()) != COLUMNS:
        found = ", ".join(rows.fieldnames or ()) or "nothing"
        raise InputError(name, [Defect("line 1", found, ", ".join(COLUMNS))])
    table: dict[str, Profile] = {}
    defects: list[Defect] = []
    for number, row in enumerate(rows, start=2):
        _add(table, row, number, defects)
    if ANY not in table and not defects and path is not None:
        table[ANY] = load_profiles().stand_in
    if defects:
        raise InputError(name, defects)
    return Profiles(table, name)


def seconds_on(profile: Profile, gpu_type: str) -> tuple[float, str | None]:
    """Seconds per iteration on a cluster's GPU type, and a sentence where that is no measurement.

    A type that was not measured is taken as fast as the ratio of peak speeds says; one that nobody knows as fast as the
    fastest that was measured.
    """
    name = measured_type(gpu_type, profile.compute_s)
    if name is not None:
        return profile.compute_s[name], None
    speeds = gpu_types()
    own = measured_type(gpu_type, speeds)
    known = [name for name in profile.compute_s if name in speeds]
    if own is not None and known:
        # The nearest in speed is scaled by least.
        base = min(known, key=lambda name: abs(math.log(speeds[name].tflops / speeds[own].tflops)))
        scale = speeds[base].tflops / speeds[own].tflops
        text = (
            f"{profile.model} was not measured on {gpu_type}: {scale:.3g} times its seconds on {base}, by peak speeds"
        )
        return profile.compute_s[base] * scale, text
    base = min(profile.compute_s, key=lambda name: profile.compute_s[name])
    return profile.compute_s[base], f"{profile.model} was not measured on {gpu_type}: taken as fast as on {base}"


def measured_type(gpu_type: str, known: dict[str, float] | dict[str, GpuType]) -> str | None:
    """The longest key that a cluster's name of a GPU type contains as a word: "NVIDIA-A100-SXM4-80GB" is "a100"."""
    plain = _plain(gpu_type)
    found = [name for name in known if re.search(rf"(^|-){re.escape(_plain(name))}(-|$)", plain)]
    return max(found, key=len) if found else None


@cache
def gpu_types() -> dict[str, GpuType]:
    """Peak speeds of GPU types that ship with crop."""
    text = resources.files("crop_cli.sources").joinpath("data/gpus.csv").read_text(encoding="utf-8")
    return {
        row["gpu_type"]: GpuType(row["gpu_type"], float(row["tflops"]), row["source"])
        for row in csv.DictReader(io.StringIO(text))
    }


def _add(table: dict[str, Profile], row: dict[str, str], number: int, defects: list[Defect]) -> None:
    """Enter a row; a model's rows with one batch size are one profile."""
    model = row["model"].strip()
    name = f"{model}-b{row['batch'].strip()}" if (row["batch"] or "").strip() else model
    values = {}
    for column, least in (("compute_s", 0.0), ("message_mb", -1.0), ("overlap", -1.0)):
        try:
            values[column] = float(row[column])
        except (TypeError, ValueError):
            values[column] = math.nan
        if not (math.isfinite(values[column]) and values[column] > least):
            defects.append(Defect(f"line {number}, {column}", repr(row[column]), "a number that a job may have"))
    if row["pattern"] not in ("allreduce", "alltoall"):
        defects.append(Defect(f"line {number}, pattern", repr(row["pattern"]), "allreduce or alltoall"))
    if not model or not row["gpu_type"]:
        defects.append(Defect(f"line {number}", "no model or no gpu_type", "both"))
    if defects:
        return
    known = table.get(name)
    compute = {**(known.compute_s if known else {}), row["gpu_type"].strip().lower(): values["compute_s"]}
    profile = Profile(name, compute, values["message_mb"], row["pattern"], values["overlap"], row["source"])
    table[name] = profile
    # Without a batch size the model is its last batch in the table.
    if name != model:
        table[model] = Profile(model, compute, profile.message_mb, profile.pattern, profile.overlap, profile.source)


def _plain(text: str) -> str:
    """Lower case, words joined by single dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
