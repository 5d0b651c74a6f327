"""Times on the command line."""

from __future__ import annotations

from datetime import datetime

import pytest

from crop_cli.errors import UsageError
from crop_cli.sources.traces.times import seconds_of, window_of

START = datetime(2017, 10, 9, 12)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), (" 86400 ", 86400), ("1.5e3", 1500), ("-60", -60), ("2017-10-09T12:01", 60), ("2017-10-10", 43200)],
)
def test_seconds_and_dates(text: str, seconds: float) -> None:
    """Both are on the trace's clock."""
    assert seconds_of(text, START, "--at") == seconds


@pytest.mark.parametrize("text", ["", "noon", "nan", "inf", "2017-13-01", "2017-10-09T12:00+02:00", "5m"])
def test_what_is_no_time_is_an_error_of_use(text: str) -> None:
    """The option is named."""
    with pytest.raises(UsageError, match="--at"):
        seconds_of(text, START, "--at")


def test_a_date_needs_a_trace_with_dates() -> None:
    """Else seconds are asked for."""
    with pytest.raises(UsageError, match="the trace has no dates"):
        seconds_of("2017-10-09", None, "--at")


def test_windows() -> None:
    """Of seconds, dates, or both."""
    assert window_of("0..60", None) == (0, 60)
    assert window_of("2017-10-09T12:00..2017-10-10", START) == (0, 43200)
    assert window_of("-10 .. 5", START) == (-10, 5)


@pytest.mark.parametrize("text", ["", "5", "..", "5..", "..5", "5..5", "6..5", "a..b", "1...2.."])
def test_what_is_no_window_is_an_error_of_use(text: str) -> None:
    """Two times, the second after the first."""
    with pytest.raises(UsageError, match="--window"):
        window_of(text, START)
