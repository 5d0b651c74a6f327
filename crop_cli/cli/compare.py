"""`crop compare`: two summaries of `crop bench` side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.errors import UsageError


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="Summary (crop bench -o); - is standard input.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Summary of the later bench.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 8 if anything is worse that cannot be chance.")
    ] = False,
    form: opt.FormatOption = None,
) -> None:
    """Compare two benches: what got better, what got worse.

    Runs are matched by instance, solver and seed. A run that ended by
    itself on one thread gives the same again with the same version; of
    others, a difference may be chance.
    """
    environment = Environment.current()

    from crop_cli.bench import regression  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.bench.summary import load_summary  # noqa: PLC0415
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_compare import changes_csv, comparison_json, comparison_report  # noqa: PLC0415

    if before == after == "-":
        raise UsageError("only one of the two can be standard input")
    old, new = load_summary(before), load_summary(after)
    compared = regression.compare(old, new)
    if form is opt.Format.JSON:
        environment.out_bytes(comparison_json(compared))
    elif form is opt.Format.CSV:
        environment.out(changes_csv(compared))
    else:
        show(environment, form or opt.Format.TABLE, comparison_report(old, new, compared))
    worse = regression.regressions(old, new) if strict else []
    for failure in worse:
        environment.err(f"crop: --strict: {failure.where}: {failure.found}")
    if worse:
        raise typer.Exit(ExitCode.GATE)
