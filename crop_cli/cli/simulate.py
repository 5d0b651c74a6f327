"""`crop simulate`: a trace of jobs on a cluster under placement policies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from crop_cli.cli import options as opt
from crop_cli.cli import simulate_options as so
from crop_cli.cli.environment import Environment
from crop_cli.cli.exit_codes import ExitCode
from crop_cli.errors import CropError, UsageError
from crop_cli.names import plural

if TYPE_CHECKING:
    from crop_cli.model.instance import Instance
    from crop_cli.simulate.records import Simulation
    from crop_cli.simulate.settings import Settings

MESSAGE = b"crop: interrupted: ending with the figures up to now (again: end at once)\n"


def simulate(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Trace file of `crop import trace`; - is stdin.")],
    cluster: Annotated[str, typer.Option("--cluster", metavar="INSTANCE", help="Instance file with the cluster.")],
    solver: so.Solvers = None,
    settings: so.Set = None,
    order: so.Order = so.OrderName.FIFO,
    backfill: so.Backfill = True,
    window: so.Window = 32,
    round_time: so.Round = "0",
    migrations: so.Migrations = 0,
    migration_minutes: so.MigrationMinutes = 5.0,
    reaction: so.Reaction = so.ReactionName.IGNORANT,
    quarantine: so.Quarantine = None,
    failures: so.Failures = so.FailureName.NONE,
    faults: so.Faults = None,
    fault_nodes: so.FaultNodes = None,
    repair_median: so.RepairMedian = "15h",
    repair_sigma: so.RepairSigma = 2.5,
    switch_failures: so.SwitchFailures = 0.0,
    slow: so.Slow = 0.0,
    slow_factor: so.SlowFactor = 1.5,
    slow_hours: so.SlowHours = 24.0,
    sharing: so.Sharing = so.SharingName.LOAD,
    until: so.Until = None,
    seed: opt.Seed = 0,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the results (JSON) there; - is stdout.")
    ] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page with plots there.")] = None,
    jobs_csv: Annotated[
        str | None, typer.Option("--jobs-csv", metavar="FILE", help="Write a row per job and policy there.")
    ] = None,
    form: opt.FormatOption = None,
    quiet: opt.Quiet = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Jobs that did not end; progress also where nothing is redrawn.")
    ] = False,
) -> None:
    """Run a trace of jobs on a cluster, event by event, with failures.

    Each --solver is a policy: all see the same trace, and devices fail and
    recover at the same times. Jobs of the instance that run and may not
    move keep their GPUs, its other jobs are left aside.

    Exit codes: 0 done; 2 usage; 3 bad input; 6 a solver failed; 130
    interrupted (figures up to then are written all the same).
    """
    environment = Environment.current()
    form = _form(form, output, html, jobs_csv)
    plans = so.settings_of(
        so.Asked(
            solvers=list(dict.fromkeys(solver or ["greedy"])),
            settings=settings or [],
            order=order,
            backfill=backfill,
            window=window,
            round=round_time,
            migrations=migrations,
            migration_minutes=migration_minutes,
            reaction=reaction,
            quarantine=quarantine,
            failures=failures,
            repair_median=repair_median,
            repair_sigma=repair_sigma,
            switch_failures=switch_failures,
            slow=slow,
            slow_factor=slow_factor,
            slow_hours=slow_hours,
            sharing=sharing,
            until=until,
            seed=seed,
        )
    )
    if fault_nodes is not None and (faults is None or fault_nodes < 1):
        raise UsageError("--fault-nodes is a number of nodes, at least 1, and needs --faults")
    if [trace, cluster, faults].count("-") > 1:
        raise UsageError("only one file can be standard input")

    from crop_cli import api  # noqa: PLC0415 (--help must not load numpy)
    from crop_cli.cli.interrupts import interruptible  # noqa: PLC0415
    from crop_cli.cli.simulate_progress import SimulationProgress  # noqa: PLC0415
    from crop_cli.model.trace_io import load_trace  # noqa: PLC0415
    from crop_cli.simulate.faults import load_faults, replay  # noqa: PLC0415
    from crop_cli.simulate.run import simulate as run  # noqa: PLC0415
    from crop_cli.solvers.contract import Budget  # noqa: PLC0415
    from crop_cli.solvers.registry import find  # noqa: PLC0415

    _check_targets(
        {"TRACE": trace, "--cluster": cluster, "--faults": faults},
        {"-o": output, "--html": html, "--jobs-csv": jobs_csv},
    )
    for plan in plans:
        find(plan.policy.solver).require()
    loaded_trace, loaded = load_trace(trace), api.load(cluster)
    nodes = [node.name for node in loaded.instance.cluster.nodes]
    replayed = None if faults is None else replay(load_faults(faults), nodes, fault_nodes, seed)
    if not quiet:
        for warning in [*loaded.warnings, *_notes(loaded.instance, plans[0])]:
            environment.err(f"crop: warning: {warning}")
    progress = SimulationProgress(environment, quiet, verbose, len(plans))
    done: list[Simulation] = []
    budget, failure = Budget(), None
    with interruptible(budget, environment, MESSAGE):
        for plan in plans:
            progress.begin(plan.policy.solver)
            try:
                simulation = run(
                    loaded_trace,
                    loaded.instance,
                    plan,
                    faults=replayed.faults if replayed else (),
                    watch=progress.watch,
                    budget=budget,
                )
            except CropError as error:
                # What has been simulated is shown and written all the same.
                failure = error
                progress.clear()
                break
            done.append(simulation)
            progress.done(simulation)
            if budget.interrupted:
                break
    if done:
        said = replayed.said if replayed else None
        if "-" not in (output, html, jobs_csv):
            _show(environment, form, done, said, full=verbose)
        _write(done, said, output=output, html=html, csv=jobs_csv)
    if failure is not None:
        raise failure
    if budget.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _form(form: opt.Format | None, *outputs: str | None) -> opt.Format:
    """What standard output gets; it can be one thing only."""
    taken = outputs.count("-")
    if taken > 1 or (taken and form is not None):
        raise UsageError("standard output is for one thing: give - once, and no --format then")
    return form or opt.Format.TABLE


def _check_targets(inputs: dict[str, str | None], outputs: dict[str, str | None]) -> None:
    """Refuse files that could not be written, that are an input, or that two options name."""
    from crop_cli.model.files import require_writable  # noqa: PLC0415

    taken = {os.path.realpath(path): option for option, path in inputs.items() if path not in (None, "-")}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        require_writable(path)
        real = os.path.realpath(path)
        if real in taken:
            raise UsageError(f"{option} {path}: {taken[real]} names the same file")
        taken[real] = option


def _notes(instance: Instance, settings: Settings) -> list[str]:
    """What may surprise about a cluster."""
    notes = []
    aside = sum(job.placement is None or job.movable for job in instance.jobs)
    if aside:
        notes.append(f"{plural(aside, 'job')} of the instance, waiting or movable, left aside: only the cluster counts")
    if settings.weather.rates and not any(node.failures_per_day for node in instance.cluster.nodes):
        notes.append("--failures rates: no node has failures_per_day, so none fails")
    if settings.weather.switch_failures_per_day and len(instance.cluster.levels) < 2:
        notes.append("--switch-failures: the cluster has no switch between its root and its nodes, so none fails")
    return notes


def _write(done: list[Simulation], said: str | None, *, output: str | None, html: str | None, csv: str | None) -> None:
    """Write every file that was asked for."""
    from crop_cli.cli.render_simulation import jobs_csv  # noqa: PLC0415
    from crop_cli.model.files import write_atomic  # noqa: PLC0415

    if output is not None:
        write_atomic(output, _document(done))
    if html is not None:
        from crop_cli.simulate.page.render import render  # noqa: PLC0415 (jinja2, only where a page is asked for)

        write_atomic(html, render(done, said).encode())
    if csv is not None:
        write_atomic(csv, jobs_csv(done).encode() + b"\n")


def _document(done: list[Simulation]) -> bytes:
    """One simulation as an object, several as a list of them."""
    import msgspec  # noqa: PLC0415

    return msgspec.json.encode(done[0] if len(done) == 1 else done) + b"\n"


def _show(environment: Environment, form: opt.Format, done: list[Simulation], said: str | None, *, full: bool) -> None:
    from crop_cli.cli.render import show  # noqa: PLC0415
    from crop_cli.cli.render_simulation import figures_csv, simulation_report  # noqa: PLC0415

    if form is opt.Format.JSON:
        environment.out_bytes(_document(done))
    elif form is opt.Format.CSV:
        environment.out(figures_csv(done))
    else:
        show(environment, form, simulation_report(done, said, full=full))
