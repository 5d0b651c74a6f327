"""`best-known.json`: the best value, bound and placement known of every instance of a folder tree.

The table maps paths relative to its own folder to value, bound, by whom, whether proven, and the SHA-256 of the
instance file; the placement is a solution file in `solutions/` beside it. Values are trusted only with a placement that
the evaluator accepts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crop_cli._version import __version__
from crop_cli.bench.records import Run
from crop_cli.bench.suite import Member
from crop_cli.errors import CropError, Defect, InputError
from crop_cli.model.certificate import certify, proof_scale
from crop_cli.model.evaluate import Evaluation, evaluate, placed_jobs
from crop_cli.model.files import write_atomic
from crop_cli.model.io import dump_solution, load_solution
from crop_cli.model.problem import compile_problem
from crop_cli.model.solution import InstanceRef, Runtime, Solution, SolverInfo, StopReason, UnplacedJob
from crop_cli.reasons.unplaced import unplaced_reasons

TABLE = "best-known.json"
SOLUTIONS = "solutions"

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """What a table says about one instance.

    Attributes
    ----------
    bound, infeasible, by
        As the table says.
    evaluation
        The evaluator's word on the placement beside the table; None if there is none.
    """

    bound: float | None
    infeasible: bool
    by: str | None
    evaluation: Evaluation | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where an instance stands in a table."""

    folder: Path
    key: str

    @property
    def solution(self) -> Path:
        """File of the best placement."""
        return self.folder / SOLUTIONS / self.key.removesuffix(".gz")


def place_of(member: Member) -> Place | None:
    """The table in the nearest folder above the instance; None if there is none."""
    path = member.path.resolve()
    for folder in path.parents:
        if (folder / TABLE).is_file():
            return Place(folder, path.relative_to(folder).as_posix())
    return None


def known(member: Member) -> Known | None:
    """What is known about an instance as it is: an entry for another version of the file says nothing.

    Raises
    ------
    InputError
        If the table is no table.
    """
    place = place_of(member)
    entry = read_table(place.folder).get(place.key) if place else None
    if place is None or entry is None or entry.get("sha256") != member.sha256:
        return None
    evaluation = None
    if entry.get("value") is not None:
        try:
            solution = load_solution(place.solution)
        except CropError:
            solution = None
        if solution is not None:
            judged = evaluate(member.loaded.instance, {placed.job: placed.nodes for placed in solution.placements})
            evaluation = judged if judged.feasible else None
    return Known(entry.get("bound"), bool(entry.get("infeasible")), entry.get("by"), evaluation)


def read_table(folder: Path) -> dict[str, Entry]:
    """The table of a folder.

    Raises
    ------
    InputError
        If it is no JSON object of objects whose values and bounds are numbers or null.
    """
    path = folder / TABLE
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(str(path), [Defect("$", str(error), "a table of best-known values")]) from None
    if not (isinstance(table, dict) and all(map(_is_entry, table.values()))):
        raise InputError(str(path), [Defect("$", "something else", "an object with an object per instance")])
    return table


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and all(
        entry.get(key) is None or type(entry[key]) in (int, float) for key in ("value", "bound")
    )


def update(member: Member, runs: list[Run]) -> str | None:
    """Enter what runs of an instance found, where it is better than what is known; what was said, or None.

    A placement enters only if the evaluator, asked again, finds it feasible and better than the one in the table; a
    bound only if it is lower and not below the best value. Instances under no table are left alone.
    """
    place = place_of(member)
    if place is None:
        return None
    table = read_table(place.folder)
    entry = table.get(place.key)
    if entry is not None and entry.get("sha256") != member.sha256:
        entry = None
    better = _better(member, place, entry, [run for run in runs if run.sha256 == member.sha256])
    if better is None or better == entry:
        return None
    table[place.key] = better
    write_atomic(place.folder / TABLE, _text(table).encode())
    return f"{place.key}: {better['value']} of at most {better['bound']}, by {better['by']}"


def _better(member: Member, place: Place, entry: Entry | None, runs: list[Run]) -> Entry | None:
    """The entry with all that the runs add."""
    instance = member.loaded.instance
    known_now = known(member) if entry is not None else None
    evaluation = known_now.evaluation if known_now else None
    value, by = (evaluation.objective, entry["by"]) if evaluation and entry else (None, None)
    for run in runs:
        if not run.verified or run.loads or run.objective is None:
            continue
        if value is not None and run.objective <= value:
            continue
        judged = evaluate(instance, run.placement)
        if judged.feasible and (value is None or judged.objective > value):
            value, by = judged.objective, _by(run)
            place.solution.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(place.solution, dump_solution(_solution(member, run, judged)))
    if value is None:
        if entry is None and any(run.verdict == "infeasible" for run in runs):
            by = next(_by(run) for run in runs if run.verdict == "infeasible")
            none = {"value": None, "bound": None, "by": by, "optimal": False, "infeasible": True}
            return {**none, "sha256": member.sha256}
        return entry
    claims = [known_now.bound if known_now else None, *(run.bound for run in runs if run.verdict != "failed")]
    certificate = certify(value, claims, proof_scale(instance))
    return {
        "value": value,
        "bound": certificate.bound,
        "by": by,
        "optimal": certificate.status == "optimal",
        "sha256": member.sha256,
    }


def _solution(member: Member, run: Run, judged: Evaluation) -> Solution:
    """The solution file of a run's placement; its bound is the run's own, its time that of the run."""
    instance = member.loaded.instance
    problem = compile_problem(instance)
    certificate = certify(judged.objective, [run.bound], proof_scale(instance))
    index = {name: j for j, name in enumerate(problem.job_names)}
    placement = {
        index[job]: {problem.node_index[n]: x for n, x in nodes.items()}
        for job, nodes in run.placement.items()
        if index[job] not in problem.pinned
    }
    reasons = unplaced_reasons(problem, placement, proved=certificate.status == "optimal")
    return Solution(
        format="crop-solution/1",
        instance=InstanceRef(name=instance.name, sha256=member.sha256),
        crop_version=__version__,
        solver=SolverInfo(
            name=run.solver, back_end=run.back_end, back_end_version=run.back_end_version, options={}, seed=run.seed
        ),
        status=certificate.status,
        stop_reason=_stop_reason(run, proved=certificate.status == "optimal"),
        objective=judged.objective,
        bound=certificate.bound,
        gap=certificate.gap,
        ratio=certificate.ratio,
        guarantee=run.guarantee,
        metrics=judged.metrics,
        runtime_s=Runtime(**{name: run.seconds.get(name, 0.0) for name in Runtime.__struct_fields__}),
        placements=placed_jobs(judged),
        unplaced=[UnplacedJob(job=problem.job_names[j], reason=reason) for j, reason in reasons.items()],
    )


def _stop_reason(run: Run, *, proved: bool) -> StopReason:
    """As the solution file has it: a baseline that meets the bound of its run does not know that it is proved."""
    if proved:
        return "proved"
    return "completed" if run.stop_reason == "proved" else run.stop_reason


def _by(run: Run) -> str:
    """Solver and back end."""
    return run.solver if run.back_end in (None, run.solver) else f"{run.solver} ({run.back_end})"


def _text(table: dict[str, Entry]) -> str:
    """One line per instance, by name."""
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))
    return "{\n" + rows + "\n}\n"
