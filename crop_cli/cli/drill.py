"""`crop drill`: every node and every switch fails in turn; what is lost, and what a repair keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.cli.outputs import check_outputs
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.repair.results import Drill

Level = Annotated[
    str | None, typer.Option("--level", metavar="NAME", help="Only failures of this level (default: all levels).")
]
Top = Annotated[int, typer.Option("--top", metavar="N", min=0, help="Rows of the table, the worst failures first.")]
DrillSolver = Annotated[
    str,
    typer.Option("--solver", metavar="NAME", help="oracle (one job after the other), or any of `crop solvers`."),
]
Exact = Annotated[bool, typer.Option("--exact", help="The same as --solver exact: small clusters.")]
OutageHours = Annotated[
    float, typer.Option("--outage-hours", metavar="HOURS", help="How long a node that failed stays down.")
]
DrillOutput = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write all of it (JSON) there; - is standard output."),
]


def drill(
    instance: opt.InstanceFile,
    solution: opt.SolutionFile,
    level: Level = None,
    top: Top = 10,
    solver: DrillSolver = "oracle",
    exact: Exact = False,
    outage_hours: OutageHours = 24.0,
    time_limit: opt.TimeLimit = "10m",
    gap: opt.Gap = "0",
    seed: opt.Seed = 0,
    threads: opt.Threads = 1,
    output: DrillOutput = None,
    form: opt.FormatOption = None,
    quiet: opt.Quiet = False,
) -> None:
    """Let every node and every switch fail in turn, and repair it.

    The jobs of SOLUTION run where it has them. For each vertex that holds
    some of them: the jobs it hits, the goodput lost at once, and what is left
    when the hit jobs are placed anew with nobody else moved. The worst come
    first. Node failures are weighted by failures_per_day where it is given.

    Exit codes: 0 done, also where the time was too short for all; 2 usage; 3
    bad input; 6 a back end failed; 7 SOLUTION does not hold for INSTANCE; 130
    interrupted.
    """
    environment = Environment.current()
    seconds, fraction = opt.seconds(time_limit), opt.fraction(gap)
    if instance == "-" and solution == "-":
        raise UsageError("only one of INSTANCE and SOLUTION can be standard input")
    if exact and solver not in ("oracle", "exact"):
        raise UsageError(f"--exact and --solver {solver} exclude each other")
    if output == "-" and form not in (None, opt.Format.JSON):
        raise UsageError(f"-o - writes JSON to standard output, so that --format {form} has no place there")
    check_outputs({"-o": output}, [instance, solution])

    from crop_cli import api  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.cli.interrupts import interruptible  # noqa: PLC0415
    from crop_cli.model.dump import dump_explanation  # noqa: PLC0415
    from crop_cli.model.io import load_solution, write_atomic  # noqa: PLC0415
    from crop_cli.repair import entry  # noqa: PLC0415
    from crop_cli.solvers.contract import Budget  # noqa: PLC0415

    api.check_options(time_limit=seconds, gap=fraction, seed=seed, threads=threads)
    budget = Budget(seconds)
    loaded = api.load(instance)
    if not quiet:
        for warning in loaded.warnings:
            environment.err(f"crop: warning: {warning}")
    with interruptible(budget, environment):
        found = entry.drill(
            loaded,
            load_solution(solution),
            level=level,
            solver="exact" if exact else solver,
            outage_hours=outage_hours,
            gap=fraction,
            seed=seed,
            threads=threads,
            budget=budget,
        )
    if output is not None and output != "-":
        write_atomic(output, dump_explanation(found))
    _show(environment, opt.Format.JSON if output == "-" else form or opt.Format.TABLE, found, top)
    raise typer.Exit(ExitCode.INTERRUPTED if budget.interrupted else ExitCode.OK)


def _show(environment: Environment, form: opt.Format, found: Drill, top: int) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_drill import drill_csv, drill_report  # noqa: PLC0415
    from crop_cli.model.dump import dump_explanation  # noqa: PLC0415

    if form is opt.Format.JSON:
        environment.out_bytes(dump_explanation(found))
    elif form is opt.Format.CSV:
        environment.out(drill_csv(found))
    else:
        show(environment, form, drill_report(found, top))
