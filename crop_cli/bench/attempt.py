"""One run from a task to its record: solve, verify, measure. What goes wrong is part of the record."""

from __future__ import annotations

import resource
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from crop_cli import api
from crop_cli._version import __version__
from crop_cli.bench.records import Point, Run, Settings, Size
from crop_cli.bench.task import Task
from crop_cli.errors import CropError
from crop_cli.model.certificate import certify, proof_scale
from crop_cli.model.instance import Instance
from crop_cli.model.io import Loaded, read_instance
from crop_cli.model.problem import compile_problem, named
from crop_cli.model.sharing import Shared, evaluate_shared
from crop_cli.solvers import registry
from crop_cli.solvers.contract import Answer, Budget, Event, Request
from crop_cli.verify import verify

MOST_POINTS = 300
"""Points of a trace that are kept; the first, the last, and those between as evenly as they came."""


def attempt(task: Task) -> Run:
    """Run a task in this process.

    Whatever a solver raises ends up in the record: a bench goes on.
    """
    budget = Budget(task.settings.time_limit)
    loaded = read_instance(task.document, task.instance)
    engine = registry.find(task.solver)
    blank = blank_run(task, loaded.instance, engine.role)
    trace = Trace()
    try:
        work = _baseline if engine.role == "baseline" else _certified
        run = work(task, loaded, engine, budget, trace, blank)
    except CropError as error:
        run = replace(blank, verdict="failed", stop_reason="error", error=str(error))
    except Exception as error:  # a plug-in may raise anything
        run = replace(blank, verdict="failed", stop_reason="error", error=f"{type(error).__name__}: {error}")
    seconds = {**run.seconds, "total": budget.elapsed}
    return replace(run, seconds=seconds, peak_mib=peak_mib(), trace=trace.thinned())


def blank_run(task: Task, instance: Instance, role: str) -> Run:
    """The record of a run that has said nothing yet."""
    return Run(
        format="crop-run/1",
        crop_version=__version__,
        instance=task.instance,
        sha256=task.sha256,
        size=size_of(instance),
        solver=task.solver,
        role=role,
        seed=task.seed,
        settings=task.settings,
        verdict="failed",
        stop_reason="error",
    )


def size_of(instance: Instance) -> Size:
    """Nodes, their GPUs whatever their state, and jobs, running ones included."""
    nodes = instance.cluster.nodes
    return Size(nodes=len(nodes), gpus=sum(node.gpus for node in nodes), jobs=len(instance.jobs))


def _certified(task: Task, loaded: Loaded, engine: registry.Engine, budget: Budget, trace: Trace, blank: Run) -> Run:
    """One of crop's own engines: its solution is held against the instance as `crop check` does."""
    settings = task.settings
    solution = api.solve(
        loaded,
        solver=engine.name,
        time_limit=settings.time_limit,
        gap=settings.gap,
        seed=task.seed,
        threads=settings.threads,
        options=_options(settings, engine.name),
        budget=budget,
        listen=trace,
    )
    report = verify(loaded.instance, solution, loaded.sha256)
    runtime = solution.runtime_s
    run = replace(
        blank,
        back_end=solution.solver.back_end,
        back_end_version=solution.solver.back_end_version,
        verdict=solution.status,
        stop_reason=solution.stop_reason,
        verified=report.ok and solution.objective is not None,
        objective=solution.objective,
        bound=solution.bound,
        gap=solution.gap,
        guarantee=solution.guarantee,
        metrics=solution.metrics,
        seconds={"load": runtime.load, "build": runtime.build, "solve": runtime.solve, "bound": runtime.bound},
        placement={placed.job: dict(placed.nodes) for placed in solution.placements},
    )
    if report.ok:
        return run
    found = "; ".join(violation.message for violation in report.violations[:3])
    return replace(run, verdict="failed", error=f"the check refused the solution: {found}")


def _baseline(task: Task, loaded: Loaded, engine: registry.Engine, budget: Budget, trace: Trace, blank: Run) -> Run:
    """Somebody else's rule: feasible as it is, or scored under fair sharing of the uplinks that it overbooks."""
    settings = task.settings
    loaded_at = budget.elapsed
    problem = compile_problem(loaded.instance)
    built_at = budget.elapsed
    request = Request(seed=task.seed, threads=settings.threads, options=_options(settings, engine.name))
    answer: Answer = engine.load()(problem, request, budget, trace)
    solved_at = budget.elapsed
    seconds = {"load": loaded_at, "build": built_at - loaded_at, "solve": solved_at - built_at, "bound": 0.0}
    bound = None
    if task.bound:
        left = None if settings.time_limit is None else max(1.0, settings.time_limit - budget.elapsed)
        bound = api.bound(loaded, time_limit=left)
        seconds["bound"] = budget.elapsed - solved_at
    if answer.placement is None:
        return replace(
            blank, verdict="no_solution", stop_reason=answer.stop_reason, error=None, bound=bound, seconds=seconds
        )
    placement = named(problem, answer.placement)
    shared = evaluate_shared(loaded.instance, placement)
    return replace(
        blank,
        **_judged(loaded.instance, shared, bound),
        stop_reason=answer.stop_reason,
        back_end=answer.back_end,
        back_end_version=answer.back_end_version,
        bound=bound,
        seconds=seconds,
        placement=placement,
    )


def _judged(instance: Instance, shared: Shared, bound: float | None) -> dict[str, object]:
    """Fields of the record that follow from the evaluator's word."""
    evaluation = shared.evaluation
    if evaluation.violations:
        found = "; ".join(violation.message for violation in evaluation.violations[:3])
        return {"verdict": "failed", "error": f"the evaluator refused the placement: {found}"}
    certificate = certify(evaluation.objective, [] if shared.loads else [bound], proof_scale(instance))
    return {
        "verdict": "overbooked" if shared.loads else certificate.status,
        "verified": True,
        "objective": evaluation.objective,
        "gap": certificate.gap,
        "metrics": evaluation.metrics,
        "loads": shared.loads,
    }


def _options(settings: Settings, solver: str) -> dict[str, str]:
    """`--set SOLVER.KEY=VALUE` of this solver."""
    own = f"{solver}."
    return {key.removeprefix(own): value for key, value in settings.options.items() if key.startswith(own)}


@dataclass(slots=True)
class Trace:
    """A listener that keeps how F and bound moved."""

    points: list[Point] = field(default_factory=list)
    objective: float | None = None
    bound: float | None = None

    def __call__(self, event: Event) -> None:
        """Note an improvement."""
        if event.value is None or event.kind not in ("incumbent", "bound"):
            return
        if event.kind == "incumbent":
            if self.objective is not None and event.value <= self.objective:
                return
            self.objective = event.value
        else:
            if self.bound is not None and event.value >= self.bound:
                return
            self.bound = event.value
        self.points.append(Point(seconds=round(event.seconds, 4), objective=self.objective, bound=self.bound))

    def thinned(self) -> list[Point]:
        """At most `MOST_POINTS` points."""
        count = min(len(self.points), MOST_POINTS)
        last = len(self.points) - 1
        return [self.points[i * last // max(1, count - 1)] for i in range(count)]


def peak_mib() -> float | None:
    """Peak resident memory of this process or of the largest that it started, whichever is more."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    try:
        # Not ru_maxrss, which a process inherits from the one that started it.
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return max(children, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    own = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0) / 1024
    return round(max(own, children), 1)
