"""`crop solve`: place the jobs of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import of_solution
from crop_cli.cli.outputs import check_outputs
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.model.instance import Instance
    from crop_cli.model.solution import Solution


def solve(
    instance: opt.InstanceFile,
    solver: opt.SolverName = "auto",
    time_limit: opt.TimeLimit = "60s",
    gap: opt.SolverGap = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = 1,
    output: opt.Output = None,
    form: opt.FormatOption = None,
    json_stream: opt.JsonStream = False,
    settings: opt.Settings = None,
    oracle: opt.OracleOption = None,
    level: opt.LevelOption = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> None:
    """Place the jobs of an instance.

    Prints a summary with a bound on how much better any placement could
    be, the placement, and why each other job waits. The solution file (-o)
    is what `crop check` reads.

    Exit codes: 0 a verified solution was written; 2 usage; 3 bad input;
    4 proven infeasible; 5 no solution within the limits; 6 a back end
    failed; 130 interrupted (the best solution so far is written all the
    same).
    """
    environment = Environment.current()
    seconds, fraction = opt.seconds(time_limit), None if gap is None else opt.fraction(gap)
    chosen = opt.solver_options(settings, oracle, level)
    if instance == "-" and form is None and output is None and not json_stream and environment.piped:
        # In the middle of a pipeline the next command wants the solution, not the summary.
        form = opt.Format.JSON
        if not quiet:
            environment.err("crop: note: the solution goes into the pipe as JSON (--format table for the summary)")
    form = _form(form, output, json_stream=json_stream)

    from crop_cli import api  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.cli.interrupts import interruptible  # noqa: PLC0415
    from crop_cli.cli.progress import JsonStream, Progress  # noqa: PLC0415
    from crop_cli.model.io import dump_solution, write_atomic  # noqa: PLC0415
    from crop_cli.solvers.contract import Budget, Event  # noqa: PLC0415
    from crop_cli.solvers.registry import find  # noqa: PLC0415

    check_outputs({"-o": output}, [instance])
    api.check_options(time_limit=seconds, gap=fraction, seed=seed, threads=threads)
    find(solver)
    budget = Budget(seconds)
    loaded = api.load(instance)
    if not quiet:
        for warning in loaded.warnings:
            environment.err(f"crop: warning: {warning}")
    progress = Progress.of(environment, quiet=quiet, verbose=verbose)
    stream = JsonStream(environment) if json_stream else None

    def listen(event: Event) -> None:
        if stream is not None:
            stream(event)
        progress(event)

    if stream is not None:
        stream.write("start", instance=loaded.instance.name, sha256=loaded.sha256, solver=solver, seed=seed)
    with interruptible(budget, environment):
        solution = api.solve(
            loaded,
            solver=solver,
            time_limit=seconds,
            gap=fraction,
            seed=seed,
            threads=threads,
            options=chosen,
            budget=budget,
            listen=listen,
        )
        progress.clear()
        document = dump_solution(solution)
        failure = None
        if output is not None and output != "-":
            try:
                write_atomic(output, document)
            except UsageError as error:
                # What was found is shown all the same.
                failure = error
    if stream is not None:
        stream.result(solution)
    elif form is opt.Format.JSON:
        environment.out_bytes(document)
    else:
        _show(environment, form, loaded.instance, solution, full=verbose)
    if failure is not None:
        raise failure
    raise typer.Exit(of_solution(solution, interrupted=budget.interrupted))


def _form(form: opt.Format | None, output: str | None, *, json_stream: bool) -> opt.Format:
    """What standard output gets; it can be one thing only."""
    if json_stream and (form is not None or output == "-"):
        raise UsageError("--json-stream is the form of standard output: leave --format and -o - out")
    if output == "-":
        if form not in (None, opt.Format.JSON):
            raise UsageError(f"-o - writes the solution to standard output, so that --format {form} has no place there")
        return opt.Format.JSON
    return form or opt.Format.TABLE


def _show(environment: Environment, form: opt.Format, instance: Instance, solution: Solution, *, full: bool) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_solution import solution_csv, solution_report  # noqa: PLC0415

    if form is opt.Format.CSV:
        environment.out(solution_csv(solution))
    else:
        show(environment, form, solution_report(instance, solution, full=full))
