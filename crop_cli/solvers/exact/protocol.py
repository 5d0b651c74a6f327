"""What a solver process and its parent say to each other.

The parent writes a `Task` into a private directory; the child streams frames through one pipe: incumbents and bounds as
they come, then one `Outcome`. This module imports numpy only, because the child imports it before its library.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

Ending = Literal["optimal", "infeasible", "time_limit", "interrupted", "other_limit", "usage", "error"]
"""How a library ended, in its own words; `other_limit` is one that the user set, such as a node limit."""

SETTLING = 0.3
"""Seconds before the parent's deadline at which the library is told to end, so that it can hand over its results."""

_HEADER = struct.Struct("<cdI")
_INCUMBENT, _BOUND, _OUTCOME = b"I", b"B", b"O"
_MODEL_FILE, _SETTINGS_FILE = "model.npz", "settings.json"


@dataclass(frozen=True, slots=True)
class Settings:
    """How to solve.

    Attributes
    ----------
    module
        Dotted name of the back end's module.
    deadline
        `time.monotonic()` at which the parent stops waiting; None for no limit. The clock is shared by all processes.
    absolute_gap
        Stop when cost − bound is at most this; 0 asks for a proof.
    seed, threads, options
        As in `crop_cli.solvers.contract.Request`.
    memory_mb
        Most address space of the process in 10^6 bytes; None for no limit.
    """

    module: str
    deadline: float | None
    absolute_gap: float
    seed: int
    threads: int
    options: dict[str, str]
    memory_mb: int | None

    def remaining(self) -> float | None:
        """Seconds that the library may use from now, 0 when it should not start; None for no limit."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        return max(0.0, left - min(SETTLING, 0.1 * left))


@dataclass(frozen=True, slots=True)
class Model:
    """The arrays of a `SparseModel` without its sparse matrix type: row i has `indices[indptr[i]:indptr[i+1]]`."""

    cost: FloatArray
    upper: IntArray
    data: FloatArray
    indices: IntArray
    indptr: IntArray
    row_lower: FloatArray
    row_upper: FloatArray
    integral_row: NDArray[np.bool_]
    start: IntArray | None

    @property
    def n_rows(self) -> int:
        """Number of rows, m."""
        return len(self.row_lower)

    @property
    def n_columns(self) -> int:
        """Number of variables, n."""
        return len(self.cost)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The last word of a back end: how it ended, and the lower bound of the cost that it claims (None: unknown)."""

    ending: Ending
    bound: float | None = None
    message: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Incumbent:
    """A point that the library calls feasible, rounded."""

    x: IntArray


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound of the cost."""

    value: float


Frame = Incumbent | Bound | Outcome


def write_task(directory: Path, model: Model, settings: Settings) -> None:
    """Put a task where the child finds it."""
    arrays = {field.name: getattr(model, field.name) for field in fields(model)}
    np.savez(directory / _MODEL_FILE, **{name: array for name, array in arrays.items() if array is not None})
    (directory / _SETTINGS_FILE).write_text(json.dumps(asdict(settings)), encoding="utf-8")


def read_settings(directory: Path) -> Settings:
    """The settings that `write_task` put into the directory."""
    return Settings(**json.loads((directory / _SETTINGS_FILE).read_text(encoding="utf-8")))


def read_model(directory: Path) -> Model:
    """The model that `write_task` put into the directory."""
    with np.load(directory / _MODEL_FILE, allow_pickle=False) as arrays:
        return Model(**{field.name: arrays.get(field.name) for field in fields(Model)})


def encode(frame: Frame) -> bytes:
    """A frame as bytes: kind, number, length of what follows, and that."""
    match frame:
        case Incumbent(x):
            payload = np.ascontiguousarray(x, dtype="<i8").tobytes()
            return _HEADER.pack(_INCUMBENT, 0.0, len(payload)) + payload
        case Bound(value):
            return _HEADER.pack(_BOUND, value, 0)
        case Outcome():
            payload = json.dumps(asdict(frame)).encode()
            return _HEADER.pack(_OUTCOME, 0.0, len(payload)) + payload


class Decoder:
    """Frames from the bytes of a pipe, in whatever pieces they arrive; a frame cut off by a kill is never given out."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """All frames that are complete now.

        Raises
        ------
        ValueError
            If the bytes are not frames.
        """
        self._pending += data
        while len(self._pending) >= _HEADER.size:
            kind, value, length = _HEADER.unpack_from(self._pending)
            end = _HEADER.size + length
            if kind not in (_INCUMBENT, _BOUND, _OUTCOME):
                raise ValueError(f"unknown frame {kind!r}")
            if len(self._pending) < end:
                return
            payload = bytes(self._pending[_HEADER.size : end])
            del self._pending[:end]
            if kind == _INCUMBENT:
                yield Incumbent(np.frombuffer(payload, dtype="<i8").astype(np.int64))
            elif kind == _BOUND:
                yield Bound(value)
            else:
                yield Outcome(**json.loads(payload))
