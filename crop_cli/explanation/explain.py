"""Why jobs are placed where they are, or wait: the answers of `crop explain` put together."""

from __future__ import annotations

import difflib
from dataclasses import replace

import msgspec

from crop_cli._version import __version__
from crop_cli.errors import UsageError
from crop_cli.explanation.answers import Change, Displaced, Explanation, JobAnswer, Place, UplinkUse
from crop_cli.explanation.displace import How, force
from crop_cli.explanation.free import to_free
from crop_cli.explanation.grow import more_nodes
from crop_cli.explanation.prices import price_report, prices_of, settled
from crop_cli.explanation.relax import relaxations
from crop_cli.explanation.scene import Scene, best_place
from crop_cli.explanation.uplinks import more_bandwidth
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.load import uplink_traffic
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.model.solution import Solution, SolutionPrices
from crop_cli.model.topology import Vertex
from crop_cli.names import one
from crop_cli.reasons.unplaced import NOTHING, unplaced_reasons
from crop_cli.solvers.bounds import upper_bound
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.fits import Room
from crop_cli.solvers.oracle import Prices, best_placement

BETTER = 1e-6
"""Share by which a place must be better to be called better."""

NEARLY_FULL = 0.9
"""Reserved share from which an uplink is listed."""

SHARE_FORCED = 0.6
"""Most of a job's time that is spent on solving again."""

SHARE_PRICES = 0.2
"""Most of the time that is spent on prices where the solution has none."""


def explain(instance: Instance, solution: Solution, names: list[str], how: How) -> Explanation:
    """Answer for the jobs that are named, in detail; without names for all that wait, without solving again.

    Parameters
    ----------
    instance
        A valid instance.
    solution
        One that `verify` accepts.
    names
        Of jobs.
    how
        Solver and time.

    Raises
    ------
    UsageError
        For a name that no job has.
    """
    problem = compile_problem(instance)
    index = {name: j for j, name in enumerate(problem.job_names)}
    asked = [index[name] for name in known_jobs(names, instance)]
    scene = _scene(instance, problem, solution)
    placement = None if scene.objective is None else scene.placement
    reasons = unplaced_reasons(problem, placement, proved=solution.status in ("optimal", "infeasible"))
    if solution.prices is None and scene.objective is not None:
        solution = msgspec.structs.replace(solution, prices=_priced(scene, scene.objective, how.budget))
    prices = None if solution.prices is None else prices_of(problem, solution.prices)
    if asked:
        answers = [
            _detailed(
                scene,
                job,
                _plain(scene, job, reasons.get(job), prices, solution),
                replace(how, budget=how.budget.part(1 / (len(asked) - i)), prices=prices),
            )
            for i, job in enumerate(asked)
        ]
    else:
        answers = _all_waiting(scene, reasons, prices, solution, how.budget)
    return Explanation(
        format="crop-explanation/1",
        instance=instance.name,
        crop_version=__version__,
        solver=solution.solver.name,
        status=solution.status,
        objective=solution.objective,
        bound=solution.bound,
        detailed=bool(asked),
        jobs=answers,
        jobs_left=0 if asked else len(reasons) - len(answers),
        uplinks=_uplinks(scene, prices),
        prices=solution.prices,
        total_s=how.budget.elapsed,
    )


def known_jobs(names: list[str], instance: Instance) -> list[str]:
    """The names, each once.

    Raises
    ------
    UsageError
        For a name that no job has; the message names those most like it.
    """
    known = {job.name for job in instance.jobs}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=3)
            hint = f"; did you mean {one(list(map(repr, near)))}?" if near else ""
            raise UsageError(f"--job: the instance has no job {name!r}{hint}")
    return list(dict.fromkeys(names))


def _scene(instance: Instance, problem: Problem, solution: Solution) -> Scene:
    """The solution's placement by indices."""
    job, node = {name: j for j, name in enumerate(problem.job_names)}, problem.node_index
    placement = {
        job[row.job]: {node[name]: x for name, x in row.nodes.items() if x > 0}
        for row in solution.placements
        if job[row.job] not in problem.pinned
    }
    return Scene(instance, problem, placement, solution.objective)


def _priced(scene: Scene, objective: float, budget: Budget) -> SolutionPrices | None:
    """Prices of a bound that is computed for the purpose, where the solution has none."""
    found = upper_bound(scene.problem, budget.part(SHARE_PRICES), target=objective, start=scene.placement)
    if found.prices is None:
        return None
    return price_report(scene.problem, found.prices, scene.placement, objective, budget)


def _plain(scene: Scene, job: int, reason: str | None, prices: Prices | None, solution: Solution) -> JobAnswer:
    """What the oracle alone says about a job."""
    problem, data = scene.problem, scene.instance.jobs[job]
    pinned = job in problem.pinned
    here = problem.pinned.get(job) or scene.placement.get(job)
    value = None
    if prices is not None and not pinned:
        best = best_placement(problem, job, problem.free, problem.uplink_free, prices)
        value = None if best is None else settled(problem, job, best.value)
    out = {row.job for row in solution.prices.priced_out if row.excluded} if solution.prices is not None else set()
    return JobAnswer(
        job=data.name,
        gpus=data.gpus,
        weight=data.weight,
        place=None if here is None else scene.place(job, here),
        best_empty=best_place(scene, job, Room.whole(problem)),
        best_now=None if pinned else best_place(scene, job, scene.room(job)),
        limit=reason,
        value_at_prices=value,
        excluded=data.name in out,
    )


