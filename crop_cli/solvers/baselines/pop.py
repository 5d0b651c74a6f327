"""POP: cluster and jobs cut into random parts, each solved exactly on its own.

Partitioned Optimization Problems for granular allocation: resources and clients are split at random into k parts that
each look like the whole, the parts are solved by themselves, and their answers put together. Here the racks are dealt
out (nodes, where there are fewer racks than parts), and jobs in equal numbers. Uplinks above what was dealt out are
divided by the free GPUs of the parts below them, so that parts never overbook together. A job larger than its part
waits. Jobs are not split over parts, which the paper proposes for a few clients that want much. If the jobs that must
run do not fit into their part, the part is solved as if none had to. The paper solves the parts in parallel, each in
the whole time; here one after another shares it. So that a part has an answer by then, its solver starts from a quick
greedy placement, which is more than the paper has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Placement, Problem
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.greedy.quick import solve_quickly
from crop_cli.solvers.queueing.baseline import Queue, whole_queue
from crop_cli.solvers.queueing.options import whole_number
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.registry import find

BoolArray = NDArray[np.bool_]

PART = 64
"""Nodes of a part, about, unless the number of parts is given; two parts at least."""


@whole_queue(
    source="D. Narayanan et al., Solving Large-Scale Granular Resource Allocation Problems Efficiently with POP, "
    "ACM SOSP 2021",
    knows=("parts",),
)
def place(queue: Queue, view: View, budget: Budget) -> Placement:
    """Part after part, each with an equal share of the time that is left."""
    n_parts = whole_number(view.options, "parts", max(2, -(-view.problem.n_nodes // PART)))
    exact = find("exact")
    exact.require()
    solve, seed = exact.load(), int(view.rng.integers(2**31))
    found: Placement = {}
    for done, part in enumerate(sub_problems(queue, view, n_parts)):
        if budget.should_stop:
            break
        share = budget.part(1 / (n_parts - done))
        start = solve_quickly(part, share).placement
        answer = solve(part, Request(seed=seed, start=start), share, lambda _: None)
        if answer.infeasible:
            optional = replace(part, must_place=np.zeros_like(part.must_place))
            start = solve_quickly(optional, share).placement
            answer = solve(optional, Request(seed=seed, start=start), share, lambda _: None)
        view.limited |= answer.stop_reason in ("time_limit", "killed")
        found.update(answer.placement or start or {})
    return found


def sub_problems(queue: Queue, view: View, n_parts: int) -> Iterator[Problem]:
    """The sub-problems: the whole's tree and jobs, of which a part may use its own share only."""
    problem, jobs = view.problem, view.rng.permutation(queue)
    masks = _deal(view, n_parts)
    below = np.maximum(problem.tree.sum_below(view.free_gpus), 1)
    for p, mask in enumerate(masks):
        share = problem.tree.sum_below(np.where(mask, view.free_gpus, 0)) / below
        # What all parts may exceed an uplink by together is what one may.
        limit = np.maximum(view.state.uplink_free, 0.0) + problem.uplink_slack
        unlimited = np.isinf(limit)
        slack = np.where(unlimited, 0.0, problem.uplink_slack)
        yield replace(
            problem,
            free=np.where(mask[:, None], np.maximum(view.state.free, 0.0), 0.0),
            uplink_free=np.where(unlimited, np.inf, share * np.where(unlimited, 0.0, limit) - slack),
            open_jobs=np.sort(jobs[p::n_parts]).astype(np.int64),
            pinned=dict(view.placed),
            current={},
        )


def _deal(view: View, n_parts: int) -> list[BoolArray]:
    """(N) for every part, which nodes are its own: racks in random order, each to the part with fewest free GPUs."""
    tree = view.problem.tree
    racks = view.domains(tree.max_depth - 1)
    units = [view.nodes_below(v) for v in racks]
    if len(units) < n_parts:
        units = [range(n, n + 1) for n in range(view.problem.n_nodes)]
    masks = [np.zeros(view.problem.n_nodes, dtype=bool) for _ in range(n_parts)]
    gpus = [0] * n_parts
    for i in view.rng.permutation(len(units)).tolist():
        part = gpus.index(min(gpus))
        masks[part][units[i].start : units[i].stop] = True
        gpus[part] += int(view.free_gpus[units[i].start : units[i].stop].sum())
    return masks
