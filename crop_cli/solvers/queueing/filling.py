"""Filling nodes one after another, as schedulers do that bind pod by pod in the order of a score.

Where a segment or spread constraint lies between a domain and its nodes, that level's domains are filled first to last
and the nodes inside each: pod by pod across them could leave a domain with a count that it may not have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.capacity import Capacity

IntArray = NDArray[np.int64]

Ranking = Callable[[IntArray], IntArray]
"""Puts vertices of one depth in the order in which they are filled."""


def fill(capacity: Capacity, vertex: int, total: int, domains: Ranking, nodes: Ranking) -> Counts:
    """Place a total below a vertex that has room for it.

    Parameters
    ----------
    domains
        Order of the switches of a level with a constraint.
    nodes
        Order of the nodes below a switch: called with their vertices.

    Returns
    -------
    Counts
        Workers by node index.
    """
    depth = capacity.bound_from(int(capacity.tree.depth[vertex]) + 1)
    below = capacity.below(vertex, depth)
    if depth == capacity.tree.max_depth:
        return capacity.on_nodes(capacity.in_order(nodes(below).tolist(), total))
    counts: Counts = {}
    for domain, share in capacity.in_order(domains(below).tolist(), total).items():
        counts.update(fill(capacity, domain, share, domains, nodes))
    return counts
