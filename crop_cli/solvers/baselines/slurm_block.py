"""Slurm's topology/block: the smallest block size for the job, the fullest block that fits.

Base blocks are the switches just above the nodes. Larger blocks are powers of two of neighbouring base blocks below
one switch, then the switches above. A request of n nodes takes the smallest size whose nominal number of nodes is at
least n, and waits if no block of that size has room: it never spills into another block. Of those that fit, the one
with the fewest available nodes is taken, so that whole blocks stay whole; ties go to the last, as in the source. The
planning size of a base block is the most common number of nodes below one. `segment` is `--segment`: segments are
placed one after another, each in a block of its own size. `gpus_per_node` and other jobs ask for nodes as for
`slurm-tree`; where no block has the nodes, the same is tried once more with free GPUs counted instead.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.counts import holds
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


@job_by_job(source="Slurm, src/plugins/topology/block/eval_nodes_block.c")
def place(job: int, view: View) -> Counts | None:
    """Segment by segment, each in the emptiest block of its size that fits."""
    sets = view.sets(job)
    if not holds(sets, 0, view.problem.kind(job).k):
        return None
    for by_gpus in (False, True):
        counts = _segments(view, job, sets, by_gpus)
        if counts is not None:
            return in_shape(view, job, sets, counts, fullest_first(view, sets))
    return None


def _segments(view: View, job: int, sets: Sets, by_gpus: bool) -> Counts | None:
    """All segments on nodes of their own, or nothing."""
    member = view.problem.instance.jobs[job]
    whole, slots = whole_slots(view, job), slots_of(view, sets)
    largest = member.gpus_per_node or int(whole.max())
    size = member.gpus
    # `--segment` counts nodes: what is less than a node's worth is no segment to Slurm.
    if member.segment is not None and member.segment.gpus >= largest:
        size = member.segment.gpus
    ask = ask_for(size, largest)
    # What of a node counts towards the request: itself, or its free GPUs.
    room = slots if by_gpus else (slots >= ask.least).astype(np.int64)
    need, full = (size, np.minimum(whole, size)) if by_gpus else (ask.nodes, (whole > 0).astype(np.int64))
    depth = view.within_depth(job)
    blocks = _blocks(view, need, below(view, full), depth)
    counts: Counts = {}
    for _ in range(member.gpus // size):
        nodes = _nodes(view, blocks, room, need)
        part = (gather if by_gpus else deal)(view, sets, nodes, size) if nodes else None
        if part is None:
            return None
        counts |= part
        room[list(part)] = 0
    return counts


def _blocks(view: View, need: int, full: list[int], within: int) -> list[list[int]]:
    """Blocks of the smallest size that nominally holds a request, each a list of base blocks.

    Parameters
    ----------
    need
        Nodes, or GPUs.
    full
        What of them every vertex has when empty.
    within
        Depth of the domain that the job may not leave: a block is not larger.
    """
    bases = leaf_switches(view)
    lowest = view.problem.tree.max_depth - 1
    sizes = Counter(full[v] for v in bases if full[v])
    nominal = max(sizes, key=lambda size: (sizes[size], size), default=1)
    wanted = -(-need // nominal)
    if wanted == 1 or within >= lowest or lowest == 0:
        return [[base] for base in bases]
    for depth in range(lowest - 1, -1, -1):
        groups = [_bases_below(view, v) for v in view.domains(depth)]
        if max(map(len, groups)) >= wanted or depth <= within:
            break
    if depth < lowest - 1:
        return groups
    step = 1 << (wanted - 1).bit_length()
    return [group[i : i + step] for group in groups for i in range(0, len(group), step)]


def _bases_below(view: View, vertex: int) -> list[int]:
    """Base blocks below a switch."""
    first, nodes = view.problem.tree.first_node, view.nodes_below(vertex)
    return [base for base in leaf_switches(view) if int(first[base]) in nodes]


def _nodes(view: View, blocks: list[list[int]], room: IntArray, need: int) -> list[int] | None:
    """Nodes for one segment: from the block with the least sufficient room, base block by base block."""
    on = below(view, room)
    totals = [sum(on[base] for base in block) for block in blocks]
    fitting = [i for i, total in enumerate(totals) if total >= need]
    if not fitting:
        return None
    # Ties go to the last, among blocks as among base blocks.
    left, nodes = list(blocks[min(fitting, key=lambda i: (totals[i], -i))]), []
    while need > 0:
        fits = [i for i, base in enumerate(left) if on[base] >= need]
        best = min(fits or range(len(left)), key=lambda i: (on[left[i]] if fits else -on[left[i]], -i))
        for n in view.nodes_below(left.pop(best)):
            if room[n] and need > 0:
                nodes.append(n)
                need -= int(room[n])
    return nodes
