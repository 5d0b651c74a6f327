"""A whole bench: what is to run, what ran already, running it, and what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from crop_cli._version import __version__
from crop_cli.bench.best_known import Known, known
from crop_cli.bench.journal import Journal, read_journal
from crop_cli.bench.local import Watch, run_local
from crop_cli.bench.records import Run, Settings, Summary
from crop_cli.bench.suite import Member
from crop_cli.bench.summary import summarise
from crop_cli.bench.task import Task, key_of_run, tasks_of
from crop_cli.solvers import registry


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bench is asked for.

    Attributes
    ----------
    suite, solvers, seeds, settings
        Every solver runs on every instance with every seed.
    parallel
        Runs at a time on this machine.
    journal
        File of records; None: they are not kept.
    resume
        Whether records that are in it already count.
    cluster
        Address of a dask scheduler that runs them instead of this machine.
    """

    suite: list[Member]
    solvers: list[str]
    seeds: list[int]
    settings: Settings
    parallel: int = 1
    journal: Path | None = None
    resume: bool = False
    cluster: str | None = None


@dataclass(slots=True)
class Result:
    """Summary and records of a bench, and whether it was interrupted."""

    summary: Summary
    runs: list[Run]
    interrupted: bool


def run_bench(plan: Plan, begin: Callable[[int, int], None], done: Callable[[Run], None], watch: Watch) -> Result:
    """Run what is not known yet, and summarise all.

    Ctrl-C (KeyboardInterrupt) ends it: what runs is dropped, what has ended counts.

    Parameters
    ----------
    begin, done, watch
        Told the numbers of runs in all and known before, every record, and what runs now.
    """
    started, since = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    for solver in plan.solvers:
        registry.find(solver).require()
    facts = {member.name: known(member) for member in plan.suite}
    tasks = tasks_of(plan.suite, plan.solvers, plan.seeds, plan.settings, _bounded(plan, facts))
    wanted = {task.key: task for task in tasks}
    runs = {key: run for key, run in _kept(plan).items() if key in wanted and _answers(wanted[key], run)}
    begin(len(wanted), len(runs))
    journal = Journal(plan.journal) if plan.journal else None
    interrupted = False
    try:
        with closing(_execute(plan, [task for key, task in wanted.items() if key not in runs], watch)) as records:
            for run in records:
                # Before the record is on the disk, which takes its time: an interrupt may come meanwhile.
                runs[key_of_run(run)] = run
                if journal:
                    journal.add(run)
                done(run)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if journal:
            journal.close()
    summary = summarise(
        plan.suite,
        facts,
        list(runs.values()),
        solvers=plan.solvers,
        settings=plan.settings,
        parallel=plan.parallel,
        started=started,
        seconds=time.monotonic() - since,
        complete=len(runs) == len(wanted),
    )
    return Result(summary, list(runs.values()), interrupted)


def _bounded(plan: Plan, facts: dict[str, Known | None]) -> set[str]:
    """Instances for which a bound is known or will come from a run of crop's own solvers."""
    if any(registry.find(solver).role != "baseline" for solver in plan.solvers):
        return {member.name for member in plan.suite}
    return {name for name, fact in facts.items() if fact is not None and (fact.bound is not None or fact.infeasible)}


def _kept(plan: Plan) -> dict[tuple[str, str, str, int, str], Run]:
    """Records from before; the last of equals."""
    if not (plan.resume and plan.journal and plan.journal.exists()):
        return {}
    return {key_of_run(run): run for run in read_journal(plan.journal)}


def _answers(task: Task, run: Run) -> bool:
    """Whether a record is what this version of crop would give: what the task asks for, bound and all.

    A baseline that ran beside others has no bound: they gave it.
    """
    return run.crop_version == __version__ and not (
        task.bound and run.role == "baseline" and run.verified and run.bound is None
    )


def _execute(plan: Plan, tasks: list[Task], watch: Watch) -> Generator[Run]:
    if plan.cluster is None:
        return run_local(tasks, plan.parallel, watch)
    from crop_cli.bench.cluster import run_on_cluster  # noqa: PLC0415 (dask is an extra)

    return run_on_cluster(tasks, plan.cluster)
