"""From the arguments of `crop bench` to its plan, with everything that can be refused refused before any work."""

from __future__ import annotations

import os
import re
from pathlib import Path

from crop_cli import api
from crop_cli.bench.journal import require_file, set_aside
from crop_cli.bench.records import Settings
from crop_cli.bench.runner import Plan
from crop_cli.bench.suite import load_suite
from crop_cli.cli import options as opt
from crop_cli.cli.environment import Environment
from crop_cli.cli.outputs import check_outputs
from crop_cli.errors import UsageError
from crop_cli.model.files import STANDARD_STREAM
from crop_cli.solvers import registry
from crop_cli.solvers.queueing.baseline import Baseline

MOST_SEEDS = 10_000
"""More is a slip."""

_SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?")


def plan_of(
    paths: list[str],
    solvers: list[str],
    *,
    seeds: str,
    time_limit: str,
    gap: str | None,
    threads: int,
    settings: list[str],
    parallel: int | None,
    runs: str,
    resume: bool,
    cluster: str | None,
) -> Plan:
    """What is asked for.

    Raises
    ------
    UsageError, InputError
        For what cannot be run.
    """
    limit, fraction = opt.seconds(time_limit), None if gap is None else opt.fraction(gap)
    chosen = seeds_of(seeds)
    api.check_options(time_limit=limit, gap=fraction, seed=max(chosen), threads=threads)
    options = opt.pairs(settings)
    for key in options:
        if key.partition(".")[0] not in solvers or not key.partition(".")[2]:
            raise UsageError(
                f"--set {key}=: expected SOLVER.KEY=VALUE of a solver of this bench ({', '.join(solvers)})"
            )
    for solver in solvers:
        registry.find(solver).require()
        _check_baseline(solver, {key.partition(".")[2]: value for key, value in options.items() if _is_of(solver, key)})
    cores = len(os.sched_getaffinity(0))
    return Plan(
        suite=load_suite(paths),
        solvers=solvers,
        seeds=chosen,
        settings=Settings(time_limit=limit, gap=fraction, threads=threads, options=dict(sorted(options.items()))),
        parallel=parallel or max(1, cores // threads),
        journal=Path(runs),
        resume=resume,
        cluster=cluster,
    )


def _is_of(solver: str, key: str) -> bool:
    return key.partition(".")[0] == solver


def _check_baseline(solver: str, options: dict[str, str]) -> None:
    """Refuse options that a baseline does not know: its runs would fail one by one, and no gate looks at baselines."""
    engine = registry.find(solver)
    rule = engine.load() if options and engine.role == "baseline" else None
    if isinstance(rule, Baseline):
        try:
            rule.order_of(options)
        except UsageError as error:
            raise UsageError(f"--set {solver}: {error}") from None


def seeds_of(text: str) -> list[int]:
    """Read `0`, `0..9`, `1,5,7` or a mixture; each seed once.

    Raises
    ------
    UsageError
        If it is none.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        found = _SEEDS.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not 0 <= last - first < MOST_SEEDS:
            raise UsageError(f"--seeds: {text!r} is not a list of seeds such as 0, 0..9 or 1,5,7")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return list(seeds)


def check_targets(runs: str, outputs: dict[str, str | None]) -> None:
    """Refuse files that could not be written, or that two options name.

    Raises
    ------
    UsageError
        Naming the file.
    """
    if runs == STANDARD_STREAM:
        raise UsageError("--runs - : records go to a file, from which --resume goes on")
    require_file(Path(runs))
    check_outputs({"--runs": runs, **outputs}, [])


def prepare_journal(environment: Environment, plan: Plan, *, quiet: bool) -> None:
    """Records of an earlier bench are kept under another name, unless it goes on."""
    if plan.journal is None or plan.resume:
        return
    aside = set_aside(plan.journal)
    if aside is not None and not quiet:
        environment.err(f"crop: note: {plan.journal} of an earlier bench is now {aside} (--resume would have gone on)")
