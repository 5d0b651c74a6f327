"""Tiresias's "yarn": all GPUs below one switch, on idle nodes and one node with the rest.

A job that one node can hold goes to the first node that has room, anything larger to floor(k/g) fully idle nodes of g
GPUs and one more node with the rest; the first switch in which this works is taken, otherwise the job waits. The
switch is the level just above the nodes, the whole cluster where there is none. Where nodes differ, g is what the
largest node of the switch could hold of the job. The skew rule of the paper, which decides whether a job needs this,
is not part of the simulator.
"""

from __future__ import annotations

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.counts import descend
from crop_cli.solvers.queueing.leaves import (
    IntArray,
    gpus_in_use,
    houses,
    in_shape,
    leaf_switches,
    slots_of,
    whole_slots,
)
from crop_cli.solvers.queueing.view import View


@job_by_job(source="Tiresias simulator, simulator/switch.py and simulator/cluster.py")
def place(job: int, view: View) -> Counts | None:
    """The first switch that works."""
    sets, k = view.sets(job), view.problem.kind(job).k
    slots, whole, in_use = slots_of(view, sets), whole_slots(view, job), gpus_in_use(view)
    shaped = view.problem.instance.jobs[job]
    for switch in leaf_switches(view):
        if not houses(view, sets, switch, k):
            continue
        counts = _below(view, switch, k, slots, whole, in_use)
        if counts is not None:
            return in_shape(view, job, sets, counts, list)
        if shaped.segment is not None or shaped.spread is not None:
            # Whole nodes are not what such a job may ask for.
            return descend(view.problem.tree, sets, switch, k, list)
    return None


def _below(view: View, switch: int, k: int, slots: IntArray, whole: IntArray, in_use: IntArray) -> Counts | None:
    """One node, or idle ones and one with the rest, all below one switch."""
    nodes = view.nodes_below(switch)
    g = int(whole[nodes.start : nodes.stop].max())
    if k <= g:
        return next(({n: k} for n in nodes if slots[n] >= k), None)
    full, rest = divmod(k, g)
    idle = [n for n in nodes if in_use[n] == 0 and slots[n] >= g][:full]
    if len(idle) < full:
        return None
    counts = dict.fromkeys(idle, g)
    if rest:
        last = next((n for n in nodes if n not in counts and slots[n] >= rest), None)
        if last is None:
            return None
        counts[last] = rest
    return counts
