"""Images of a column: the same pattern of workers in other domains, without asking the oracle.

On fine classes the oracle sends all jobs to the one domain that is cheapest at the moment, and the LP would learn of
the others one pass at a time. A domain here is a vertex just above the nodes. An image puts what a column has in one
domain on the cheapest nodes of another that can hold it. It is a true column: its utility comes from the definitions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import BoolArray, Counts, FloatArray, IntArray, Problem, utility
from crop_cli.solvers.columns.column import Column, Groups, make_column
from crop_cli.solvers.oracle import Prices, fits

MOST = 8
"""Images of one column at most (measured)."""


@dataclass(frozen=True)
class _Part:
    """Where the workers of one domain could be in every other domain.

    `cost` is (D), infinite where they do not fit; `slots` is (workers' nodes, D), positions of nodes in the domain.
    """

    workers: IntArray
    cost: FloatArray
    slots: IntArray


class Images:
    """Looks for images of columns. D domains with at most W nodes each."""

    def __init__(self, problem: Problem, groups: Groups) -> None:
        tree = problem.tree
        self._problem, self._groups = problem, groups
        parents = tree.parent[tree.node_vertex :]
        domains, self._domain_of = np.unique(parents, return_inverse=True)
        width = int(np.bincount(self._domain_of).max())
        first = np.searchsorted(self._domain_of, np.arange(len(domains)))
        # (D, W) node at every position of every domain; N where there is none.
        at = first[:, None] + np.arange(width)
        inside = np.arange(width) < np.bincount(self._domain_of)[:, None]
        self._grid = np.where(inside, at, problem.n_nodes)
        self._rooms: dict[object, IntArray] = {}

    def of(self, column: Column, prices: Prices, sigma: float) -> list[Column]:
        """Images that seem to price out at the prices and the dual of the column's group, cheapest domains first."""
        problem, job = self._problem, int(self._groups.first[column.group])
        kind = problem.kind(job)
        per_failure = problem.instance.objective.failure_weight * kind.weight * kind.k * kind.days_lost_per_failure
        charge = problem.failures * per_failure
        most = column.utility + float(charge[column.nodes].sum()) - sigma
        found = []
        for counts, cost in self._elsewhere(column, kind, prices.node @ kind.demand, charge):
            if cost >= most:
                break
            if fits(problem, kind, counts, problem.free, problem.uplink_free):
                gain = utility(problem, job, counts)
                found.append(make_column(problem, self._groups, column.group, gain, counts))
        return found

    def _elsewhere(
        self, column: Column, kind: Kind, price: FloatArray, charge: FloatArray
    ) -> list[tuple[Counts, float]]:
        """Up to `MOST` placements in disjoint sets of domains with their costs on nodes."""
        own = self._domain_of[column.nodes]
        room = self._room(kind)
        parts = [self._part(column.workers[own == d], room, price, charge) for d in np.unique(own)]
        n_domains = len(self._grid)
        # Ties go to other domains for other groups.
        turned = np.roll(np.arange(n_domains), -column.group)
        orders = [turned[np.argsort(part.cost[turned], kind="stable")] for part in parts]
        taken = np.zeros(n_domains, dtype=bool)
        if len(parts) == 1:
            taken[own[0]] = True
        found: list[tuple[Counts, float]] = []
        for _ in range(MOST):
            counts: Counts = {}
            cost = 0.0
            for part, order in zip(parts, orders, strict=True):
                left = order[~taken[order]]
                if len(left) == 0 or not np.isfinite(part.cost[left[0]]):
                    return found
                d = int(left[0])
                taken[d] = True
                cost += float(part.cost[d])
                nodes = self._grid[d, part.slots[:, d]]
                counts.update(zip(nodes.tolist(), part.workers.tolist(), strict=True))
            found.append((counts, cost))
        return found

    def _room(self, kind: Kind) -> IntArray:
        """(N) workers that each node can hold."""
        key = kind.demand.tobytes(), np.isfinite(kind.compute_s).tobytes()
        if key not in self._rooms:
            self._rooms[key] = _workers_per_node(self._problem, kind)
        return self._rooms[key]

    def _part(self, workers: IntArray, room: IntArray, price: FloatArray, charge: FloatArray) -> _Part:
        """The largest of the workers' counts first, each on the cheapest node that is left and can hold it."""
        grid, rows = self._grid, np.arange(len(self._grid))
        padded_room, padded_price, padded_charge = (np.append(x, 0)[grid] for x in (room, price, charge))
        used: BoolArray = np.zeros(grid.shape, dtype=bool)
        workers = np.sort(workers)[::-1]
        cost, slots = np.zeros(len(grid)), np.zeros((len(workers), len(grid)), dtype=np.int64)
        for i, x in enumerate(workers.tolist()):
            asked = np.where((padded_room >= x) & ~used, x * padded_price + padded_charge, np.inf)
            slots[i] = asked.argmin(axis=1)
            cost += asked[rows, slots[i]]
            used[rows, slots[i]] = True
        return _Part(workers, cost, slots)


def _workers_per_node(problem: Problem, kind: Kind) -> IntArray:
    needed = np.flatnonzero(kind.demand > 0)
    room = ((problem.free[:, needed] + problem.node_slack[:, needed]) / kind.demand[needed]).min(axis=1)
    usable = np.isfinite(kind.compute_s)[problem.hardware_of]
    return np.where(usable, np.floor(room), 0).astype(np.int64)
