"""`crop repair`: nodes and switches fail; the placement that repairs the loss and moves least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.cli.outputs import check_outputs
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.repair.repair import Repaired

Down = Annotated[
    list[str],
    typer.Option("--down", metavar="NAMES", help="Nodes and switches that fail, by commas; may be repeated."),
]
RepairSolver = Annotated[
    str,
    typer.Option("--solver", metavar="NAME", help="oracle (one job after the other), or any of `crop solvers`."),
]
MigrationMinutes = Annotated[
    float, typer.Option("--migration-minutes", metavar="MIN", help="Cost of a move for jobs that state none.")
]
InstanceOutput = Annotated[
    str | None,
    typer.Option("--instance-output", metavar="FILE", help="Write the degraded instance, jobs running, there."),
]


def repair(
    instance: opt.InstanceFile,
    solution: opt.SolutionFile,
    down: Down,
    solver: RepairSolver = "auto",
    time_limit: opt.TimeLimit = "60s",
    gap: opt.Gap = "0.1%",
    seed: opt.Seed = 0,
    threads: opt.Threads = 1,
    migration_minutes: MigrationMinutes = 10.0,
    output: opt.Output = None,
    instance_output: InstanceOutput = None,
    form: opt.FormatOption = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> None:
    """Repair a placement after a failure of nodes or switches.

    The jobs of SOLUTION run where it has them. Those with a worker on a node
    that is down are placed anew while nobody else moves. If one of them has
    no place then, others are moved for it where F gains by that, a move paid.
    What waited before starts in what is left. A bound says how much better
    any placement could be. -o and --instance-output write the result and the
    instance that it belongs to: `crop check` verifies the pair.

    Exit codes: 0 done, also if jobs wait; 2 usage, such as an unknown name;
    3 bad input; 6 a back end failed; 7 SOLUTION does not hold for INSTANCE;
    130 interrupted.
    """
    environment = Environment.current()
    seconds, fraction = opt.seconds(time_limit), opt.fraction(gap)
    if instance == "-" and solution == "-":
        raise UsageError("only one of INSTANCE and SOLUTION can be standard input")
    if output is not None and instance_output is None:
        raise UsageError("-o needs --instance-output: the repaired solution belongs to the degraded instance")
    if form is not None and "-" in (output, instance_output):
        raise UsageError("standard output can be one thing only: leave --format or the output - out")
    check_outputs({"-o": output, "--instance-output": instance_output}, [instance, solution])

    from crop_cli import api  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.cli.interrupts import interruptible  # noqa: PLC0415
    from crop_cli.cli.progress import Progress  # noqa: PLC0415
    from crop_cli.model.io import dump_instance, dump_solution, load_solution, write_atomic  # noqa: PLC0415
    from crop_cli.repair import entry  # noqa: PLC0415
    from crop_cli.solvers.contract import Budget  # noqa: PLC0415

    api.check_options(time_limit=seconds, gap=fraction, seed=seed, threads=threads)
    budget = Budget(seconds)
    loaded = api.load(instance)
    if not quiet:
        for warning in loaded.warnings:
            environment.err(f"crop: warning: {warning}")
    progress = Progress.of(environment, quiet=quiet, verbose=verbose)
    with interruptible(budget, environment):
        repaired = entry.repair(
            loaded,
            load_solution(solution),
            down,
            solver=solver,
            migration_minutes=migration_minutes,
            gap=fraction,
            seed=seed,
            threads=threads,
            budget=budget,
            listen=progress,
        )
        progress.clear()
    if instance_output is not None:
        write_atomic(instance_output, dump_instance(repaired.instance))
    if output is not None:
        write_atomic(output, dump_solution(repaired.solution))
    if "-" not in (output, instance_output):
        _show(environment, form or opt.Format.TABLE, repaired, full=verbose)
    raise typer.Exit(ExitCode.INTERRUPTED if budget.interrupted else ExitCode.OK)


def _show(environment: Environment, form: opt.Format, repaired: Repaired, *, full: bool) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_repair import repair_csv, repair_report  # noqa: PLC0415
    from crop_cli.model.dump import dump_explanation  # noqa: PLC0415

    if form is opt.Format.JSON:
        environment.out_bytes(dump_explanation(repaired.report))
    elif form is opt.Format.CSV:
        environment.out(repair_csv(repaired.report))
    else:
        show(environment, form, repair_report(repaired.report, full=full))
