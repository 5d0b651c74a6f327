"""The Python API: load, solve, bound, check, explain, repair, drill.

Every function takes an instance as a path, as the `Loaded` that `load` returns, or as an `Instance` made in Python,
which is validated first. Nothing here prints, installs signal handlers or ends the process.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from crop_cli._version import __version__
from crop_cli.errors import InputError, UsageError, ViolationError
from crop_cli.model.evaluate import placed_jobs
from crop_cli.model.instance import Instance
from crop_cli.model.io import Loaded, load_instance, load_solution
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.model.solution import InstanceRef, PlacedJob, Runtime, Solution, SolutionPrices, SolverInfo, UnplacedJob
from crop_cli.model.validate import validate
from crop_cli.reasons.unplaced import unplaced_reasons
from crop_cli.solvers import registry
from crop_cli.solvers.auto import run
from crop_cli.solvers.contract import Budget, Listener, Request, ignore
from crop_cli.solvers.run import Outcome
from crop_cli.verify import Report, verify

if TYPE_CHECKING:
    from crop_cli.explanation.answers import Explanation
    from crop_cli.repair.repair import Repaired
    from crop_cli.repair.results import Drill

DEFAULT_TIME_LIMIT = 60.0
"""Seconds."""

DEFAULT_EXPLAIN_GAP = 1e-3
"""Gap at which `explain` ends a search: differences between placements are told, not proved."""

MOST_THREADS = 1024
"""More is a slip: HiGHS starts as many as it is told to, CP-SAT refuses 10,000."""

Source = str | Path | Loaded | Instance


def load(path: str | Path) -> Loaded:
    """Read and validate an instance file ("-": standard input; gzip is recognised).

    Raises
    ------
    InputError
        With every problem of the file.
    """
    return load_instance(path)


def solve(
    source: Source,
    *,
    solver: str = "auto",
    time_limit: float | None = DEFAULT_TIME_LIMIT,
    gap: float | None = None,
    seed: int = 0,
    threads: int = 1,
    options: dict[str, str] | None = None,
    budget: Budget | None = None,
    listen: Listener | None = None,
) -> Solution:
    """Place the jobs of an instance, and certify the result.

    Parameters
    ----------
    source
        The instance.
    solver
        A name of `crop solvers`.
    time_limit
        Seconds of wall clock for the whole call; None for no limit.
    gap
        Stop when (bound − F)/|F| is at most this; 0 asks for a proof of optimality. None: 0.01 for `auto`, else 0.
    seed, threads
        Passed on to the solver.
    options
        Options of the solver itself, as `--set` passes them.
    budget
        A running budget to use instead of a new one of `time_limit`; another thread may `interrupt` it. Its time counts
        from the start of the run: what passed before this call is load time.
    listen
        Called with every event: phases, incumbents, bounds, notes.

    Returns
    -------
    Solution
        Verified by the evaluator; `status` says what is known about it.

    Raises
    ------
    InputError, UsageError, BackendError
        A bad instance, a bad option, a solver that failed without any answer.
    """
    engine = registry.find(solver)
    gap = engine.default_gap if gap is None else gap
    check_options(time_limit=time_limit, gap=gap, seed=seed, threads=threads)
    budget = budget or Budget(time_limit)
    listen = listen or ignore
    loaded = _loaded(source)
    loaded_at = budget.elapsed
    problem = compile_problem(loaded.instance)
    built_at = budget.elapsed
    request = Request(gap=gap, seed=seed, threads=threads, options=dict(options or {}))
    outcome = run(engine, problem, request, budget, listen)
    placed, unplaced = _jobs(problem, outcome)
    prices = _prices(problem, outcome, budget)
    seconds = outcome.seconds
    return Solution(
        format="crop-solution/1",
        instance=InstanceRef(name=loaded.instance.name, sha256=loaded.sha256 or None),
        crop_version=__version__,
        solver=SolverInfo(
            name=engine.name,
            back_end=outcome.back_end,
            back_end_version=outcome.back_end_version,
            options={"gap": gap, "time_limit": time_limit, "threads": threads, **request.options},
            seed=seed,
        ),
        status=outcome.status,
        stop_reason=outcome.stop_reason,
        objective=outcome.evaluation.objective if outcome.evaluation else None,
        bound=outcome.bound,
        gap=outcome.gap,
        ratio=outcome.ratio,
        guarantee=outcome.guarantee,
        metrics=outcome.evaluation.metrics if outcome.evaluation else None,
        runtime_s=Runtime(
            load=loaded_at,
            build=built_at - loaded_at + seconds.get("build", 0.0),
            solve=seconds.get("solve", 0.0),
            bound=seconds.get("bound", 0.0),
            total=budget.elapsed,
        ),
        placements=placed,
        unplaced=unplaced,
        prices=prices,
    )


def bound(source: Source, *, time_limit: float | None = DEFAULT_TIME_LIMIT) -> float | None:
    """An upper bound of F, as low as column generation gets it (model.md section 8); None if it is infeasible.

    Parameters
    ----------
    source
        The instance.
    time_limit
        Seconds of wall clock; None for no limit.
    """
    from crop_cli.solvers.bounds import upper_bound  # noqa: PLC0415 (only this function needs it)

    check_options(time_limit=time_limit)
    found = upper_bound(compile_problem(_loaded(source).instance), Budget(time_limit), effort=None)
    return None if found.infeasible else found.value


def check(source: Source, solution: str | Path | Solution) -> Report:
    """Recompute everything a solution claims from the definitions alone.

    Parameters
    ----------
    source
        The instance.
    solution
        A solution, or the path of its file.

    Returns
    -------
    Report
        With every claim that does not hold.
    """
    loaded = _loaded(source)
    claimed = solution if isinstance(solution, Solution) else load_solution(solution)
    return verify(loaded.instance, claimed, loaded.sha256 or None)


def explain(
    source: Source,
    solution: str | Path | Solution | None = None,
    *,
    jobs: list[str] | None = None,
    solver: str = "auto",
    time_limit: float | None = DEFAULT_TIME_LIMIT,
    gap: float = DEFAULT_EXPLAIN_GAP,
    seed: int = 0,
    threads: int = 1,
    budget: Budget | None = None,
    listen: Listener | None = None,
) -> Explanation:
    """Why jobs are where they are, or wait, and what would admit those that wait.

    Parameters
    ----------
    source
        The instance.
    solution
        What is explained: a solution or the path of its file; None: the instance is solved first, in half of the time.
    jobs
        Names of jobs to explain in detail: what they displace, and the smallest changes that admit them. None: all jobs
        that wait, without these.
    solver, time_limit, gap, seed, threads, budget, listen
        As for `solve`, for this and for solving again.

    Raises
    ------
    ViolationError
        If the solution does not hold for the instance.
    InputError, UsageError, BackendError
        As for `solve`; also UsageError for an unknown job.
    """
    from crop_cli.explanation.displace import How  # noqa: PLC0415 (only this function needs it)
    from crop_cli.explanation.explain import explain as answer  # noqa: PLC0415
    from crop_cli.explanation.explain import known_jobs  # noqa: PLC0415

    check_options(time_limit=time_limit, gap=gap, seed=seed, threads=threads)
    engine = registry.find(solver)
    engine.require()
    budget = budget or Budget(time_limit)
    loaded = _loaded(source)
    names = known_jobs(jobs or [], loaded.instance)
    if solution is None:
        claimed = solve(
            loaded, solver=solver, gap=gap, seed=seed, threads=threads, budget=budget.part(0.5), listen=listen
        )
    else:
        claimed = solution if isinstance(solution, Solution) else load_solution(solution)
        report = verify(loaded.instance, claimed, loaded.sha256 or None)
        if not report.ok:
            more = f" and {len(report.violations) - 1} more" if len(report.violations) > 1 else ""
            raise ViolationError(
                f"the solution does not hold for this instance: {report.violations[0].message}{more} (see crop check)"
            )
    request = Request(gap=gap, seed=seed, threads=threads)
    return answer(loaded.instance, claimed, names, How(engine, request, budget))


def check_options(
    *, time_limit: float | None = None, gap: float | None = None, seed: int = 0, threads: int = 1
) -> None:
    """Refuse values that no solver could honour.

    Raises
    ------
    UsageError
        Naming the value.
    """
    if time_limit is not None and not (time_limit > 0 and math.isfinite(time_limit)):
        raise UsageError(f"the time limit must be a positive number of seconds, not {time_limit}")
    if gap is not None and not (gap >= 0 and math.isfinite(gap)):
        raise UsageError(f"the gap must be a fraction of at least 0, not {gap}")
    if not (isinstance(seed, int) and 0 <= seed < 2**31):
        raise UsageError(f"the seed must be a whole number from 0 to 2147483647, not {seed}")
    if not (isinstance(threads, int) and 1 <= threads <= MOST_THREADS):
        raise UsageError(f"the threads must be a whole number from 1 to {MOST_THREADS}, not {threads}")


def _loaded(source: Source) -> Loaded:
    if isinstance(source, Loaded):
        return source
    if not isinstance(source, Instance):
        return load_instance(source)
    defects, warnings = validate(source)
    if defects:
        raise InputError(source.name or "instance", defects)
    return Loaded(instance=source, sha256="", warnings=warnings, file="")


def _jobs(problem: Problem, outcome: Outcome) -> tuple[list[PlacedJob], list[UnplacedJob]]:
    """Rows of the solution, in the order of the instance."""
    placed = placed_jobs(outcome.evaluation) if outcome.evaluation else []
    proved = outcome.status in ("optimal", "infeasible")
    reasons = unplaced_reasons(problem, outcome.placement, proved=proved)
    return placed, [UnplacedJob(job=problem.job_names[j], reason=reason) for j, reason in reasons.items()]


def _prices(problem: Problem, outcome: Outcome, budget: Budget) -> SolutionPrices | None:
    """The prices of the bound, where it has some; an interrupted run leaves them out."""
    from crop_cli.explanation.prices import price_report  # noqa: PLC0415 (only runs that have prices need it)

    if outcome.prices is None or outcome.bound is None or budget.interrupted:
        return None
    objective = None if outcome.evaluation is None else outcome.evaluation.objective
    return price_report(problem, outcome.prices, outcome.placement, objective, budget)


def repair(
    source: Source,
    solution: str | Path | Solution,
    down: list[str],
    *,
    solver: str = "auto",
    migration_minutes: float = 10.0,
    time_limit: float | None = DEFAULT_TIME_LIMIT,
) -> Repaired:
    """The placement that repairs a failure of named nodes and switches and moves least (docs/robustness.md)."""
    from crop_cli.repair import entry  # noqa: PLC0415 (only this function and the next need it)

    check_options(time_limit=time_limit)
    claimed = solution if isinstance(solution, Solution) else load_solution(solution)
    budget = Budget(time_limit)
    return entry.repair(
        _loaded(source), claimed, down, solver=solver, migration_minutes=migration_minutes, budget=budget
    )


def drill(
    source: Source,
    solution: str | Path | Solution,
    *,
    level: str | None = None,
    solver: str = "oracle",
    time_limit: float | None = None,
) -> Drill:
    """What every single failure of a node or switch costs, at once and after its repair (docs/robustness.md)."""
    from crop_cli.repair import entry  # noqa: PLC0415

    check_options(time_limit=time_limit)
    claimed = solution if isinstance(solution, Solution) else load_solution(solution)
    return entry.drill(_loaded(source), claimed, level=level, solver=solver, budget=Budget(time_limit))
