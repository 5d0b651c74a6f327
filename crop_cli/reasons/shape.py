"""The reason of a job that has enough GPUs and resources in all, but not in a shape that its constraints allow."""

from __future__ import annotations

import msgspec
import numpy as np

from crop_cli.model.instance import Job
from crop_cli.model.kinds import allowed_counts
from crop_cli.model.problem import Problem
from crop_cli.names import number, one, plural
from crop_cli.solvers.fits import Fit

CONSTRAINTS = ("within", "segment", "spread", "gpus_per_node")


def shape_lack(problem: Problem, job: Job, fit: Fit) -> str | None:
    """What the shape constraints miss in a room; None if they can be met (uplinks aside).

    Parameters
    ----------
    problem
        The compiled instance.
    job
        A job for which GPUs and resources would do.
    fit
        The job's kind in the room.
    """
    if fit.attainable(fit.kind.allowed, uplinks=False).fits(job.gpus):
        return None
    return _indivisible(job) or _short(problem, job, fit)


def _indivisible(job: Job) -> str | None:
    """A count of workers that can never add up."""
    if job.gpus_per_node is not None and job.gpus % job.gpus_per_node:
        return f"its {job.gpus} GPUs are not a multiple of the {job.gpus_per_node} that each of its nodes must hold"
    if job.segment is not None and job.gpus % job.segment.gpus:
        return f"its {job.gpus} GPUs are not a multiple of its segments of {job.segment.gpus}"
    return None


def _short(problem: Problem, job: Job, fit: Fit) -> str:
    """What it needs against how much of that the best domain, or the whole cluster, can hold at once."""
    tree = problem.tree
    unit = job.gpus_per_node or (job.segment.gpus if job.segment is not None else 1)
    if job.within is None:
        _, most = fit.attainable(fit.kind.allowed, uplinks=False).most([0])
        have = _in_all(job, most // unit)
    else:
        depth = tree.depth_of(job.within)
        inside = fit.attainable(allowed_counts(msgspec.structs.replace(job, within=None), tree), uplinks=False)
        vertex, most = inside.most(range(int(tree.start[depth]), int(tree.start[depth + 1])))
        have = _in_best(job, job.within, tree.names[vertex], most // unit)
    if most >= job.gpus:
        have = "one could hold it, but its other limits rule that out"
    elif most < unit and job.gpus_per_node is not None:
        have = _no_node(problem, fit)
    return f"needs {_wish(problem, job)}; {have}{_would_fit(problem, job, fit)}"


def _wish(problem: Problem, job: Job) -> str:
    """The job's GPUs in its shape."""
    asked = [f"{number(x)} {name}" for name, x in sorted(job.resources_per_gpu.items()) if x > 0 and name != "gpus"]
    per_gpu = f" with {' and '.join(asked)}{_each(job.gpus)}" if asked else ""
    if job.gpus_per_node is not None:
        beside = f" ({' and '.join(asked)} per GPU)" if asked else ""
        nodes = job.gpus // job.gpus_per_node
        text = f"{plural(nodes, 'node')} with {plural(job.gpus_per_node, 'free GPU')}{beside}{_each(nodes)}"
        if job.segment is not None:
            text += f", in multiples of {job.segment.gpus} GPUs per {job.segment.level}"
    elif job.segment is not None:
        groups = plural(job.gpus // job.segment.gpus, "group")
        text = f"{groups} of {job.segment.gpus} GPUs{per_gpu}, each group inside one {job.segment.level}"
    else:
        text = f"{plural(job.gpus, 'GPU')}{per_gpu}"
    if job.within is not None:
        text += f" {'on' if job.within == problem.tree.levels[-1] else 'in'} one {job.within}"
    if job.spread is not None:
        text += f", at most {job.spread.max_gpus} per {job.spread.level}"
    return text


def _each(count: int) -> str:
    return " each" if count > 1 else ""


def _in_best(job: Job, level: str, name: str, units: int) -> str:
    """How many of its units the best domain can hold."""
    if units == 0:
        return f"no {level} has room for {'one of them' if _unit_noun(job) else 'any'}"
    return f"the best {level} ({name}) has room for {_counted(job, units)}"


def _in_all(job: Job, units: int) -> str:
    """How many of its units the whole cluster can hold."""
    return f"there is room for {_counted(job, units)}"


def _counted(job: Job, units: int) -> str:
    noun = _unit_noun(job)
    return plural(units, noun) if noun else str(units)


def _unit_noun(job: Job) -> str:
    if job.gpus_per_node is not None:
        return "such node"
    return "such group" if job.segment is not None else ""


def _no_node(problem: Problem, fit: Fit) -> str:
    """No node can hold one unit: what the best one has."""
    best = int(np.argmax(fit.caps))
    return f"no node has that: the best one ({problem.node_names[best]}) has room for {int(fit.caps[best])}"


def _would_fit(problem: Problem, job: Job, fit: Fit) -> str:
    """Free GPUs in all, and the constraints of which any one, if dropped, would let the job fit."""
    droppable = [
        name
        for name in CONSTRAINTS
        if getattr(job, name) is not None
        and fit.attainable(
            allowed_counts(msgspec.structs.replace(job, **{name: None}), problem.tree), uplinks=True
        ).fits(job.gpus)
    ]
    without = f"; it would fit without {one([repr(name) for name in droppable])}" if droppable else ""
    return f" ({int(fit.caps.sum())} in the whole cluster{without})"
