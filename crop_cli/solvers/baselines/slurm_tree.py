"""Slurm's topology/tree: the smallest leaf switch that fits, else as few leaves as it finds.

A job with `gpus_per_node` asks for k / gpus_per_node nodes with so many GPUs each (`-N`, `--gpus-per-node`). Any
other asks for the fewest nodes that could hold it; where these are not free, as for `--set request=gpus` from the
start, it asks for GPUs on any number of nodes (`--gpus`), for which Slurm chooses leaves as if one node were enough.
`within` is `--switches=1` that never expires; inside a domain of a higher level the domain with the fewest usable
nodes that fits is taken, as among leaves. Node weights are all equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from crop_cli.errors import UsageError
from crop_cli.model.problem import Counts
from crop_cli.model.tree import Tree
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.counts import descend, holds
from crop_cli.solvers.queueing.leaves import (
    IntArray,
    Sets,
    ask_for,
    below,
    deal,
    fullest_first,
    gather,
    in_shape,
    leaf_switches,
    slots_of,
    whole_slots,
)
from crop_cli.solvers.queueing.view import View

REQUESTS = ("nodes", "gpus")
"""`--set request=`: by nodes first, or by GPUs only."""


@job_by_job(
    source="Slurm, src/plugins/topology/tree/eval_nodes_tree.c; answers of slurmctld 22.05.8 and 24.11.5",
    knows=("request",),
)
def place(job: int, view: View) -> Counts | None:
    """Leaf switch by leaf switch."""
    request = view.options.get("request", REQUESTS[0])
    if request not in REQUESTS:
        raise UsageError(f"request={request}: expected {' or '.join(REQUESTS)}")
    sets, k = view.sets(job), view.problem.kind(job).k
    if not holds(sets, 0, k):
        return None
    slots, order = slots_of(view, sets), fullest_first(view, sets)
    for choose in (_by_nodes, _by_gpus) if request == "nodes" else (_by_gpus,):
        counts = choose(job, view, sets, slots)
        if counts is not None:
            return in_shape(view, job, sets, counts, order)
    return descend(view.problem.tree, sets, 0, k, order)


def _by_nodes(job: int, view: View, sets: Sets, slots: IntArray) -> Counts | None:
    """`-N`: the leaf has to have the nodes that are still missing."""
    k = view.problem.kind(job).k
    ask = ask_for(k, view.problem.instance.jobs[job].gpus_per_node or int(whole_slots(view, job).max()))
    usable = slots >= ask.least
    top = _top(view, job, below(view, usable), ask.nodes)
    if top is None:
        return None
    nodes = list(islice(_walk(view, top, usable, ask.nodes), ask.nodes))
    return deal(view, sets, nodes, k)


def _by_gpus(job: int, view: View, sets: Sets, slots: IntArray) -> Counts | None:
    """`--gpus` without `-N`: one node is what is asked for, and nodes are added until there are GPUs enough."""
    k = view.problem.kind(job).k
    usable = slots > 0
    nodes, gpus = below(view, usable), below(view, slots)
    enough = [count if has >= k else 0 for count, has in zip(nodes, gpus, strict=True)]
    top = _top(view, job, enough, 1)
    return None if top is None else gather(view, sets, list(_walk(view, top, usable, 1)), k)


def _top(view: View, job: int, nodes: list[int], wanted: int) -> int | None:
    """The switch below which the job stays: the root, or for `within` the domain with the fewest nodes that fits."""
    depth = min(view.within_depth(job), view.problem.tree.max_depth - 1)
    fitting = [v for v in view.domains(depth) if nodes[v] >= wanted]
    return min(fitting, key=lambda v: nodes[v], default=None)


def _walk(view: View, top: int, usable: np.ndarray, wanted: int) -> Iterator[int]:
    """Usable nodes below a switch in the order in which Slurm adds them.

    Parameters
    ----------
    wanted
        Nodes that are asked for: leaves are chosen by what of them is still missing.
    """
    tree, left = view.problem.tree, wanted
    count = below(view, usable)
    first, end = int(tree.first_node[top]), int(tree.end_node[top])
    leaves = [v for v in leaf_switches(view) if first <= int(tree.first_node[v]) < end and count[v]]
    distance = dict.fromkeys(leaves, 0)
    while leaves:
        best = leaves[0]
        for leaf in leaves[1:]:
            better, fits = _compare(tree, count, leaf, best, left)
            nearer = distance[leaf] - distance[best]
            if (nearer < 0 and fits) or (nearer == 0 and better):
                best = leaf
        for n in view.nodes_below(best):
            if usable[n]:
                left -= 1
                yield n
        taken = count[best]
        for vertex in (*tree.ancestors(best), 0):
            count[vertex] -= taken
        leaves.remove(best)
        for leaf in leaves:
            distance[leaf] += _hops(tree, leaf, best)


def _compare(tree: Tree, count: list[int], leaf: int, best: int, wanted: int) -> tuple[bool, bool]:
    """Whether a leaf is better than the best so far, and whether it, or the ancestor that decided, fits the rest.

    Where neither leaf fits, their ancestors are asked, up to the switch that they share.
    """
    while True:
        fits, best_fits = count[leaf] >= wanted, count[best] >= wanted
        if fits != best_fits:
            return fits, fits
        if fits and count[leaf] != count[best]:
            return count[leaf] < count[best], True
        if tree.parent[leaf] == tree.parent[best]:
            return count[leaf] > count[best], fits
        leaf, best = int(tree.parent[leaf]), int(tree.parent[best])


def _hops(tree: Tree, one: int, other: int) -> int:
    """Links between two switches of one level."""
    hops = 0
    while one != other:
        one, other = int(tree.parent[one]), int(tree.parent[other])
        hops += 2
    return hops
