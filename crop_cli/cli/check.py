"""`crop check`: hold a solution against its instance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.verify import Report as Check


def check(
    instance: opt.InstanceFile,
    solution: opt.SolutionFile,
    form: opt.FormatOption = None,
    quiet: opt.Quiet = False,
) -> None:
    """Check a solution against its instance.

    Everything that the file claims is recomputed from the definitions
    alone: feasibility, objective, metrics, the numbers of every job, and
    whether bound, gap and status agree with them. No solver takes part,
    but for the oracle, which recomputes the bound that prices prove.

    Exit codes: 0 all is as claimed; 3 bad input; 7 something is not, and
    each such thing is listed.
    """
    environment = Environment.current()
    if instance == "-" and solution == "-":
        raise UsageError("only one of INSTANCE and SOLUTION can be standard input")

    from crop_cli import api  # noqa: PLC0415 (--help must not load numpy)

    loaded = api.load(instance)
    if not quiet:
        for warning in loaded.warnings:
            environment.err(f"crop: warning: {warning}")
    report = api.check(loaded, solution)
    _show(environment, form or opt.Format.TABLE, report)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.VIOLATIONS)


def _show(environment: Environment, form: opt.Format, report: Check) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_text import comma_separated  # noqa: PLC0415
    from crop_cli.cli.report import Report, Table  # noqa: PLC0415
    from crop_cli.names import plural  # noqa: PLC0415

    rows = [[violation.kind, violation.message] for violation in report.violations]
    if form is opt.Format.JSON:
        environment.out(json.dumps(_document(report), indent=2, ensure_ascii=False))
    elif form is opt.Format.CSV:
        environment.out(comma_separated(["kind", "message"], [list(row) for row in rows]))
    else:
        verdict = "ok" if report.ok else plural(len(rows), "violation")
        facts = [("check", verdict), ("status", f"{report.status} (claimed)")]
        if report.evaluation is not None:
            facts.append(("objective", f"{report.evaluation.objective:.9g} (recomputed)"))
        if report.bound is not None:
            facts.append(("bound", f"{report.bound:.9g} ({_standing(report)})"))
        show(environment, form, Report(facts, [Table("Violations", ["kind", "what is wrong"], rows)]))


def _standing(report: Check) -> str:
    """What is known about the bound."""
    from crop_cli.verify import bound_is_proven  # noqa: PLC0415

    if report.certified_bound is None:
        return "claimed; the file has no prices that prove one"
    if bound_is_proven(report):
        return "proven by the prices, recomputed"
    return f"claimed; the prices prove {report.certified_bound:.9g}"


def _document(report: Check) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415

    evaluation = report.evaluation
    return {
        "ok": report.ok,
        "status": report.status,
        "violations": [{"kind": violation.kind, "message": violation.message} for violation in report.violations],
        "bound": report.bound,
        "certified_bound": report.certified_bound,
        "objective": None if evaluation is None else evaluation.objective,
        "metrics": None if evaluation is None else msgspec.to_builtins(evaluation.metrics),
    }
