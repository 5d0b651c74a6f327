"""Times of a trace as people write them: seconds on its clock, or dates where it has them."""

from __future__ import annotations

import math
from datetime import datetime

from crop_cli.errors import UsageError


def seconds_of(text: str, start: datetime | None, option: str) -> float:
    """A time in seconds after the start of a trace.

    Parameters
    ----------
    text
        "86400", or a date such as "2017-10-09" or "2017-10-09T12:00".
    start
        The date at which the trace's clock shows 0; None if it has no dates.
    option
        For messages.

    Raises
    ------
    UsageError
        If it is neither, or a date where the trace has none.
    """
    plain = text.strip()
    try:
        # Python would read 1_000, too.
        value = float(plain.replace("_", "?"))
    except ValueError:
        return _date(plain, start, option)
    if not math.isfinite(value):
        raise UsageError(f"{option}: {plain!r} is no time; seconds or a date such as 2017-10-09T12:00 is expected")
    return value


def window_of(text: str, start: datetime | None, option: str = "--window") -> tuple[float, float]:
    """Two times, FROM..TO.

    Raises
    ------
    UsageError
        If it is not that, or the second is not after the first.
    """
    first, dots, last = text.partition("..")
    if not dots or not first.strip() or not last.strip():
        raise UsageError(f"{option}: {text!r} is not FROM..TO, such as 0..86400 or 2017-10-09..2017-10-10")
    window = seconds_of(first, start, option), seconds_of(last, start, option)
    if window[0] >= window[1]:
        raise UsageError(f"{option}: {text!r} ends before it begins or where it begins")
    return window


def _date(text: str, start: datetime | None, option: str) -> float:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        message = f"{option}: {text!r} is no time; seconds or a date such as 2017-10-09T12:00 is expected"
        raise UsageError(message) from None
    if start is None:
        raise UsageError(f"{option}: the trace has no dates; {text!r} must be in seconds after its start")
    if date.tzinfo is not None:
        raise UsageError(f"{option}: {text!r} has a time zone; the trace has local times")
    return (date - start).total_seconds()
