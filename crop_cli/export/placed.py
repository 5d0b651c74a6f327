"""What is exported: a solution; with its instance, also that it holds there, and what becomes of each job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crop_cli import api
from crop_cli.errors import Defect, InputError, UsageError, ViolationError
from crop_cli.model.findings import quoted
from crop_cli.model.instance import Instance, Job
from crop_cli.model.io import Loaded, load_solution
from crop_cli.model.outcome import running_on
from crop_cli.model.solution import PlacedJob, Solution
from crop_cli.names import number, plural

Change = Literal["starts", "stays", "moves", "unknown"]


@dataclass(frozen=True, slots=True)
class Placement:
    """One placed job.

    Attributes
    ----------
    row
        Its row in the solution.
    nodes
        GPUs per node, at least one each, in the order of the solution.
    job
        Its row in the instance; None without one.
    change
        What becomes of it. Without the instance nobody knows whether it runs already.
    """

    row: PlacedJob
    nodes: dict[str, int]
    job: Job | None
    change: Change

    @property
    def name(self) -> str:
        """The job's name."""
        return self.row.job

    @property
    def gpus(self) -> int:
        """Of all nodes together."""
        return sum(self.nodes.values())

    @property
    def even(self) -> bool:
        """Whether every node gives as many GPUs."""
        return len(set(self.nodes.values())) == 1

    def by_count(self) -> list[tuple[int, list[str]]]:
        """Nodes by GPUs, most GPUs first."""
        counts = sorted(set(self.nodes.values()), reverse=True)
        return [(count, [name for name, x in self.nodes.items() if x == count]) for count in counts]

    def told(self) -> str:
        """A line about the job: GPUs, where, and what is expected of it."""
        where = f"{plural(self.gpus, 'GPU')} on {plural(len(self.nodes), 'node')}"
        expected = f"expected goodput {number(self.row.goodput)}, {number(self.row.iteration_s)} s per iteration"
        return f"{quoted(self.name)}: {where}, {expected}"


@dataclass(frozen=True, slots=True)
class Exported:
    """A solution that may be exported.

    Attributes
    ----------
    solution
        As it was read.
    instance
        None where it was not given, and so nothing was checked.
    placements
        In the order of the solution.
    """

    solution: Solution
    instance: Instance | None
    placements: list[Placement]

    def head(self) -> list[str]:
        """Lines about where the placement comes from."""
        solution = self.solution
        sha256 = solution.instance.sha256 or "unknown"
        sha256 = sha256 if sha256.isalnum() else quoted(sha256)
        bound = "unknown" if solution.bound is None else f"{solution.bound:.9g}"
        objective = "none" if solution.objective is None else f"{solution.objective:.9g}"
        checked = "checked against the instance" if self.instance is not None else "not checked: no instance was given"
        return [
            f"Placement by crop {one_line(solution.crop_version)} ({quoted(solution.solver.name)}), {checked}.",
            f"Instance: {quoted(solution.instance.name)}, SHA-256 of its file {sha256}.",
            f"Objective F {objective}, no placement is above {bound}.",
        ]


def one_line(text: str) -> str:
    """Text that cannot end a comment: what does not print becomes a blank."""
    return "".join(c if c.isprintable() else " " for c in text)


def read_exported(files: Sequence[str], *, placed: bool = True) -> Exported:
    """Read [INSTANCE] SOLUTION.

    Parameters
    ----------
    files
        One or two paths; "-" is standard input.
    placed
        Whether a solution without a placement is refused.

    Raises
    ------
    UsageError
        If there are more files, or two of them are standard input.
    InputError
        If a file cannot be used.
    ViolationError
        If the solution does not hold for the instance.
    """
    if len(files) > 2 or list(files) == ["-", "-"]:
        raise UsageError("expected SOLUTION or INSTANCE SOLUTION, and only one of them from standard input")
    loaded = api.load(files[0]) if len(files) == 2 else None
    solution = load_solution(files[-1])
    shown = "<stdin>" if files[-1] == "-" else files[-1]
    if placed and solution.status not in ("optimal", "feasible"):
        raise InputError(shown, [Defect("$.status", f'"{solution.status}"', "a solution with a placement")])
    return _checked(loaded, solution) if loaded is not None else _unchecked(solution, shown)


def _checked(loaded: Loaded, solution: Solution) -> Exported:
    report = api.check(loaded, solution)
    if not report.ok:
        more = f" and {len(report.violations) - 1} more" if len(report.violations) > 1 else ""
        raise ViolationError(
            f"the solution does not hold for this instance: {report.violations[0].message}{more} (see crop check)"
        )
    jobs = {job.name: job for job in loaded.instance.jobs}
    placements = [_placement(row, jobs[row.job]) for row in solution.placements]
    return Exported(solution, loaded.instance, placements)


def _unchecked(solution: Solution, shown: str) -> Exported:
    """Without the instance only counts that no placement has are refused."""
    defects = [
        Defect(f"$.placements[{i}].nodes", str(sum(row.nodes.values())) + " GPUs", "GPUs per node, at least one in all")
        for i, row in enumerate(solution.placements)
        if any(x < 0 for x in row.nodes.values()) or not any(row.nodes.values())
    ]
    if defects:
        raise InputError(shown, defects)
    return Exported(solution, None, [_placement(row, None) for row in solution.placements])


def _placement(row: PlacedJob, job: Job | None) -> Placement:
    nodes = running_on(row.nodes)
    change: Change = "unknown" if job is None else "starts"
    if job is not None and job.placement is not None:
        change = "stays" if running_on(job.placement) == nodes else "moves"
    return Placement(row, nodes, job, change)
