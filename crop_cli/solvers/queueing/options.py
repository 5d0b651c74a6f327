"""Numbers among the `--set` pairs of a rule."""

from __future__ import annotations

from crop_cli.errors import UsageError


def whole_number(options: dict[str, str], key: str, default: int) -> int:
    """The option as a number of at least 1; the default where it is not set.

    Raises
    ------
    UsageError
        If it is none.
    """
    text = options.get(key, str(default))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise UsageError(f"{key}={text}: expected a whole number of at least 1")
    return int(text)


def factor(options: dict[str, str], key: str, default: float) -> float:
    """The option as a finite number of at least 1; the default where it is not set.

    Raises
    ------
    UsageError
        If it is none.
    """
    text = options.get(key, str(default))
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1.0 <= number < float("inf"):
        raise UsageError(f"{key}={text}: expected a number of at least 1")
    return number
