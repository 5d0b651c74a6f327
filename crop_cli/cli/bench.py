"""`crop bench`: instance sets under many solvers, gates for CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.errors import UsageError

if TYPE_CHECKING:
    from crop_cli.bench.runner import Plan, Result


def bench(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Sets by name (small, real, ...), folders, files or globs.")
    ],
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "--solver",
            metavar="NAME",
            help="One of `crop solvers`; may be repeated.  [default: greedy]",
            autocompletion=opt.solver_names,
        ),
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", metavar="LIST", help="Seeds: 0, 0..9 or 1,5,7.")] = "0",
    time_limit: opt.TimeLimit = "60s",
    gap: opt.SolverGap = None,
    threads: opt.Threads = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SOLVER.KEY=VALUE", help="Option of one solver; may be repeated."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, help="Runs at a time.  [default: cores over threads]")
    ] = None,
    runs: Annotated[str, typer.Option("--runs", metavar="FILE", help="Records, one per finished run.")] = "runs.jsonl",
    resume: Annotated[bool, typer.Option("--resume", help="Go on: runs that are in --runs already count.")] = False,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Run on this dask scheduler, such as tcp://host:8786."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", metavar="GATE", help="Such as greedy.ratio>=0.95; may be repeated."),
    ] = None,
    max_gap: Annotated[
        str | None, typer.Option("--max-gap", metavar="GAP", help="Largest gap of any run of crop's own solvers.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE", help="Earlier summary that may not be undercut.")
    ] = None,
    max_slowdown: Annotated[
        float | None,
        typer.Option(
            "--max-slowdown",
            metavar="X",
            help="With --baseline: most that a solver's time, over the first solver's, may grow.",
        ),
    ] = None,
    update_best_known: Annotated[
        bool, typer.Option("--update-best-known", help="Enter better values and bounds into best-known.json.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the summary (JSON) there.")
    ] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page with plots there.")] = None,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML there.")] = None,
    github_summary: Annotated[
        bool, typer.Option("--github-summary", help="Append the tables to the summary of the GitHub job.")
    ] = False,
    form: opt.FormatOption = None,
    quiet: opt.Quiet = False,
) -> None:
    """Run solvers over sets of instances and compare them with the optimum.

    Every answer is verified; the reference of an instance is the proven
    optimum, else the best value and bound that a run or best-known.json
    gives. Records are kept in runs.jsonl as runs finish.

    Exit codes: 0 done; 2 usage; 3 bad input; 8 a gate failed; 130
    interrupted (what has finished is summarised, --resume goes on).
    """
    environment = Environment.current()

    from crop_cli.bench.gates import check_solvers, failures, read_gate  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.bench.regression import regressions  # noqa: PLC0415
    from crop_cli.bench.runner import run_bench  # noqa: PLC0415
    from crop_cli.bench.summary import load_summary  # noqa: PLC0415
    from crop_cli.cli import bench_outputs, bench_plan  # noqa: PLC0415
    from crop_cli.cli.bench_progress import BenchProgress  # noqa: PLC0415
    from crop_cli.cli.interrupts import signals_interrupt  # noqa: PLC0415

    gates = [read_gate(text) for text in require or []]
    limit = None if max_gap is None else opt.fraction(max_gap, "--max-gap")
    if max_slowdown is not None and (baseline is None or not max_slowdown > 0):
        raise UsageError("--max-slowdown is a positive factor and needs --baseline")
    earlier = None if baseline is None else load_summary(baseline)
    if github_summary:
        bench_outputs.github_file()
    bench_plan.check_targets(runs, {"-o": output, "--html": html, "--junit": junit})
    chosen = list(dict.fromkeys(solver or ["greedy"]))
    check_solvers(gates, chosen)
    plan = bench_plan.plan_of(
        paths,
        chosen,
        seeds=seeds,
        time_limit=time_limit,
        gap=gap,
        threads=threads,
        settings=settings or [],
        parallel=jobs,
        runs=runs,
        resume=resume,
        cluster=cluster,
    )
    bench_plan.prepare_journal(environment, plan, quiet=quiet)
    progress = BenchProgress(environment, quiet)
    with signals_interrupt():
        result = run_bench(plan, progress.begin, progress.done, progress.watch)
    progress.clear()
    if result.interrupted:
        environment.err(f"crop: interrupted: finished runs are in {runs} ({len(result.runs)}); --resume goes on")
    # Of a part of the runs no gate can be judged.
    failed = [] if result.interrupted else failures(result.summary, gates, limit)
    if earlier is not None and not result.interrupted:
        failed += regressions(earlier, result.summary, max_slowdown=max_slowdown)
    if update_best_known:
        _update(environment, plan, result)
    asked = [gate.text for gate in gates]
    asked += [] if limit is None else [f"--max-gap {limit:g}"]
    asked += [] if earlier is None else ["--baseline"]
    bench_outputs.write(plan, result, failed, asked, output=output, html=html, junit=junit, github=github_summary)
    if "-" not in (output, html, junit):
        bench_outputs.show(environment, form, result, failed)
    for failure in failed:
        environment.err(f"crop: gate failed: {failure}")
    if result.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if failed:
        raise typer.Exit(ExitCode.GATE)


def _update(environment: Environment, plan: Plan, result: Result) -> None:
    """Enter what is better into the tables of best-known values, and say so."""
    from crop_cli.bench.best_known import update  # noqa: PLC0415

    for member in plan.suite:
        said = update(member, [run for run in result.runs if run.instance == member.name])
        if said is not None:
            environment.err(f"crop: best known: {said}")
