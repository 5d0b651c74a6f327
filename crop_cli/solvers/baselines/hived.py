"""HiveD: cells of the smallest level that holds the job, those in use first, then buddy allocation.

A cell is a domain of any level; a job takes one of the deepest level whose cells could hold it. Cells in use come
first, the most used first (a tenant packs inside its own cells). Otherwise one is split off the smallest free
ancestor, as buddy allocation does. If no cell of the level will do, the level above is tried. All jobs are one
tenant's, of one priority. A user cuts the gang into pods: here one of each GPU, which fit wherever GPUs are free; with
`--set pods=nodes` pods of a node's size and one with the rest, which find no room on a fragmented cluster. Inside the
cell pods go, ascending, onto the nodes, most used first, and the scan never goes back: it may miss a fit, which the
authors' comment admits.
"""

from __future__ import annotations

from crop_cli.errors import UsageError
from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.counts import Order, descend, holds
from crop_cli.solvers.queueing.leaves import IntArray, Sets, below, gpus_in_use, houses, in_shape, slots_of, whole_slots
from crop_cli.solvers.queueing.view import View

PODS = ("gpus", "nodes")
"""`--set pods=`: one GPU each, or a node's worth."""


@job_by_job(
    source="HiveD, pkg/algorithm/topology_aware_scheduler.go and pkg/algorithm/cell_allocation.go", knows=("pods",)
)
def place(job: int, view: View) -> Counts | None:
    """Level by level, cell by cell."""
    cut = view.options.get("pods", PODS[0])
    if cut not in PODS:
        raise UsageError(f"pods={cut}: expected {' or '.join(PODS)}")
    sets, k = view.sets(job), view.problem.kind(job).k
    if not holds(sets, 0, k):
        return None
    tree, member = view.problem.tree, view.problem.instance.jobs[job]
    used, slots, whole = below(view, gpus_in_use(view)), slots_of(view, sets), whole_slots(view, job)
    pods = pods_of(k, member.gpus_per_node or (int(whole.max()) if cut == "nodes" else 1))
    shaped = member.segment is not None or member.spread is not None
    order = _most_used_first(used)
    size = below(view, whole)
    for depth in range(tree.max_depth, view.within_depth(job) - 1, -1):
        if max(size[v] for v in view.domains(depth)) < k:
            continue
        for cell in _cells(view, depth, sets, k, used):
            counts = _scan(view, cell, pods, slots, used)
            if counts is not None:
                return in_shape(view, job, sets, counts, order)
            if shaped:
                return descend(tree, sets, cell, k, order)
    return None


def pods_of(k: int, node: int) -> list[int]:
    """Pods of a gang, ascending: one per node's worth of GPUs, and one with the rest."""
    full, rest = divmod(k, node)
    return sorted([node] * full + [rest] * (rest > 0))


def _cells(view: View, depth: int, sets: Sets, k: int, used: list[int]) -> list[int]:
    """Cells of a level that can hold the gang: those in use, then free ones by the size of their free ancestor."""
    able = [v for v in view.domains(depth) if houses(view, sets, v, k)]
    taken = sorted((v for v in able if used[v]), key=lambda v: -used[v])
    free = sorted((v for v in able if not used[v]), key=lambda v: -_free_depth(view, v, used))
    return taken + free


def _free_depth(view: View, vertex: int, used: list[int]) -> int:
    """Depth of the highest ancestor in which nothing is used."""
    tree = view.problem.tree
    while vertex > 0 and not used[int(tree.parent[vertex])]:
        vertex = int(tree.parent[vertex])
    return int(tree.depth[vertex])


def _scan(view: View, cell: int, pods: list[int], slots: IntArray, used: list[int]) -> Counts | None:
    """Next-fit of ascending pods over the cell's nodes, most used first."""
    first, at, counts = view.problem.tree.node_vertex, 0, Counts()
    for n in sorted(view.nodes_below(cell), key=lambda n: -used[first + n]):
        picked = 0
        while at < len(pods) and slots[n] - picked >= pods[at]:
            picked += pods[at]
            at += 1
        if picked:
            counts[n] = picked
        if at == len(pods):
            return counts
    return None


def _most_used_first(used: list[int]) -> Order:
    """Vertices by GPUs in use, most first."""
    return lambda children: sorted(children, key=lambda v: -used[v])
