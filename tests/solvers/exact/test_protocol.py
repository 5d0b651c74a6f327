from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from crop_cli.solvers.exact.protocol import (
    SETTLING,
    Bound,
    Decoder,
    Frame,
    Incumbent,
    Model,
    Outcome,
    Settings,
    encode,
    read_model,
    read_settings,
    write_task,
)

FRAMES: list[Frame] = [
    Bound(-12.5),
    Incumbent(np.array([1, 0, 2**40, 7])),
    Incumbent(np.zeros(0, dtype=np.int64)),
    Outcome("optimal", bound=-3.0, message="fine – really", version="1"),
    Outcome("error"),
]


def same(one: Frame, other: Frame) -> bool:
    """Whether two frames are equal."""
    if isinstance(one, Incumbent) and isinstance(other, Incumbent):
        return np.array_equal(one.x, other.x)
    return one == other


@pytest.mark.parametrize("piece", [1, 2, 7, 13, 1000])
def test_frames_survive_the_pipe_in_pieces(piece: int) -> None:
    """Frames come out as they went in, however the bytes are cut."""
    data = b"".join(encode(frame) for frame in FRAMES)
    decoder = Decoder()
    out = [frame for at in range(0, len(data), piece) for frame in decoder.feed(data[at : at + piece])]
    assert len(out) == len(FRAMES)
    assert all(same(one, other) for one, other in zip(out, FRAMES, strict=True))


def test_a_frame_that_was_cut_off_is_not_given_out() -> None:
    """Half a frame, as a kill leaves it, yields nothing."""
    data = encode(Incumbent(np.arange(5)))
    for length in range(len(data)):
        assert list(Decoder().feed(data[:length])) == []


def test_nonsense_is_noticed() -> None:
    """Bytes that are no frames raise an error rather than a wrong frame."""
    with pytest.raises(ValueError, match="unknown frame"):
        list(Decoder().feed(b"Welcome to the solver"))


@pytest.mark.parametrize("start", [None, np.array([1, 0])])
def test_a_task_survives_the_directory(tmp_path: Path, start: np.ndarray | None) -> None:
    """Model and settings are read as they were written, infinities and an absent start included."""
    model = Model(
        cost=np.array([0.1, -2.0]),
        upper=np.array([1, 3]),
        data=np.array([1.5, 2.0]),
        indices=np.array([0, 1]),
        indptr=np.array([0, 2]),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([3.25]),
        integral_row=np.array([False]),
        start=start,
    )
    settings = Settings("a.b", 12.5, 0.25, 3, 1, {"key": "value"}, None)
    write_task(tmp_path, model, settings)
    assert read_settings(tmp_path) == settings
    again = read_model(tmp_path)
    assert (again.n_rows, again.n_columns) == (1, 2)
    assert (again.start is None) == (start is None)
    for name in ("cost", "upper", "data", "indices", "indptr", "row_lower", "row_upper", "integral_row"):
        assert np.array_equal(getattr(again, name), getattr(model, name))


def test_the_library_gets_less_time_than_the_parent_waits() -> None:
    """Time is set aside for handing over results; a deadline that has passed leaves none, no deadline is no limit."""
    now = time.monotonic()
    settings = Settings("a.b", now + 100, 0.0, 0, 1, {}, None)
    remaining = settings.remaining()
    assert remaining is not None
    assert 99 < remaining <= 100 - SETTLING
    assert Settings("a.b", now - 1, 0.0, 0, 1, {}, None).remaining() == 0
    assert Settings("a.b", None, 0.0, 0, 1, {}, None).remaining() is None
