"""What `crop bench` leaves behind: summary, page, JUnit XML, the summary of a GitHub job, and what it prints."""

from __future__ import annotations

import os
from pathlib import Path

from crop_cli.bench.gates import Failure
from crop_cli.bench.runner import Plan, Result
from crop_cli.bench.summary import dump_summary
from crop_cli.cli.environment import Environment
from crop_cli.cli.options import Format
from crop_cli.cli.render_bench import bench_report, rows_csv
from crop_cli.errors import UsageError
from crop_cli.model.files import write_atomic

GITHUB_VARIABLE = "GITHUB_STEP_SUMMARY"
"""Environment variable: the file whose Markdown GitHub Actions shows."""


def github_file() -> Path:
    """The file of the GitHub job's summary.

    Raises
    ------
    UsageError
        Outside GitHub Actions.
    """
    path = os.environ.get(GITHUB_VARIABLE)
    if not path:
        raise UsageError(f"--github-summary needs {GITHUB_VARIABLE}, which GitHub Actions sets")
    return Path(path)


def write(
    plan: Plan,
    result: Result,
    failed: list[Failure],
    gates: list[str],
    *,
    output: str | None,
    html: str | None,
    junit: str | None,
    github: bool,
) -> None:
    """Write every file that was asked for.

    Raises
    ------
    UsageError
        If one cannot be written.
    """
    summary = result.summary
    if output is not None:
        write_atomic(output, dump_summary(summary))
    if html is not None:
        from crop_cli.bench.page.render import render  # noqa: PLC0415 (jinja2, only where a page is asked for)

        instances = {member.name: member.loaded.instance for member in plan.suite}
        write_atomic(html, render(summary, result.runs, instances).encode())
    if junit is not None:
        from crop_cli.bench.junit import junit as document  # noqa: PLC0415

        write_atomic(junit, document(summary, failed, gates))
    if github:
        from crop_cli.cli.render_text import markdown  # noqa: PLC0415

        text = f"## crop bench\n\n{markdown(bench_report(summary, failed, runs=False))}\n"
        try:
            with github_file().open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{github_file()} cannot be written: {error.strerror or error}") from None


def show(environment: Environment, form: Format | None, result: Result, failed: list[Failure]) -> None:
    """Print the bench in the form that was asked for."""
    from crop_cli.cli.render import show as show_report  # noqa: PLC0415

    if form is Format.JSON:
        environment.out_bytes(dump_summary(result.summary))
    elif form is Format.CSV:
        environment.out(rows_csv(result.summary))
    else:
        show_report(environment, form or Format.TABLE, bench_report(result.summary, failed))
