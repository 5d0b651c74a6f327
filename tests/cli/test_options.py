"""Values of options: what is read, and what is refused."""

from __future__ import annotations

import pytest

from crop_cli.cli.options import Oracle, fraction, pairs, seconds, solver_options
from crop_cli.errors import UsageError
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45", 45.0),
        ("0.5", 0.5),
        ("30s", 30.0),
        ("10m", 600.0),
        ("1h", 3600.0),
        ("250ms", 0.25),
        (" 2 s ", 2.0),
        ("1e3", 1e3),
    ],
)
def test_durations(text: str, value: float) -> None:
    """A duration is a number of seconds, or has a unit."""
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["0", "-1", "0s", "nan", "inf", "1e999", "", "s", "ten", "5 days", "1:30", "--5"])
def test_durations_that_are_refused(text: str) -> None:
    """Zero, negative, endless and unreadable limits are usage errors."""
    with pytest.raises(UsageError, match="--time-limit"):
        seconds(text)


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("0.01", 0.01), ("1%", 0.01), ("2.5 %", 0.025), ("1", 1.0)])
def test_gaps(text: str, value: float) -> None:
    """A gap is a fraction or a percentage."""
    assert fraction(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["-0.1", "-1%", "nan", "inf", "", "%", "one"])
def test_gaps_that_are_refused(text: str) -> None:
    """Negative, endless and unreadable gaps are usage errors."""
    with pytest.raises(UsageError, match="--gap"):
        fraction(text)


def test_settings() -> None:
    """A setting is KEY=VALUE; the value may hold further signs of equality."""
    assert pairs(["a=1", "b = x=y"]) == {"a": "1", "b": "x=y"}
    assert pairs(None) == {}


@pytest.mark.parametrize("settings", [["a"], ["=1"], ["a=1", "a=2"], [""]])
def test_settings_that_are_refused(settings: list[str]) -> None:
    """Settings without a key or sign, or given twice, are usage errors."""
    with pytest.raises(UsageError, match="--set"):
        pairs(settings)


def test_named_settings() -> None:
    """--oracle and --level are settings, and may not be given twice."""
    assert solver_options(["x=1"], Oracle.EXACT, "rack") == {"x": "1", "oracle": "exact", "level": "rack"}
    with pytest.raises(UsageError, match="same option"):
        solver_options(["level=rack"], None, "rack")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--time-limit", "0"],
        ["--time-limit", "-5"],
        ["--time-limit", "nan"],
        ["--gap", "-1"],
        ["--seed", "-1"],
        ["--seed", "4294967296"],
        ["--threads", "0"],
        ["--threads", "two"],
        ["--solver", "gurobi"],
        ["--set", "nonsense"],
        ["--format", "xml"],
        ["--oracle", "delphic"],
        ["--json-stream", "--format", "json"],
        ["--json-stream", "-o", "-"],
        ["-o", "-", "--format", "csv"],
        ["--no-such-option"],
        ["--solver", "greedy", "--set", "no_such_key=1"],
        ["--solver", "auto", "--set", "no_such_key=1"],
        ["--solver", "greedy", "--level", "no-such-level"],
    ],
)
def test_bad_usage_ends_with_two(crop: Run, racks: str, arguments: list[str]) -> None:
    """Options that cannot be honoured end with 2, say why on standard error, and write nothing to standard output."""
    done = crop("solve", racks, *arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.stderr
    assert done.stderr.strip()
