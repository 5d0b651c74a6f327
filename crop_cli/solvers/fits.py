"""Where one job could be placed, whatever that is worth: attainable counts of its workers below every vertex.

A set of counts is an integer whose bit x stands for x workers. The sets of the children of a vertex add up to the
vertex's own; what its shape constraints and its uplink forbid is masked out. Equal children are added by doubling.
This answers "does it fit, and if not, how much of it would", for the job as it is or with one of its limits dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crop_cli.model import count_sets
from crop_cli.model.kinds import Kind
from crop_cli.model.problem import SLACK, Placement, Problem
from crop_cli.solvers.state import State

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Room:
    """What one job may take: resources of every node (N, R), and Gbit/s of every uplink (V, infinite: unlimited)."""

    problem: Problem
    free: FloatArray
    uplink_free: FloatArray

    @classmethod
    def after(cls, problem: Problem, placement: Placement) -> Room:
        """What a placement of open jobs leaves."""
        left = State.of(problem, placement)
        return cls(problem, np.maximum(left.free, 0.0), left.uplink_free)

    @classmethod
    def whole(cls, problem: Problem) -> Room:
        """The empty cluster: all that nodes which are up have, whoever holds it now."""
        capacity = np.where(problem.up[:, None], problem.capacity, 0.0)
        return cls(problem, capacity, problem.instance.cluster.oversubscription * problem.tree.uplink_gbps)

    @property
    def gpus(self) -> IntArray:
        """(N) free GPUs."""
        return np.floor(self.free[:, 0] + SLACK).astype(np.int64)

    def caps(self, kind: Kind, resources: list[int]) -> IntArray:
        """(N) most workers of a kind on every node by the given resources, whatever its GPU type."""
        caps = np.full(len(self.free), kind.k, dtype=np.int64)
        for r in resources:
            if kind.demand[r] > 0:
                room = self.free[:, r] + self.problem.node_slack[:, r]
                caps = np.minimum(caps, np.floor(np.minimum(room / kind.demand[r], kind.k)).astype(np.int64))
        return np.maximum(caps, 0)

    def usable(self, kind: Kind) -> IntArray:
        """(N) most workers of a kind on every node by all its resources and its GPU type."""
        every = list(range(self.free.shape[1]))
        return np.where(np.isfinite(kind.compute_s[self.problem.hardware_of]), self.caps(kind, every), 0)


@dataclass(frozen=True)
class Attainable:
    """Sets of counts of one kind's workers below every vertex; only the vertices that can hold any are keys."""

    below: dict[int, int]

    def most(self, vertices: range | list[int]) -> tuple[int, int]:
        """The vertex that can hold most workers at once, and how many; the first of equals, −1 if none can hold any."""
        best, count = -1, 0
        for v in vertices:
            bits = self.below.get(v, 1)
            if bits.bit_length() - 1 > count:
                best, count = v, bits.bit_length() - 1
        return best, count

    def fits(self, k: int) -> bool:
        """Whether the root can hold exactly k."""
        return bool(self.below.get(0, 1) >> k & 1)


@dataclass(frozen=True)
class Fit:
    """One kind in one room: attainable counts under its limits, or under some of them only."""

    room: Room
    kind: Kind

    @cached_property
    def caps(self) -> IntArray:
        """(N) most workers on every node."""
        return self.room.usable(self.kind)

    @cached_property
    def uplink_masks(self) -> dict[int, int]:
        """Counts that each uplink which is short for the kind still allows."""
        problem, kind = self.room.problem, self.kind
        masks: dict[int, int] = {}
        most = kind.link_rate.max(axis=1)[problem.link_of]
        short = np.flatnonzero(most > self.room.uplink_free)
        seen: dict[tuple[int, float], int] = {}
        for v in short[short > 0]:
            key = (int(problem.link_of[v]), float(self.room.uplink_free[v]))
            if key not in seen:
                rates = kind.link_rate[key[0]]
                seen[key] = _bits((rates <= key[1] + problem.uplink_slack[v]) | (rates == 0))
            masks[int(v)] = seen[key]
        return masks

    def attainable(self, allowed: BoolArray, *, uplinks: bool) -> Attainable:
        """Attainable counts below every vertex.

        Parameters
        ----------
        allowed
            (D+1, k+1) counts that are allowed per depth, such as `kind.allowed`. The root's row is not asked, so that
            the answer says how much of the job would fit.
        uplinks
            Whether uplinks limit it.
        """
        tree, k = self.room.problem.tree, self.kind.k
        full = count_sets.up_to(k)
        masks = self.uplink_masks if uplinks else {}
        by_depth = [_bits(row) for row in allowed]
        below = {}
        for n in np.flatnonzero(self.caps):
            v = tree.node_vertex + int(n)
            below[v] = (1 << (int(self.caps[n]) + 1)) - 1
        every: dict[int, int] = {}
        for depth in range(tree.max_depth, 0, -1):
            children: dict[int, list[int]] = {}
            for v, counts in below.items():
                kept = counts & masks.get(v, full) & by_depth[depth]
                every[v] = kept
                if kept != 1:
                    children.setdefault(int(tree.parent[v]), []).append(kept)
            below = {v: count_sets.total(sets, full) for v, sets in children.items()}
        every.update(below)
        return Attainable(every)


def _bits(allowed: BoolArray) -> int:
    """A row of booleans as the bits of an integer, first one lowest."""
    return int.from_bytes(np.packbits(allowed, bitorder="little").tobytes(), "little")
