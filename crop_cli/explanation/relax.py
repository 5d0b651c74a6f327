"""The smallest relaxation of one constraint that admits a job, every constraint alone, nothing else moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from crop_cli.explanation.answers import Change
from crop_cli.explanation.scene import Fixed
from crop_cli.model.instance import Segment, Spread
from crop_cli.model.kinds import compile_kind
from crop_cli.names import number
from crop_cli.solvers.fits import Fit

Stop = Callable[[], bool]


def relaxations(fixed: Fixed, stop: Stop) -> Iterator[Change]:
    """One change for every constraint of which some relaxation admits the job.

    Parameters
    ----------
    fixed
        The job, and all others where they are.
    stop
        Asked between trials.
    """
    for family in (_within, _segment, _spread, _per_node, _types, _resources):
        if stop():
            return
        if (found := family(fixed, stop)) is not None:
            yield found


def _change(
    fixed: Fixed, what: str, value: object, text: str, *, minimal: bool = True, **fields: object
) -> Change | None:
    """The change, if the job has a place with it that the evaluator accepts."""
    changed = fixed.with_job(**fields)
    place = changed.admits() if _fits(changed, fixed) else None
    if place is None:
        return None
    amount = value if isinstance(value, str) or value is None else float(str(value))
    return Change(kind="relax", what=what, amount=amount, on={}, text=text, place=place, minimal=minimal, verified=True)


def _fits(changed: Fixed, fixed: Fixed) -> bool:
    """Whether there is any place at all: a quick look in the arrays of the instance before the change."""
    problem = fixed.problem
    kind = compile_kind(changed.job, problem.tree, problem.hardware, problem.link_gbps, problem.resources)
    return Fit(fixed.room, kind).attainable(kind.allowed, uplinks=True).fits(kind.k)


def _within(fixed: Fixed, stop: Stop) -> Change | None:
    """One level up after the other, and at last no such limit."""
    job, levels = fixed.job, fixed.instance.cluster.levels
    if job.within is None:
        return None
    for level in [*reversed(levels[: levels.index(job.within)]), None]:
        wider = "anywhere" if level is None else f"within one {level}"
        text = f"{wider} instead of within one {job.within}"
        if not stop() and (found := _change(fixed, "within", level, text, within=level)):
            return found
    return None


def _segment(fixed: Fixed, stop: Stop) -> Change | None:
    """Smaller segments, the largest first."""
    job = fixed.job
    if job.segment is None:
        return None
    size, level = job.segment.gpus, job.segment.level
    for s in range(size - 1, 1, -1):
        if job.gpus % s == 0 and not stop():
            text = f"segments of {s} GPUs per {level} instead of {size}"
            if found := _change(fixed, "segment", s, text, segment=Segment(gpus=s, level=level)):
                return found
    return _change(fixed, "segment", None, f"no segments instead of {size} GPUs per {level}", segment=None)


def _spread(fixed: Fixed, stop: Stop) -> Change | None:
    """The least number of GPUs per domain that must be allowed; what fits under a limit fits under a higher one."""
    job = fixed.job
    if job.spread is None:
        return None
    level, most = job.spread.level, job.spread.max_gpus

    def fits(m: int) -> bool:
        return _fits(fixed.with_job(spread=Spread(level=level, max_gpus=m)), fixed)

    low, high = most, job.gpus
    if high <= low or not fits(high):
        return None
    while high - low > 1 and not stop():
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    text = f"at most {high} GPUs per {level} instead of {most}"
    minimal = high - low == 1
    return _change(fixed, "spread", high, text, minimal=minimal, spread=Spread(level=level, max_gpus=high))


def _per_node(fixed: Fixed, stop: Stop) -> Change | None:
    """Other numbers of GPUs on each node, the nearest first."""
    job = fixed.job
    if job.gpus_per_node is None:
        return None
    wanted = job.gpus_per_node
    divisors = [g for g in range(1, job.gpus + 1) if job.gpus % g == 0 and g != wanted]
    for g in sorted(divisors, key=lambda g: (abs(g - wanted), -g)):
        if not stop() and (
            found := _change(fixed, "gpus_per_node", g, f"{g} GPUs on each node instead of {wanted}", gpus_per_node=g)
        ):
            return found
    text = f"any number of GPUs on each node instead of {wanted}"
    return _change(fixed, "gpus_per_node", None, text, gpus_per_node=None)


def _types(fixed: Fixed, stop: Stop) -> Change | None:
    """One more GPU type, supposed to be as slow as the slowest that the job may use now."""
    job = fixed.job
    if not isinstance(job.compute_s, dict):
        return None
    slowest = max(job.compute_s.values())
    up = {node.gpu_type for node in fixed.instance.cluster.nodes if node.state == "up"}
    for gpu_type in sorted(up - set(job.compute_s)):
        text = f"GPU type {gpu_type} allowed too (supposed: {number(slowest)} s per iteration, as on its slowest type)"
        if not stop() and (
            found := _change(fixed, "compute_s", gpu_type, text, compute_s={**job.compute_s, gpu_type: slowest})
        ):
            return found
    return None


def _resources(fixed: Fixed, stop: Stop) -> Change | None:
    """The most of one resource per GPU with which the job fits: some node's free amount shared by some workers."""
    job, problem = fixed.job, fixed.problem
    for r, name in enumerate(problem.resources[1:], start=1):
        asked = job.resources_per_gpu.get(name, 0.0)
        if asked <= 0:
            continue
        shares = problem.free[:, r, None] / np.arange(1, job.gpus + 1)
        amounts = np.unique(np.append(shares[shares < asked], 0.0))

        def needing(amount: float, name: str = name) -> dict[str, float]:
            return {**job.resources_per_gpu, name: amount}

        low, high = 0, len(amounts)
        if stop() or not _fits(fixed.with_job(resources_per_gpu=needing(0.0)), fixed):
            continue
        while high - low > 1 and not stop():
            middle = (low + high) // 2
            fits = _fits(fixed.with_job(resources_per_gpu=needing(float(amounts[middle]))), fixed)
            low, high = (middle, high) if fits else (low, middle)
        amount = float(amounts[low])
        text = f"{number(amount)} {name} per GPU instead of {number(asked)}"
        fields = {"resources_per_gpu": needing(amount)}
        if found := _change(fixed, name, amount, text, minimal=high - low == 1, **fields):
            return found
    return None
