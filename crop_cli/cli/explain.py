"""`crop explain`: why a job is placed where it is or waits, and the smallest change that would admit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.explanation.answers import Explanation

SolutionArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[SOLUTION]", help="Solution file; - is standard input. Without it, the instance is solved."
    ),
]
Jobs = Annotated[
    list[str] | None, typer.Option("--job", metavar="NAME", help="A job to explain in detail; may be repeated.")
]


def explain(
    instance: opt.InstanceFile,
    solution: SolutionArgument = None,
    jobs: Jobs = None,
    solver: opt.SolverName = "auto",
    time_limit: opt.TimeLimit = "60s",
    gap: opt.Gap = "0.1%",
    seed: opt.Seed = 0,
    threads: opt.Threads = 1,
    form: opt.FormatOption = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> None:
    """Explain why jobs are placed where they are, or wait.

    For each job of --job: its best place in the empty cluster and in what
    is free, what it would displace (the instance is solved again with the
    job required), and the smallest changes that admit it, each made in a
    copy of the instance and verified there. Without --job: all jobs that
    wait, the limit that each meets, and the bound's prices.

    Exit codes: 0 done; 2 usage; 3 bad input; 4 proven infeasible and 5 no
    solution within the limits, where no SOLUTION was given; 6 a back end
    failed; 7 the solution does not hold for the instance; 130 interrupted.
    """
    environment = Environment.current()
    seconds, fraction = opt.seconds(time_limit), opt.fraction(gap)
    if instance == "-" and solution == "-":
        raise UsageError("only one of INSTANCE and SOLUTION can be standard input")

    from crop_cli import api  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.cli.interrupts import interruptible  # noqa: PLC0415
    from crop_cli.cli.progress import Progress  # noqa: PLC0415
    from crop_cli.solvers.contract import Budget  # noqa: PLC0415

    api.check_options(time_limit=seconds, gap=fraction, seed=seed, threads=threads)
    budget = Budget(seconds)
    loaded = api.load(instance)
    if not quiet:
        for warning in loaded.warnings:
            environment.err(f"crop: warning: {warning}")
    progress = Progress.of(environment, quiet=quiet, verbose=verbose)
    with interruptible(budget, environment):
        found = api.explain(
            loaded,
            solution,
            jobs=jobs,
            solver=solver,
            time_limit=seconds,
            gap=fraction,
            seed=seed,
            threads=threads,
            budget=budget,
            listen=progress,
        )
        progress.clear()
    _show(environment, form or opt.Format.TABLE, found, full=verbose)
    raise typer.Exit(_code(found, interrupted=budget.interrupted, given=solution is not None))


def _code(found: Explanation, *, interrupted: bool, given: bool) -> ExitCode:
    """A solution file that claims that there is no placement can be explained as well as any."""
    if interrupted:
        return ExitCode.INTERRUPTED
    if given or found.status in ("optimal", "feasible"):
        return ExitCode.OK
    return ExitCode.INFEASIBLE if found.status == "infeasible" else ExitCode.NO_SOLUTION


def _show(environment: Environment, form: opt.Format, found: Explanation, *, full: bool) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_explain import explanation_csv, explanation_reports  # noqa: PLC0415
    from crop_cli.model.dump import dump_explanation  # noqa: PLC0415

    if form is opt.Format.JSON:
        environment.out_bytes(dump_explanation(found))
    elif form is opt.Format.CSV:
        environment.out(explanation_csv(found))
    else:
        for i, report in enumerate(explanation_reports(found, full=full)):
            if i:
                environment.out("")
            show(environment, form, report)
