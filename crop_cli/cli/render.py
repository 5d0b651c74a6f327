"""Show a report on standard output in the form that was asked for."""

from __future__ import annotations

from crop_cli.cli.environment import Environment
from crop_cli.cli.options import Format
from crop_cli.cli.render_text import markdown, plain
from crop_cli.cli.report import Report


def show(environment: Environment, form: Format, report: Report) -> None:
    """As Markdown, or as tables: drawn on a terminal, plain elsewhere."""
    if form is Format.MARKDOWN:
        environment.out(markdown(report))
    elif environment.rich_output:
        from crop_cli.cli import render_rich  # noqa: PLC0415 (a pipe must not pay for rich)

        render_rich.show(report, environment)
    else:
        environment.out(plain(report))
