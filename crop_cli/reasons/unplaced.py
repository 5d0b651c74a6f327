"""Why a job has no place, in numbers: what it needs, against what the final placement leaves free.

The limits are tried from the plainest to the subtlest: GPUs of a type it may use, other resources, shape constraints,
uplinks, and last its worth. The first that stops the job is the reason. A job that even the empty cluster cannot hold,
or that adds nothing wherever it is placed, is told that instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.instance import Job
from crop_cli.model.kinds import Kind
from crop_cli.model.problem import Counts, Placement, Problem, reserved_gbps, times
from crop_cli.names import compress, number, one, plural
from crop_cli.reasons.shape import shape_lack
from crop_cli.solvers.fits import Fit, Room
from crop_cli.solvers.oracle import Best, best_placement, best_values

NOTHING = 1e-9
"""A utility up to this is no gain: the job is not placed for it."""


def unplaced_reasons(problem: Problem, placement: Placement | None, *, proved: bool = False) -> dict[int, str]:
    """One sentence for every open job without a place.

    Parameters
    ----------
    problem
        The compiled instance.
    placement
        The final placement of open jobs; None where there is none (infeasible, or not found).
    proved
        The placement is proved optimal; or, without a placement, the instance is proved infeasible.
    """
    placed = placement or {}
    waiting = [int(j) for j in problem.open_jobs if int(j) not in placed]
    if not waiting:
        return {}
    rooms = _Rooms(Room.after(problem, placed), Room.after(problem, {}), Room.whole(problem))
    alone = {} if placement is None else _alone(problem, waiting, rooms.unplaced)
    cache: dict[tuple[int, int], str] = {}
    reasons = {}
    for job in waiting:
        kind = int(problem.kind_of[job])
        # Jobs of one kind share a reason, but one that must run names the others that must.
        key = (kind, job if problem.must_place[job] and placement is None else -1)
        if key not in cache:
            if placement is None:
                cache[key] = _without_placement(problem, job, rooms, proved=proved)
            else:
                cache[key] = _beside_placement(problem, job, rooms, alone[kind], proved=proved)
        reasons[job] = cache[key]
    return reasons


@dataclass(frozen=True, slots=True)
class _Rooms:
    """What the placement leaves, what there is without it (beside jobs that may not move), and the empty cluster."""

    left: Room
    unplaced: Room
    whole: Room


def _alone(problem: Problem, waiting: list[int], room: Room) -> dict[int, float]:
    """Best utility in a room of every kind that waits; −inf where it has no place."""
    first = {int(problem.kind_of[j]): j for j in reversed(waiting)}
    jobs = np.array(list(first.values()), dtype=np.int64)
    values = best_values(problem, jobs, room.free, room.uplink_free)
    return {kind: float(value) for kind, value in zip(first, values, strict=True)}


def _beside_placement(problem: Problem, job: int, rooms: _Rooms, alone: float, *, proved: bool) -> str:
    """`alone` is the job's best utility if no other open job had a place."""
    if alone <= NOTHING:
        return _never(problem, job, rooms)
    if (lack := _lack(problem, job, rooms.left)) is not None:
        # F of the optimum is at least F with this job at any place: the others lose at least what it adds there.
        gain = number(alone)
        price = f"; wherever it took room, the others would lose at least what it adds, {gain} at best (proved)"
        return lack + price if proved else lack
    best = best_placement(problem, job, rooms.left.free, rooms.left.uplink_free)
    if best is None:
        return f"no place was found for its {problem.kind(job).k} GPUs among the {int(rooms.left.gpus.sum())} free ones"
    if best.utility <= NOTHING:
        instead = f"with no other job in its way it could have {number(alone)}"
        return f"would lose where it still fits: {_worth(problem, job, best)}; {instead}"
    return (
        f"fits now on {_where(problem, best.counts)} with utility {number(best.utility)}, "
        "but the solver ended before it was placed there"
    )


def _never(problem: Problem, job: int, rooms: _Rooms) -> str:
    """A job that no choice of the solver could place with a gain: for lack of room, or for lack of worth."""
    if (lack := _lack(problem, job, rooms.whole)) is not None:
        return f"can never be placed here: {lack}, even in an empty cluster"
    best = best_placement(problem, job, rooms.whole.free, rooms.whole.uplink_free)
    if best is None or best.utility <= NOTHING:
        return f"would lose wherever it is placed: {_worth(problem, job, best)}, even in an empty cluster"
    if (lack := _lack(problem, job, rooms.unplaced)) is not None:
        return f"{_lack(problem, job, rooms.left) or lack}; what is in use already and may not move leaves too little"
    best = best_placement(problem, job, rooms.unplaced.free, rooms.unplaced.uplink_free)
    return f"would lose beside what is in use already and may not move: {_worth(problem, job, best)}"


def _without_placement(problem: Problem, job: int, rooms: _Rooms, *, proved: bool) -> str:
    """No placement at all: which jobs that must run are in the way."""
    must = [problem.job_names[j] for j in problem.open_jobs if problem.must_place[j]]
    if not must:
        return "no placement was found within the limits"
    if not problem.must_place[job]:
        ended = "cannot all be placed" if proved else "could not all be placed in time"
        return f"waits for the jobs that must run: they {ended} ({compress(must)})"
    if (never := _lack(problem, job, rooms.whole)) is not None:
        return f"must run, but can never be placed here: {never}, even in an empty cluster"
    if (lack := _lack(problem, job, rooms.unplaced)) is not None:
        return f"must run, but {lack}, even with only the jobs that may not move in place"
    if len(must) == 1:
        return "must run and seems to fit, but no feasible placement was found"
    others = compress([name for name in must if name != problem.job_names[job]])
    how = "not together with" if proved else "no place was found in time for it together with"
    return f"must run and fits by itself, but {how} the others that must run ({others})"


