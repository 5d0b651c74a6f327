"""Kueue's balanced placement: as few nodes as greedy needs, with as equal shares as they have room for.

For jobs without `within` (Kueue's preferred topology, gate TASBalancedPlacement). Among the domains just above the
preferred level the one is taken whose nodes allow the largest least share, the threshold; nodes below it are left out,
and what remains after every chosen node has its threshold goes to the largest. Jobs that no such domain holds, and all
others, are placed by BestFit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts
from crop_cli.solvers.queueing.balance import fewest, least_share, needed
from crop_cli.solvers.queueing.baseline import job_by_job
from crop_cli.solvers.queueing.capacity import Capacity
from crop_cli.solvers.queueing.pooled import best_fit, descend_pooled, largest_first, place_best_fit, preferred_depth
from crop_cli.solvers.queueing.view import View

IntArray = NDArray[np.int64]


@job_by_job(
    source="Kueue, pkg/cache/scheduler/tas_balanced_placement.go; keps/2724-topology-aware-scheduling"
    " (TASBalancedPlacement)"
)
def place(job: int, view: View) -> Counts | None:
    """Balanced where the topology is preferred and one domain above it holds the gang; else BestFit."""
    capacity = Capacity.of(view, job)
    if not capacity.fits:
        return None
    segment = view.problem.instance.jobs[job].segment
    depth = capacity.tree.max_depth if segment is None else capacity.tree.depth_of(segment.level)
    shares = None if capacity.within else Slices(capacity, depth).place()
    return place_best_fit(capacity) if shares is None else descend_pooled(capacity, shares, depth, best_fit)


@dataclass(frozen=True, slots=True)
class Slices:
    """A gang in slices of equal size, to be spread over domains of the slices' level.

    Attributes
    ----------
    capacity
        Room for the job.
    depth
        Depth of the slices' level, that of the nodes where a slice is one worker.
    """

    capacity: Capacity
    depth: int

    @property
    def size(self) -> int:
        """Workers of a slice."""
        return self.capacity.unit[self.depth]

    @property
    def preferred(self) -> int:
        """Depth of the preferred level: not below that of the slices."""
        return min(preferred_depth(self.capacity), self.depth)

    def place(self) -> dict[int, int] | None:
        """Workers by domain of the slices' level, or None if no domain above the preferred level balances."""
        capacity, need = self.capacity, self.capacity.k // self.size
        best: tuple[int, int, IntArray] | None = None
        for parent in capacity.at(self.preferred - 1).tolist():
            if capacity.room[parent] < capacity.k:
                continue
            lower = capacity.below(parent, self.depth)
            threshold = least_share(self._slices(lower), need)
            lower = lower[self._slices(lower) >= max(threshold, 1)]
            domains = needed(self._upper(lower)[1], need)
            if threshold and domains and (best is None or (-threshold, domains) < best[:2]):
                best = (-threshold, domains, lower)
        return None if best is None else self._spread(best[2], -best[0], need)

    def _slices(self, vertices: IntArray) -> IntArray:
        return self.capacity.room[vertices] // self.size

    def _upper(self, lower: IntArray) -> tuple[IntArray, IntArray]:
        """Domains of the preferred level above the given ones, and the slices that they hold there."""
        if self.preferred == self.depth:
            return lower, self._slices(lower)
        parents, at = np.unique(self.capacity.tree.parent[lower], return_inverse=True)
        slices = np.bincount(at, weights=self._slices(lower), minlength=len(parents)).astype(np.int64)
        return parents, np.minimum(slices, self._slices(parents))

    def _spread(self, lower: IntArray, threshold: int, need: int) -> dict[int, int] | None:
        """The threshold on every chosen domain, what is left on the largest; None if that is not possible."""
        capacity = self.capacity
        if self.preferred < self.depth:
            parents, slices = self._upper(lower)
            evenness = np.array([self._entropy(lower, parent) for parent in parents.tolist()])
            order = np.lexsort((parents, -evenness, -slices))
            chosen = fewest(parents[order].tolist(), slices[order].tolist(), need)
            lower = lower[np.isin(capacity.tree.parent[lower], chosen)]
        domains = np.array(fewest(lower.tolist(), self._slices(lower).tolist(), need), dtype=np.int64)
        extra = need - threshold * len(domains)
        if len(domains) == 0 or extra < 0:
            return None
        shares: dict[int, int] = {}
        for v in largest_first(capacity, domains).tolist():
            more = min(extra, int(capacity.room[v]) // self.size - threshold)
            shares[v] = (threshold + more) * self.size
            extra -= more
        return shares if extra == 0 and self._keeps(shares) else None

    def _entropy(self, lower: IntArray, parent: int) -> float:
        """How even the capacities below a domain are, in bits."""
        share = self.capacity.room[lower[self.capacity.tree.parent[lower] == parent]].astype(np.float64)
        share /= share.sum()
        return round(float(-(share * np.log2(share)).sum()), 9)

    def _keeps(self, shares: dict[int, int]) -> bool:
        """Whether the domains above, up to the preferred level, have room for what is below them."""
        if self.preferred == self.depth:
            return True
        above: dict[int, int] = {}
        for v, count in shares.items():
            parent = int(self.capacity.tree.parent[v])
            above[parent] = above.get(parent, 0) + count
        return all(count <= self.capacity.room[v] for v, count in above.items())
