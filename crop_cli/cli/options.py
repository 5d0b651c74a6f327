"""Options that mean the same in every command, and the reading of their values."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Annotated

import typer

from crop_cli.errors import UsageError
from crop_cli.solvers.registry import ENGINES, engines

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?P<amount>[0-9.eE+-]+?)\s*(?P<unit>ms|s|m|h|)")


class Format(StrEnum):
    """How results are written to standard output."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class Oracle(StrEnum):
    """How the greedy finds the best arrangement of a domain above the nodes."""

    INNER = "inner"
    EXACT = "exact"


def solver_names(incomplete: str) -> list[tuple[str, str]]:
    """Completions of a solver's name, each with a line about it."""
    return [(name, engine.summary) for name, engine in engines().items() if name.startswith(incomplete)]


InstanceFile = Annotated[str, typer.Argument(metavar="INSTANCE", help="Instance file; - is standard input.")]
SolutionFile = Annotated[str, typer.Argument(metavar="SOLUTION", help="Solution file; - is standard input.")]
SolverName = Annotated[
    str,
    typer.Option(
        "--solver",
        metavar="NAME",
        help=f"{', '.join(ENGINES)}, or any of `crop solvers`.",
        autocompletion=solver_names,
    ),
]
TimeLimit = Annotated[
    str,
    typer.Option("--time-limit", metavar="TIME", help="Wall clock for the whole run: 45, 30s, 10m, 1h."),
]
Gap = Annotated[
    str,
    typer.Option("--gap", metavar="GAP", help="Stop at this (bound - F)/|F|: 0.01 or 1%; 0 asks for a proof."),
]
SolverGap = Annotated[
    str | None,
    typer.Option(
        "--gap",
        metavar="GAP",
        help="Stop at this (bound - F)/|F|: 0.01 or 1%; 0 asks for a proof.  [default: 1% for auto, else 0]",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of whatever is random.")]
Threads = Annotated[
    int,
    typer.Option("--threads", metavar="N", help="Threads of the back end; only 1 is always reproducible."),
]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the solution (JSON) there; - is standard output."),
]
FormatOption = Annotated[Format | None, typer.Option("--format", help="Form of standard output.  [default: table]")]
JsonStream = Annotated[
    bool, typer.Option("--json-stream", help="Write progress and result as JSON lines to standard output.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Option of the solver itself; may be repeated."),
]
OracleOption = Annotated[
    Oracle | None,
    typer.Option("--oracle", help="Greedy: arrangements of a domain by an inner greedy or exactly.  [default: inner]"),
]
LevelOption = Annotated[
    str | None,
    typer.Option("--level", metavar="NAME", help="Greedy: the level whose domains it fills (default: it chooses)."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, notes or warnings.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="A line for every incumbent and bound; every price.")]


def seconds(text: str) -> float:
    """Read a duration: 45, 0.5, 30s, 500ms, 10m, 1h.

    Raises
    ------
    UsageError
        If it is not a positive, finite time.
    """
    found = _DURATION.fullmatch(text.strip())
    amount = _float(found["amount"]) if found else None
    if found is None or amount is None or not math.isfinite(amount) or amount <= 0:
        raise UsageError(f"--time-limit: {text!r} is not a positive time such as 45, 30s, 10m or 1h")
    return amount * _UNITS[found["unit"]]


def fraction(text: str, option: str = "--gap") -> float:
    """Read a gap: 0.01 or 1%; `option` is named if it is none.

    Raises
    ------
    UsageError
        If it is not a finite number of at least 0.
    """
    plain = text.strip()
    value = _float(plain.removesuffix("%"))
    if value is None or not math.isfinite(value) or value < 0:
        raise UsageError(f"{option}: {text!r} is not a fraction such as 0.01 or 1%")
    return value / 100 if plain.endswith("%") else value


def pairs(settings: list[str] | None) -> dict[str, str]:
    """Read KEY=VALUE settings.

    Raises
    ------
    UsageError
        If one has no key or no "=", or a key is given twice.
    """
    read: dict[str, str] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"--set: {setting!r} is not KEY=VALUE")
        if key in read:
            raise UsageError(f"--set: {key!r} is given twice")
        read[key] = value.strip()
    return read


def solver_options(settings: list[str] | None, oracle: Oracle | None, level: str | None) -> dict[str, str]:
    """All options of the solver; `--oracle` and `--level` are settings with a name of their own.

    Raises
    ------
    UsageError
        If one is given in both ways.
    """
    options = pairs(settings)
    for key, value in (("oracle", oracle.value if oracle else None), ("level", level)):
        if value is None:
            continue
        if key in options:
            raise UsageError(f"--{key} and --set {key}= are the same option: give one")
        options[key] = value
    return options


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