def _lack(problem: Problem, job: int, room: Room) -> str | None:
    """What of GPUs, resources, shape or bandwidth is missing in a room; None if the job fits."""
    fit = Fit(room, problem.kind(job))
    return (
        _gpu_lack(problem, problem.instance.jobs[job], fit)
        or _resource_lack(problem, problem.instance.jobs[job], fit)
        or shape_lack(problem, problem.instance.jobs[job], fit)
        or _uplink_lack(problem, job, fit)
    )


def of_types(problem: Problem, job: Job) -> str:
    """ " of type A100", or nothing where every type of the cluster will do."""
    if not isinstance(job.compute_s, dict) or set(problem.hardware.gpu_type) <= set(job.compute_s):
        return ""
    return f" of type {one(sorted(job.compute_s))}"


def _gpu_lack(problem: Problem, job: Job, fit: Fit) -> str | None:
    allowed = np.isfinite(fit.kind.compute_s[problem.hardware_of])
    gpus = fit.room.gpus
    usable, others = int(gpus[allowed].sum()), int(gpus[~allowed].sum())
    if usable >= job.gpus:
        return None
    beside = [f"{others} of other types"] if others else []
    idle = int(problem.capacity[~problem.up & allowed, 0].sum())
    if idle:
        beside.append(f"{idle} on nodes that are drained or down")
    more = f" (besides {' and '.join(beside)})" if beside else ""
    return f"needs {plural(job.gpus, 'GPU')}{of_types(problem, job)}; {usable} free{more}"


def _resource_lack(problem: Problem, job: Job, fit: Fit) -> str | None:
    room = int(fit.caps.sum())
    if room >= job.gpus:
        return None
    kind, allowed = fit.kind, np.isfinite(fit.kind.compute_s[problem.hardware_of])
    asked = [r for r in range(1, len(problem.resources)) if kind.demand[r] > 0]
    single = {r: int(fit.room.caps(kind, [0, r])[allowed].sum()) for r in asked}
    short = [r for r in asked if single[r] < job.gpus] or asked
    amounts = " and ".join(f"{number(float(kind.demand[r]))} {problem.resources[r]}" for r in short)
    gpus = int(fit.room.gpus[allowed].sum())
    each = " each" if job.gpus > 1 else ""
    names = one([problem.resources[r] for r in short])
    return (
        f"needs {plural(job.gpus, 'GPU')}{of_types(problem, job)} with {amounts}{each}; {plural(gpus, 'GPU')} free, "
        f"but the {names} left on their nodes is enough for {room}"
    )


def _uplink_lack(problem: Problem, job: int, fit: Fit) -> str | None:
    """The uplinks that the best place without bandwidth limits would overbook."""
    kind = fit.kind
    if fit.attainable(kind.allowed, uplinks=True).fits(kind.k):
        return None
    unlimited = np.full(problem.tree.n_vertices, np.inf)
    best = best_placement(problem, job, fit.room.free, unlimited)
    if best is None:
        return f"no place was found for its {kind.k} GPUs, with or without the limits of uplinks"
    vertices, rates = reserved_gbps(problem, job, best.counts)
    left = fit.room.uplink_free[vertices]
    order = np.argsort(left - rates, kind="stable")
    worst = order[0]
    v = int(vertices[worst])
    total = problem.instance.cluster.oversubscription * float(problem.tree.uplink_gbps[v])
    over = int((rates > left).sum())
    more = f", and {plural(over - 1, 'other uplink')} would be overbooked too" if over > 1 else ""
    rate, rest = number(float(rates[worst])), number(max(0.0, float(left[worst])))
    return (
        f"needs bandwidth: on {_where(problem, best.counts)} it would reserve {rate} Gbit/s of the uplink of "
        f"{problem.tree.names[v]}, which has {rest} of {number(total)} Gbit/s left{more}"
    )


def _worth(problem: Problem, job: int, best: Best | None) -> str:
    """A utility that is no gain, and what eats it."""
    if best is None:
        return "it has no place"
    kind: Kind = problem.kind(job)
    objective = problem.instance.objective
    nodes = np.fromiter(best.counts.keys(), dtype=np.int64, count=len(best.counts))
    loss = float(problem.failures[nodes].sum()) * kind.days_lost_per_failure * objective.failure_weight * kind.k
    cuts = objective.cut_penalty * len(reserved_gbps(problem, job, best.counts)[0])
    compute, comm, _ = times(problem, kind, best.counts)
    parts = [f"{kind.k} GPUs at efficiency {number(kind.efficiency(compute, comm))}"]
    if loss > 0:
        parts.append(f"failures -{number(loss)}")
    if cuts > 0:
        parts.append(f"cut uplinks -{number(cuts)}")
    return (
        f"its best place ({_where(problem, best.counts)}) has utility {number(best.utility)}, which is not above 0 "
        f"({', '.join(parts)})"
    )


def _where(problem: Problem, counts: Counts) -> str:
    return compress([f"{problem.node_names[n]}" for n in sorted(counts)])
