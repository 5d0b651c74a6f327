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
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import read_bytes
from crop_cli.model.findings import quoted
from crop_cli.model.instance import Job
from crop_cli.model.limits import LIMITS
from crop_cli.model.patterns import PATTERNS
from crop_cli.names import one

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
        found = _longest(text, self.table)
        return None if found is None else self.table[found]

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
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig", errors="replace"), newline=""))
    if tuple(rows.fieldnames or ()) != COLUMNS:
        found = quoted(", ".join(rows.fieldnames or ())) if rows.fieldnames else "nothing"
        raise InputError(name, [Defect("line 1", found, ", ".join(COLUMNS))])
    table: dict[str, Profile] = {}
    last: dict[str, Profile] = {}
    defects: list[Defect] = []
    try:
        for row in rows:
            added = _add(table, row, rows.line_num, defects)
            if added is not None:
                # Without a batch size the model is its last batch in the table.
                last[added[0]] = replace(added[1], model=added[0])
    except csv.Error as error:
        defects.append(Defect(f"line {rows.line_num}", str(error), "a row of the table"))
    if defects:
        raise InputError(name, defects)
    if ANY not in table and path is not None:
        table[ANY] = load_profiles().stand_in
    return Profiles({**last, **table}, name)


def seconds_on(profile: Profile, gpu_type: str) -> tuple[float, str | None]:
    """Seconds per iteration on a cluster's GPU type, and a sentence where that is no measurement.

    A type that was not measured is taken as fast as the ratio of peak speeds says; one that nobody knows as fast as the
    fastest that was measured.
    """
    name = measured_type(gpu_type, profile.compute_s)
    if name is not None:
        return profile.compute_s[name], None
    speeds = gpu_types()
    called = "the stand-in for unknown models" if profile.model == ANY else profile.model
    own = measured_type(gpu_type, speeds)
    known = [name for name in profile.compute_s if name in speeds]
    if own is not None and known:
        # The nearest in speed is scaled by least.
        base = min(known, key=lambda name: abs(math.log(speeds[name].tflops / speeds[own].tflops)))
        scale = speeds[base].tflops / speeds[own].tflops
        text = f"{called} was not measured on {gpu_type}: {scale:.3g} times its seconds on {base}, by peak speeds"
        return profile.compute_s[base] * scale, text
    base = min(profile.compute_s, key=lambda name: profile.compute_s[name])
    return profile.compute_s[base], f"{called} was not measured on {gpu_type}: taken as fast as on {base}"


def measured_type(gpu_type: str, known: dict[str, float] | dict[str, GpuType]) -> str | None:
    """The longest key that a cluster's name of a GPU type contains as a word: "NVIDIA-A100-SXM4-80GB" is "a100"."""
    return _longest(gpu_type, known)


@cache
def gpu_types() -> dict[str, GpuType]:
    """Peak speeds of GPU types that ship with crop."""
    text = resources.files("crop_cli.sources").joinpath("data/gpus.csv").read_text(encoding="utf-8")
    return {
        row["gpu_type"]: GpuType(row["gpu_type"], float(row["tflops"]), row["source"])
        for row in csv.DictReader(io.StringIO(text))
    }


def _add(
    table: dict[str, Profile], row: dict[str, str], number: int, defects: list[Defect]
) -> tuple[str, Profile] | None:
    """Enter a row, or say what is wrong with it; a model's rows with one batch size are one profile.

    Returns the model's name without a batch size and the profile so far.
    """
    if None in row or None in row.values():
        defects.append(Defect(f"line {number}", f"{_width(row)} fields", f"{len(COLUMNS)}: {', '.join(COLUMNS)}"))
        return None
    before = len(defects)
    model, gpu, batch = row["model"].strip(), row["gpu_type"].strip().lower(), row["batch"].strip()
    for column, text in (("model", model), ("gpu_type", gpu)):
        if not _plain(text) and text != ANY:
            defects.append(Defect(f"line {number}, {column}", quoted(row[column]), "a name with a letter or digit"))
    if batch and not re.fullmatch("[1-9][0-9]{0,11}", batch):
        defects.append(Defect(f"line {number}, batch", quoted(batch), "a whole number above 0, or nothing"))
    limits = LIMITS[Job]
    values = {}
    for column in ("compute_s", "message_mb", "overlap"):
        try:
            values[column] = float(row[column])
        except ValueError:
            values[column] = math.nan
        if not limits[column].low <= values[column] <= limits[column].high:
            defects.append(Defect(f"line {number}, {column}", quoted(row[column]), limits[column].expected))
    if row["pattern"] not in PATTERNS:
        defects.append(Defect(f"line {number}, pattern", quoted(row["pattern"]), one(list(PATTERNS))))
    if len(defects) > before:
        return None
    name = f"{model}-b{batch}" if batch else model
    profile = Profile(
        name, {gpu: values["compute_s"]}, values["message_mb"], row["pattern"], values["overlap"], row["source"]
    )
    if name in table:
        profile = _joined(table[name], profile, number, defects)
    table[name] = profile
    return model, profile


def _joined(known: Profile, more: Profile, number: int, defects: list[Defect]) -> Profile:
    """A profile with the time on one more GPU type."""
    (gpu,) = more.compute_s
    if gpu in known.compute_s:
        defects.append(
            Defect(f"line {number}", f"{known.model} on {gpu} once more", "one row per model, type and batch")
        )
    for column in ("message_mb", "pattern", "overlap"):
        was, now = getattr(known, column), getattr(more, column)
        if was != now:
            defects.append(Defect(f"line {number}, {column}", f"{now}", f"{was}, as above for {known.model}"))
    sources = known.source if more.source in known.source.split(" | ") else f"{known.source} | {more.source}"
    return replace(known, compute_s={**known.compute_s, **more.compute_s}, source=sources)


def _width(row: dict[str, str]) -> int:
    """Fields of a row that has too many or too few."""
    return sum(len(value) if isinstance(value, list) else value is not None for value in row.values())


def _longest(text: str, names: Iterable[str]) -> str | None:
    """The longest of some names that a text contains as whole words; of equally long ones the first."""
    known, most = _by_words(tuple(names))
    words = _plain(text).split("-")
    runs = ("-".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + most, len(words)) + 1))
    found = [known[run] for run in runs if run in known]
    return max(found)[2] if found else None


@lru_cache(maxsize=256)
def _by_words(names: tuple[str, ...]) -> tuple[dict[str, tuple[int, int, str]], int]:
    """Names by their words, each with what ranks it, and the most words of one: a text has few runs of words."""
    known: dict[str, tuple[int, int, str]] = {}
    for place, name in enumerate(names):
        words = _plain(name)
        if name != ANY and words:
            known[words] = max((len(name), -place, name), known.get(words, (0, 0, "")))
    return known, max((words.count("-") + 1 for words in known), default=0)


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Lower case, words and numbers joined by single dashes: "ResNet50" and "resnet-50" are one name."""
    return re.sub(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])|[^a-z0-9]+", "-", text.lower()).strip("-")
