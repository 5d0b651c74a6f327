"""Names of the columns of a linearised problem (`crop_cli.solvers.exact.linearise`), and what they mean."""

from __future__ import annotations

from crop_cli.export.tokens import tokens
from crop_cli.model.findings import quoted
from crop_cli.model.problem import Problem
from crop_cli.solvers.exact.linearised import Group, Linearised

KINDS = (
    ("whole.JOB.NODE", "jobs of JOB's group that run wholly on NODE"),
    (
        "home.JOB.VERTEX.LEVEL",
        "JOB is split, VERTEX the lowest that holds it, at its LEVEL-th performance or a worse one",
    ),
    (
        "part.JOB.VERTEX.COUNT",
        "some of JOB's workers are below VERTEX, their number is in the class that starts at COUNT",
    ),
    ("workers.JOB.VERTEX.COUNT", "their number, in units of that class"),
    ("stay.JOB", "the running JOB stays where it is"),
    ("inside.JOB.VERTEX", "jobs of JOB's group that lie wholly below VERTEX"),
)
"""Forms of the names, for the comments of a file."""


class Names:
    """Tokens of the jobs and vertices of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.jobs = dict(enumerate(tokens(problem.job_names)))
        self.vertices = dict(enumerate(tokens(problem.tree.names)))


def column_names(linearised: Linearised, names: Names) -> list[str]:
    """(n) one name per column, all different."""
    made = [""] * len(linearised.model.cost)
    node_vertex = linearised.problem.tree.node_vertex
    for group in linearised.groups:
        job = names.jobs[group.options.jobs[0]]
        for i, n in enumerate(group.options.whole_nodes):
            made[group.whole + i] = f"whole.{job}.{names.vertices[int(node_vertex + n)]}"
        if group.stay >= 0:
            made[group.stay] = f"stay.{job}"
        for v, column in group.homed.items():
            made[column] = f"inside.{job}.{names.vertices[v]}"
        for first, member in zip(group.copies, group.options.jobs, strict=False):
            _name_copy(made, group, first, names.jobs[member], names)
    return made


def _name_copy(made: list[str], group: Group, first: int, job: str, names: Names) -> None:
    """Columns of one split placement."""
    if group.split is None:
        return
    for v, tails in group.split.tails.items():
        for i, column in enumerate(tails):
            made[first + column] = f"home.{job}.{names.vertices[v]}.{i + 1}"
    for v, parts in group.split.parts.items():
        for part in parts:
            made[first + part.part] = f"part.{job}.{names.vertices[v]}.{part.low}"
            if part.steps >= 0:
                made[first + part.steps] = f"workers.{job}.{names.vertices[v]}.{part.low}"


def legend(linearised: Linearised, names: Names) -> list[str]:
    """Lines that say what the names mean: forms, groups of interchangeable jobs, names that had to be changed."""
    problem = linearised.problem
    lines = ["", "Columns, all whole numbers:"]
    lines += [f"  {form:<25} {meaning}" for form, meaning in KINDS]
    groups = [group.options.jobs for group in linearised.groups if len(group.options.jobs) > 1]
    if groups:
        lines += ["", "Groups of interchangeable jobs, by their first job:"]
        lines += [f"  {names.jobs[jobs[0]]}: {', '.join(names.jobs[j] for j in jobs)}" for jobs in groups]
    changed = [(names.jobs[j], problem.job_names[j]) for j in map(int, problem.open_jobs)]
    changed += [(names.vertices[v], name) for v, name in enumerate(problem.tree.names)]
    changed = [(token, name) for token, name in changed if token != name]
    if changed:
        lines += ["", "Names that are written differently here:"]
        lines += [f"  {token} = {quoted(name)}" for token, name in changed]
    return lines
