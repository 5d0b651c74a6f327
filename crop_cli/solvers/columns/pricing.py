"""Pricing: the oracle's answers for all groups at given prices, without asking where the answer cannot matter.

What a group's best placement was worth at earlier prices bounds what one is worth now: it cannot have gained more than
the prices of the k GPUs that fell most have fallen in sum. Groups whose bound is not above 0 are not asked: they add
nothing to the dual value, and no column of theirs prices out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from crop_cli.model.kinds import Kind
from crop_cli.model.problem import FloatArray, IntArray, Problem
from crop_cli.solvers.columns.column import Column, Groups, make_column
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placements

MARGIN = 1e-9
"""Share of w·k by which a bound has to be below 0, so that rounding never decides that a group is not asked."""


@dataclass(frozen=True, slots=True)
class Priced:
    """One pass.

    Attributes
    ----------
    values
        (G) value of every group's best placement; an upper bound below 0 where it was not asked; −inf where there is no
        placement at all.
    columns
        The best placements of the groups that were asked.
    asked
        Number of these groups.
    """

    values: FloatArray
    columns: list[Column]
    asked: int


@dataclass(frozen=True, slots=True)
class _Family:
    """Groups with the same k, demand and node types, and the most workers that each node can hold (N)."""

    members: IntArray
    kind: Kind
    cap: IntArray


class Pricer:
    """Asks the oracle, and remembers what it answered and at which prices."""

    def __init__(self, problem: Problem, groups: Groups) -> None:
        self._problem, self._groups = problem, groups
        self._families = _families(problem, groups)
        self._values = np.full(len(groups), np.inf)
        self._asked_at: list[Prices | None] = [None] * len(groups)

    def __call__(self, prices: Prices, budget: Budget) -> Priced | None:
        """One pass over all groups; None when the budget ends first."""
        problem, groups = self._problem, self._groups
        columns: list[Column] = []
        values = np.full(len(groups), -np.inf)
        asked = 0
        for family in self._families:
            if budget.should_stop:
                return None
            members = family.members
            bounds = self._bounds(family, prices)
            idle = (groups.must[members] == 0) & (bounds <= 0.0)
            values[members[idle]] = bounds[idle]
            busy = members[~idle]
            answers = best_placements(problem, groups.first[busy], problem.free, problem.uplink_free, prices)
            for g, best in zip(busy.tolist(), answers, strict=True):
                self._values[g] = values[g] = -np.inf if best is None else best.value
                self._asked_at[g] = prices
                if best is not None:
                    columns.append(make_column(problem, groups, g, best.utility, best.counts))
            asked += len(busy)
        return Priced(values, columns, asked)

    def _bounds(self, family: _Family, prices: Prices) -> FloatArray:
        """Upper bounds of the members' values, a margin included; +inf for those that were never asked."""
        bounds = np.full(len(family.members), np.inf)
        on_nodes: dict[int, float] = {}
        for i, g in enumerate(family.members.tolist()):
            before, kind = self._asked_at[g], self._problem.kind(int(self._groups.first[g]))
            if before is None:
                continue
            if id(before) not in on_nodes:
                on_nodes[id(before)] = _most_saved(family, before, prices)
            saved = on_nodes[id(before)] + _most_saved_on_uplinks(self._problem, kind, before, prices)
            bounds[i] = self._values[g] + saved + MARGIN * kind.weight * kind.k
        return bounds


def _families(problem: Problem, groups: Groups) -> list[_Family]:
    members: dict[object, list[int]] = defaultdict(list)
    for g, job in enumerate(groups.first.tolist()):
        kind = problem.kind(job)
        members[kind.k, kind.demand.tobytes(), np.isfinite(kind.compute_s).tobytes()].append(g)
    families = []
    for listed in members.values():
        kind = problem.kind(int(groups.first[listed[0]]))
        usable = np.isfinite(kind.compute_s)[problem.hardware_of]
        cap = np.where(usable, np.minimum(problem.free_gpus, kind.k), 0)
        families.append(_Family(np.array(listed, dtype=np.int64), kind, cap))
    return families


def _most_saved(family: _Family, before: Prices, now: Prices) -> float:
    """The most that any placement of k workers has become cheaper on its nodes; negative where all became dearer."""
    fall = (before.node - now.node) @ family.kind.demand
    order = np.argsort(-fall, kind="stable")
    taken = np.diff(np.minimum(np.cumsum(family.cap[order]), family.kind.k), prepend=0)
    return float(taken @ fall[order])


def _most_saved_on_uplinks(problem: Problem, kind: Kind, before: Prices, now: Prices) -> float:
    """The most that any placement has become cheaper on the uplinks that it cuts: at most k of each depth."""
    fall = np.maximum(before.uplink - now.uplink, 0.0)
    if not fall.any():
        return 0.0
    by_vertex = fall * kind.link_rate.max(axis=1)[problem.link_of]
    start = problem.tree.start
    depths = [by_vertex[start[d] : start[d + 1]] for d in range(1, problem.tree.max_depth + 1)]
    return sum(float(np.sort(at)[-kind.k :].sum()) for at in depths)