def _all_waiting(
    scene: Scene, reasons: dict[int, str], prices: Prices | None, solution: Solution, budget: Budget
) -> list[JobAnswer]:
    """Plain answers for jobs that wait, as far as the time lasts; jobs with the same data share one."""
    of_kind: dict[int, JobAnswer] = {}
    answers = []
    for job, reason in reasons.items():
        if job in scene.problem.current:
            answers.append(_plain(scene, job, reason, prices, solution))
            continue
        kind = int(scene.problem.kind_of[job])
        if kind not in of_kind:
            if budget.should_stop:
                break
            of_kind[kind] = _plain(scene, job, reason, prices, solution)
        answers.append(msgspec.structs.replace(of_kind[kind], job=scene.problem.job_names[job], limit=reason))
    return answers


def _detailed(scene: Scene, job: int, plain: JobAnswer, how: How) -> JobAnswer:
    """With what it displaces, and what would admit it."""
    if scene.objective is None:
        changes, changes_note = (
            ([], "it fits by itself") if plain.best_now is not None else _changes(scene, job, how.budget)
        )
        note = "there is no placement; the changes are those that admit it beside jobs that run and may not move"
        return _with(plain, note=note, changes=changes, changes_note=changes_note)
    if job in scene.problem.pinned:
        return _with(plain, note="the job runs and may not move")
    if plain.place is None:
        return _waiting(scene, job, plain, how)
    return _placed(scene, job, plain, plain.place, how)


def _placed(scene: Scene, job: int, plain: JobAnswer, here: Place, how: How) -> JobAnswer:
    """A job that is placed: what its best place beside the jobs that may not move would displace."""
    problem = scene.problem
    best = best_placement(problem, job, problem.free, problem.uplink_free)
    if best is None or best.utility <= here.utility + BETTER * max(1.0, abs(here.utility)):
        return _with(plain, note="it has the best place there is")
    now = plain.best_now
    if now is not None and now.utility >= best.utility - BETTER * max(1.0, abs(best.utility)):
        return _with(plain, note="its best place is free: to move it there displaces nothing")
    forced = force(scene, job, best.counts, replace(how, budget=how.budget.part(SHARE_FORCED)))
    return _with(plain, displaced=forced.displaced, note=forced.note)


def _waiting(scene: Scene, job: int, plain: JobAnswer, how: How) -> JobAnswer:
    """A job that waits: what it would displace, and what would admit it."""
    if plain.best_now is not None and plain.best_now.utility > NOTHING:
        return _with(plain, note="it fits beside all others as they are", changes_note="none is needed")
    forced = force(scene, job, None, replace(how, budget=how.budget.part(SHARE_FORCED)))
    changes, changes_note = _changes(scene, job, how.budget)
    return _with(plain, displaced=forced.displaced, note=forced.note, changes=changes, changes_note=changes_note)


def _changes(scene: Scene, job: int, budget: Budget) -> tuple[list[Change], str]:
    """Every kind of change alone, until the time is over."""
    fixed = scene.fixed(job)

    def stop() -> bool:
        return budget.should_stop

    found = (change(fixed) for change in (to_free, more_bandwidth) if not stop())
    changes = [change for change in found if change is not None]
    changes += relaxations(fixed, stop)
    changes += more_nodes(fixed, stop)
    if stop():
        return changes, "not every change was tried: the time was over"
    return changes, "" if changes else "no single change that was tried admits it"


def _with(
    answer: JobAnswer,
    *,
    displaced: Displaced | None = None,
    note: str = "",
    changes: list[Change] | None = None,
    changes_note: str = "",
) -> JobAnswer:
    return msgspec.structs.replace(
        answer, displaced=displaced, displaced_note=note, changes=changes or [], changes_note=changes_note
    )


def _uplinks(scene: Scene, prices: Prices | None) -> list[UplinkUse]:
    """Uplinks that are nearly full or have a price, dearest and then fullest first."""
    tree, cluster = scene.problem.tree, scene.instance.cluster
    jobs = evaluate(scene.instance, scene.held).jobs if scene.objective is not None else {}
    used = uplink_traffic(scene.instance, scene.topology, jobs)
    price = {} if prices is None else {v: float(prices.uplink[v]) for v in prices.uplink.nonzero()[0].tolist()}
    rows = []
    for v in range(1, tree.n_vertices):
        allowed = cluster.oversubscription * float(tree.uplink_gbps[v])
        vertex = Vertex(tree.level_name(int(tree.depth[v])), tree.names[v])
        reserved = used[vertex].gbps if vertex in used else 0.0
        if v in price or reserved >= NEARLY_FULL * allowed:
            row = UplinkUse(
                level=vertex.level,
                uplink=vertex.name,
                reserved_gbps=reserved,
                allowed_gbps=allowed,
                price=price.get(v, 0.0),
            )
            rows.append(row)
    return sorted(rows, key=lambda row: (-row.price, -row.reserved_gbps / max(row.allowed_gbps, 1e-12)))
