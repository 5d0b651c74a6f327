"""`crop solvers`: the engines, what is installed of them, and what each can do."""

from __future__ import annotations

import json
from typing import Any

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.render import show
from crop_cli.cli.render_text import comma_separated
from crop_cli.cli.report import Report, Table
from crop_cli.solvers.registry import Engine, engines

COLUMNS = ["name", "role", "installed", "library", "version", "summary", "abilities"]


def solvers(form: opt.FormatOption = None) -> None:
    """List the solvers and what is installed of them."""
    environment = Environment.current()
    rows = [_row(engine) for engine in engines().values()]
    if form is opt.Format.JSON:
        environment.out(json.dumps(rows, indent=2, ensure_ascii=False))
    elif form is opt.Format.CSV:
        environment.out(comma_separated(COLUMNS, [[_text(row[name]) for name in COLUMNS] for row in rows]))
    else:
        table = Table("", COLUMNS, [[_text(row[name]) for name in COLUMNS] for row in rows])
        show(environment, form or opt.Format.TABLE, Report(tables=[table]))


def _row(engine: Engine) -> dict[str, Any]:
    return {
        "name": engine.name,
        "role": engine.role,
        "installed": engine.installed,
        "library": None if engine.back_end is None else engine.back_end.package,
        "version": None if engine.back_end is None else engine.back_end.version,
        "summary": engine.summary,
        "abilities": list(engine.abilities),
    }


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
